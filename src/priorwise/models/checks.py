"""A table and its target checked before a fit, and the few findings that a fit warns of."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.runtime import DataWarning, warn_user
from priorwise.common.validation import take_target
from priorwise.counts import NumberEquality, hash_rows
from priorwise.counts.draws import MIN_CONTINUOUS_VALUES
from priorwise.data.checks import Finding, Findings
from priorwise.data.checks.columns import (
    ALMOST_ALL,
    COLUMN_CHECKS,
    READ_AS_LABELS,
    describe_many_labels,
    find_formatted_numbers,
)
from priorwise.data.checks.near_copies import find_near_copies
from priorwise.data.checks.reading import CheckedColumn, read_checked
from priorwise.data.checks.strength import is_leak, measure_labels, measure_numbers
from priorwise.data.checks.table import (
    find_copied_columns,
    find_copied_rows,
    find_empty_rows,
    find_headers,
)
from priorwise.data.checks.target import (
    CheckedTarget,
    describe_leak,
    find_class_variants,
    find_in_target,
    find_leak,
)
from priorwise.data.encoding import TableEncoder
from priorwise.data.survey.labels import MANY_LABELS
from priorwise.data.survey.numbers import ValueSummary
from priorwise.data.tables.categories import read_order
from priorwise.data.tables.column_kinds import choose_columns, kinds_of_columns
from priorwise.data.tables.label_keys import is_missing, mark_keys
from priorwise.data.tables.raw_table import RawTable
from priorwise.models.training_table import TrainingTable

GRAVEST = (
    *("one class", "many classes", "missing target", "class variants", "copy of the target"),
    *("leak", "text among numbers", "infinite number", "undeclared values", "header row"),
    *("broken characters", "numbers as text", "missing code", "id", "row number", "rare class"),
)
"""The order of findings by their kinds; all others follow."""


def check(
    X: Any,
    y: Any = None,
    *,
    categorical_features: Any = "from_dtype",
    numeric_features: Any = None,
    ordinal_features: Any = "from_dtype",
    missing_values: Any = "usual",
) -> Findings:
    """Check a table, and its target, for mistakes that a model would learn from.

    They are such as a column that gives the class away, an id, text among numbers, classes that
    differ by case only, copied rows and columns, or a code for missing values. Nothing is changed
    and nothing of this is an error.

    Parameters
    ----------
    X : frame or array of shape (n_rows, n_features), or list of dict
        The rows to learn from.
    y : array-like of shape (n_rows,) or str, optional
        Class label of each row, which may be missing, or the name of the column of X that has them.
    categorical_features : "from_dtype" or array-like of bool, int or str
        Columns to take as categories, as classifiers have it.
    numeric_features : array-like of bool, int or str, optional
        Columns to take as numbers; text in them is missing.
    ordinal_features : "from_dtype", None, array-like of bool, int or str, or dict
        Columns to take as ordered categories, or the values of each in rising order.
    missing_values : "usual" or list of str and float
        Values that mean missing.

    Returns
    -------
    Findings
        What was found; printed, it is a table of text, in a notebook one of HTML.

    Examples
    --------
    >>> import priorwise
    >>> X = [[i % 7 + 0.5, "EUR"] for i in range(30)]
    >>> print(priorwise.check(X, ["no", "yes", "Yes"] * 10))
    2 findings in 30 rows of 2 columns
    <BLANKLINE>
    finding         column  what, and what to do
    class variants          the target has classes that differ only by case or spaces, 'Yes', 'yes'.
                            Write each class in one way.
    constant        1       is 'EUR' in every row. Leave it out.
    """
    X, y = take_target(X, y)
    marks = mark_keys(missing_values)
    table = RawTable(X, marks=marks)
    reading = TableEncoder(
        categorical_features,
        numeric_features=numeric_features,
        ordinal_features=ordinal_features,
        missing_values=missing_values,
    )
    has_names = table.names != list(range(table.n_columns))
    names = [str(name) for name in table.names] if has_names else []
    kinds = kinds_of_columns(table, reading, names)
    orders = {
        i: read_order(table, i, reading, names, marks).labels
        for i, kind in enumerate(kinds)
        if kind == "ordered"
    }
    columns = read_checked(table, kinds, orders)
    findings: list[Finding] = []
    codes = np.zeros(table.n_rows, dtype=np.int32)
    if y is not None:
        target = _read_target(y)
        codes = target.codes
        if len(codes) != table.n_rows:
            raise ValueError(f"y must have {table.n_rows} rows, as X has, got {len(codes)}")
        findings += find_in_target(target)
        if target.is_class:
            for column in columns:
                findings += find_leak(column, target)
    for column in columns:
        for find in COLUMN_CHECKS:
            findings += find(column)
    findings += find_copied_columns(columns)
    findings += find_headers(columns)
    findings += find_empty_rows(columns)
    findings += find_copied_rows(_count_copies(columns, codes), table.n_rows)
    place = {kind: at for at, kind in enumerate(GRAVEST)}
    findings.sort(key=lambda finding: place.get(finding.kind, len(place)))
    return Findings(tuple(findings), table.n_rows, table.n_columns)


def _read_target(y: Any) -> CheckedTarget:
    values = y.to_numpy() if hasattr(y, "to_numpy") else y
    # As objects, since NumPy makes text of everything beside a text.
    labels = np.empty(len(values), dtype=object)
    labels[:] = values.tolist() if isinstance(values, np.ndarray) else list(values)
    known = np.flatnonzero([not is_missing(label) for label in labels.tolist()])
    codes = np.full(len(labels), -1, dtype=np.int32)
    try:
        classes, codes[known] = np.unique(labels[known], return_inverse=True)
    except TypeError:  # labels of several types
        classes, codes[known] = np.unique(labels[known].astype(str), return_inverse=True)
    return CheckedTarget(classes.tolist(), codes)


def _count_copies(columns: list[CheckedColumn], y: NDArray[np.int32]) -> int:
    """Return the number of rows that are copies of others, by the rule of `fit`."""
    ranks = [column.ranks for column in columns]
    hashes = hash_rows(ranks, y)
    n_different = len(np.unique(hashes))
    numbers = [i for i, column in enumerate(columns) if column.numbers is not None]
    counts = [np.append(int((ranks[i] < 0).sum()), columns[i].rows) for i in numbers]
    number = NumberEquality.find(np.array(numbers, dtype=np.intp), counts)
    if n_different == len(y) or number is None:
        return 0
    others = hash_rows(ranks[: number.place] + ranks[number.place + 1 :], y)
    return len(y) - n_different if number.tells_copies(hashes, others) else 0


MIN_WARNED_ROWS = 100
"""Fewest rows of a table whose columns a fit warns of."""
N_SCREENED = 400
"""Rows by which a fit chooses the columns that it looks at in full: a leak shows in few of them."""
SCREENED_STRENGTH = 0.8
"""Least strength of a column on these rows for it to be looked at in full."""


def warn_of_mistakes(table: TrainingTable) -> None:
    """Warn of what a fit should not be silent about: leaks, ids, classes that are one class.

    Columns are screened on a few rows, so that it takes no time to speak of.
    """
    findings = list(find_class_variants(table.classes.tolist()))
    findings += _find_no_numbers(table)
    if table.n_rows >= MIN_WARNED_ROWS:
        findings += _find_in_labels(table)
        rows = np.linspace(0, table.n_rows - 1, min(N_SCREENED, table.n_rows)).astype(np.intp)
        for feature in _screen(table, rows):
            findings += _find_leak(table, feature)
    for finding in findings:
        warn_user(str(finding), DataWarning)


def warn_of_near_copies(table: TrainingTable) -> None:
    """Warn of near-copies where rows are held out, unless groups say what belongs together."""
    if table.group is not None:
        return
    enough = max(MIN_CONTINUOUS_VALUES, table.n_rows / 2)
    is_continuous = [len(values) >= enough for values in table.ranked.distinct]
    for finding in find_near_copies(table.columns.values[is_continuous], table.y):
        warn_user(str(finding), DataWarning)


def _find_no_numbers(table: TrainingTable) -> list[Finding]:
    """Find columns that are chosen to be numeric and have no number, since text is missing."""
    encoder = table.encoder
    names = encoder.column_names
    chosen = choose_columns(
        "numeric_features", encoder.numeric_features, encoder.n_features_in_, names
    )
    return [
        Finding(
            "mostly missing", names[feature],
            "holds no number, although numeric_features names it: all of its values are missing",
            "leave it out of numeric_features if it holds labels",
        )
        for feature in np.flatnonzero(chosen).tolist()
        if np.isnan(table.feature_columns[feature]).all()
    ]  # fmt: skip


def _find_in_labels(table: TrainingTable) -> list[Finding]:
    encoder, findings = table.encoder, list[Finding]()
    names = [feature.name for feature in encoder.describe_features()]
    for at, feature in enumerate(np.flatnonzero(encoder.is_nominal_).tolist()):
        labels, name = encoder.categories_[at].labels, names[feature]
        if encoder.categories_[at].has_other and encoder.min_rows_per_label == 1:
            findings.append(
                Finding(
                    "many labels",
                    name,
                    f"has more than {MANY_LABELS:,} labels, which tell nothing of the class by "
                    "themselves and are read as one, 'other'",
                    "categorical_features keeps them apart, text_features reads their words",
                )
            )
            continue
        as_text = list(find_formatted_numbers(CheckedColumn(name, table.n_rows, labels=labels)))
        findings += as_text
        if not as_text and len(labels) >= ALMOST_ALL * table.n_rows:
            findings.append(
                Finding(
                    "id",
                    name,
                    describe_many_labels(len(labels), table.n_rows, labels),
                    READ_AS_LABELS,
                )
            )
    return findings


def _screen(table: TrainingTable, rows: NDArray[np.intp]) -> list[int]:
    """Return the features that may give the class away, by some rows: all columns at once.

    Rows that follow one another when they are sorted by a feature are of one class too often.
    """
    y, is_nominal = table.y[rows], table.encoder.is_nominal_
    shares = np.bincount(y, minlength=table.n_classes) / len(y)
    most = (1.0 - SCREENED_STRENGTH) * len(y) * float(1.0 - (shares * shares).sum())
    found: list[int] = []
    for block, chosen in (
        (table.columns.nominal_codes[:, rows], np.flatnonzero(is_nominal)),
        (table.columns.values[:, rows], np.flatnonzero(~is_nominal)),
    ):
        order = np.argsort(block, axis=1)
        by_value = y[order]
        n_changes = (by_value[:, 1:] != by_value[:, :-1]).sum(axis=1)
        # Each label may begin with another class.
        n_labels = block.max(axis=1, initial=0) if block.dtype.kind == "i" else 0
        found += chosen[n_changes - n_labels <= most].tolist()
    return sorted(found)


def _find_leak(table: TrainingTable, feature: int) -> list[Finding]:
    cells, strength = _measure(table, feature)
    if not is_leak(strength, cells.sum(axis=0)):
        return []
    return [describe_leak(table.encoder.describe_features()[feature].name, cells, strength)]


def _measure(table: TrainingTable, feature: int) -> tuple[NDArray[Any], float]:
    """Return the rows of each value and class, and the strength of a feature."""
    column, y = table.feature_columns[feature], table.y
    if table.encoder.is_nominal_[feature]:
        n_labels = int(column.max(initial=-1)) + 2
        cells = np.bincount(
            (column + 1) * table.n_classes + y, minlength=n_labels * table.n_classes
        )
        cells = cells.reshape(n_labels, table.n_classes)
        return cells, measure_labels(cells)
    summary = ValueSummary.of(column, y, table.n_classes)
    cells = np.vstack([summary.counts(), summary.missing])
    is_code = len(cells) <= 2 * table.n_classes
    return cells, max(measure_numbers(summary), measure_labels(cells) if is_code else 0.0)
