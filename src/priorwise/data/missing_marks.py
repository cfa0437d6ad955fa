"""Words that stand for a missing value in a text file."""

MISSING_MARKS = (
    *("", "?", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND"),
    *("1.#QNAN", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
)
"""Fields of a CSV file that are missing values, quoted or not, whatever reads the file.

They are those of pandas and a question mark. ARFF has a rule of its own: a question mark without
quotes.
"""
