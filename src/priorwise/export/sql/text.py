"""Names, values and columns of tables as SQL writes and reads them, in three dialects."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx

from priorwise.data.encoding.value_rules import ValueRules
from priorwise.data.sources.sql_source import quote_name
from priorwise.data.tables.dates import ISO
from priorwise.data.tables.label_keys import NUMBER_PATTERN, SPACES
from priorwise.export.reading import SURROGATES, refuse_labels, spell_labels, write_code

DIALECTS = ("duckdb", "postgres", "sqlite")


def write_text(text: str, dialect: str) -> str:
    """Return a text; no statement may have the character 0, so that a function writes it."""
    pieces = ["'" + piece.replace("'", "''") + "'" for piece in text.split("\0")]
    zero = "char(0)" if dialect == "sqlite" else "chr(0)"
    return f" || {zero} || ".join(pieces)


def write_number(value: float) -> str:
    """Return a number that is read as the same double; NULL stands for NaN."""
    if math.isnan(value):
        return "NULL"
    text = repr(float(value))
    return text if "e" in text else f"{text}e0"


def write_table(name: str, columns: dict[str, Sequence[Any] | NDArray[Any]], dialect: str) -> str:
    """Return a common table expression of columns of whole numbers or of doubles.

    Databases read a text of numbers far faster than a list of rows.
    """
    arrays = [np.asarray(column) for column in columns.values()]
    kinds = ["BIGINT" if a.dtype.kind in "iub" else "DOUBLE PRECISION" for a in arrays]
    texts = [[_write_cell(value, dialect) for value in a.tolist()] for a in arrays]
    if dialect == "sqlite":
        rows = ",".join("[" + ",".join(row) + "]" for row in zip(*texts, strict=True))
        cells = ", ".join(f"json_extract(value, '$[{i}]')" for i in range(len(columns)))
        query = f"SELECT {cells} FROM json_each('[{rows}]')"
    elif dialect == "postgres":
        lists = (
            f"CAST('{{{','.join(text)}}}' AS {kind}[])"
            for text, kind in zip(texts, kinds, strict=True)
        )
        query = f"SELECT * FROM UNNEST({', '.join(lists)})"
    else:
        lists = (
            f"UNNEST(CAST('[{','.join(text)}]' AS {kind}[]))"
            for text, kind in zip(texts, kinds, strict=True)
        )
        query = f"SELECT {', '.join(lists)}"
    return f"{name}({', '.join(columns)}) AS MATERIALIZED ({query})"


def _write_cell(value: float, dialect: str) -> str:
    if dialect == "sqlite" and math.isinf(value):
        # JSON has no infinity.
        value = math.copysign(sys.float_info.max, value)
    return repr(value).replace("inf", "Infinity")


def softmax(scores: str, by: str) -> str:
    """Return a query of probabilities from one of scores with the columns `by`, class and s."""
    change = f"s - MAX(s) OVER (PARTITION BY {by})"
    return (
        f"SELECT {by}, class, e / SUM(e) OVER (PARTITION BY {by}) AS p FROM (\n"
        f"SELECT {by}, class, CASE WHEN d < -700 THEN 0.0e0 ELSE EXP(d) END AS e FROM (\n"
        f"SELECT {by}, class, {change} AS d FROM ({scores}) a) b) c"
    )


def union_all(queries: Iterable[str], most: int = 200) -> str:
    """Return the rows of many queries; SQLite joins at most 500 of them at once."""
    parts = list(queries)
    while len(parts) > most:
        groups = [parts[i : i + most] for i in range(0, len(parts), most)]
        parts = [f"SELECT * FROM ({' UNION ALL '.join(group)}) u" for group in groups]
    return "\nUNION ALL ".join(parts)


def normal_share(z: str) -> str:
    """Return Phi(z), the share of a normal distribution below z, to about 1e-13.

    With t = 2 / (2 + |z| / sqrt 2), erfc is t exp(-z^2 / 2 + f(t)) for a polynomial f.
    """
    degree = 26
    coefficients = np.polynomial.chebyshev.cheb2poly(
        np.polynomial.chebyshev.chebinterpolate(_log_scaled_erfc, degree)  # type: ignore[arg-type,type-var]
    )
    t = f"(2.0e0 / (2.0e0 + ABS({z}) / {math.sqrt(2.0)!r}e0))"
    # PostgreSQL refuses powers that underflow.
    u = f"(CASE WHEN ABS(2.0e0 * {t} - 1.0e0) < 1e-10 THEN 0.0e0 ELSE 2.0e0 * {t} - 1.0e0 END)"
    # A sum of powers, since SQLite refuses deeply nested expressions.
    powers = "".join(
        f" + {write_number(c)} * POWER({u}, {k})"
        for k, c in enumerate(coefficients.tolist())
        if k > 0
    )
    exponent = f"{write_number(float(coefficients[0]))}{powers} - {z} * {z} / 2.0e0"
    tail = f"CASE WHEN ABS({z}) > 37 THEN 0.0e0 ELSE 0.5e0 * {t} * EXP({exponent}) END"
    return f"(CASE WHEN {z} > 0 THEN 1.0e0 - {tail} ELSE {tail} END)"


def _log_scaled_erfc(u: NDArray[np.float64]) -> NDArray[np.float64]:
    t = 0.5 * (u + 1.0)
    x = 2.0 / t - 2.0
    return np.asarray(np.log(erfcx(x) / t))


PREFIX = "pw_"
"""All tables of the query begin with it."""
MAX_POSTGRES_NAME = 63
"""Bytes of a name that PostgreSQL keeps."""


def name_table(table: str) -> str:
    """Return the user's table as SQL; ValueError if the query could take it for one of its own."""
    parts = table.split(".")
    if not all(parts):
        raise ValueError(f"table must be the name of a table, got {table!r}")
    if len(parts) == 1 and table.lower().startswith(PREFIX):
        raise ValueError(
            f"table must not begin with {PREFIX!r} as the query's own tables do, got {table!r}: "
            "name its schema too, or make a view of it"
        )
    return ".".join(map(quote_name, parts))


def check_names(features: Sequence[str], keep: Sequence[str], dialect: str) -> None:
    """Raise ValueError, which names the column, unless a table can have columns of these names."""
    seen: dict[str, str] = {}
    for name in (*features, *keep):
        if re.search(rf"[\0{SURROGATES}]", name) or (not name and dialect != "sqlite"):
            raise ValueError(f"{dialect} cannot have a column of the name {name!r}: rename it")
    for name in features:
        first = seen.setdefault(_fold_name(name, dialect), name)
        if first != name:
            raise ValueError(
                f"columns {first!r} and {name!r} are one in {dialect}, which does not tell their "
                "names apart: rename one of them before the model learns"
            )


def _fold_name(name: str, dialect: str) -> str:
    """Return what names that a database takes for the same have in common."""
    if dialect == "postgres":
        return name.encode()[:MAX_POSTGRES_NAME].decode(errors="ignore")
    return "".join(letter.lower() if letter.isascii() else letter for letter in name)


def write_rows(table: str, columns: Iterable[str]) -> str:
    """Return the table of numbered rows with the user's columns as f0, f1 and so on.

    A column is named with its table, since SQLite takes an unknown name alone for a text.
    """
    names = list(columns)
    renamed = ", ".join(f"f{i}" for i in range(len(names)))
    chosen = ", ".join(f"t.{quote_name(name)}" for name in names)
    return (
        f"pw_row(id, {renamed}) AS MATERIALIZED (SELECT ROW_NUMBER() OVER (), {chosen} "
        f"FROM {name_table(table)} t)"
    )


def write_spaces(dialect: str) -> str:
    """Return the table of what is left out around a text, as in Python."""
    codes = [ord(space) for space in SPACES]
    if dialect == "sqlite":
        spaces = f"char({', '.join(map(str, codes))})"
    elif dialect == "postgres":
        spaces = "U&'" + "".join(f"\\{code:04X}" for code in codes) + "'"
    else:
        spaces = " || ".join(f"chr({code})" for code in codes)
    return f"pw_space(s) AS (SELECT {spaces})"


def write_values(readers: list[list[ValueRules]], dialect: str) -> str:
    """Return a query of the numbers that each value is read as: id, feature, value."""
    labels: list[str] = []
    # Numbers that are read by the same rules share one expression.
    numbers: dict[NumberKind, list[tuple[int, ValueRules]]] = {}
    for r, reader in enumerate(readers):
        for i, rules in enumerate(reader):
            place = r * len(reader) + i
            if rules.is_nominal:
                columns = f"{_trim(f'f{i}', dialect)} AS label"
                if rules.numbers:
                    columns += f", {_LABEL_NUMBERS[dialect].format(f'f{i}')} AS number"
                source = f"SELECT id, {columns} FROM {_ROWS}"
                labels.append(f"SELECT id, {place}, {_find_code(rules, dialect)} FROM ({source}) r")
            else:
                kind = (tuple(rules.numbers), rules.ignores_texts, rules.form, rules.part)
                numbers.setdefault(kind, []).append((place, rules))
    return union_all(
        [*labels, *(_read_numbers(kind, group, dialect) for kind, group in numbers.items())]
    )


_ROWS = "pw_row CROSS JOIN pw_space"

NumberKind = tuple[tuple[float, ...], bool, str | None, str | None]
"""How numbers are read: which mean missing, whether texts do, the form and part of dates."""


def _trim(column: str, dialect: str) -> str:
    if dialect == "sqlite":
        return f"TRIM(CAST({column} AS VARCHAR), s)"
    # A column may be compared without case, or otherwise, unless the query says how.
    collation = "C" if dialect == "duckdb" else '"C"'
    return f"TRIM(BOTH s FROM CAST({column} AS VARCHAR)) COLLATE {collation}"


def _find_code(rules: ValueRules, dialect: str) -> str:
    """Return the code of a label: an expression that compares texts, or numbers if it is one."""
    refuse_labels(rules, dialect, SURROGATES + r"\0" * (dialect == "postgres"))
    cases = "".join(
        f" WHEN {write_text(text, dialect)} THEN {write_code(code, write_number)}"
        for text, code in spell_labels(rules).items()
    )
    missing = write_code(rules.missing, write_number)
    # PostgreSQL takes NULL alone for a text.
    missing = "CAST(NULL AS DOUBLE PRECISION)" if missing == "NULL" else missing
    unknown = missing if rules.is_ordered else write_code(rules.unknown, write_number)
    known = f"CASE label{cases} ELSE {unknown} END" if cases else unknown
    code = f"CASE WHEN label IS NULL THEN {missing}"
    if rules.numbers:
        cases = "".join(
            f" WHEN {write_number(number)} THEN {write_code(value, write_number)}"
            for number, value in rules.numbers.items()
        )
        if dialect != "sqlite":  # which has no NaN
            cases += f" WHEN CAST('NaN' AS DOUBLE PRECISION) THEN {missing}"
        code += f" WHEN number IS NOT NULL THEN CASE number{cases} ELSE {unknown} END"
    return f"CAST({code} ELSE {known} END AS DOUBLE PRECISION)"


def _read_numbers(kind: NumberKind, group: list[tuple[int, ValueRules]], dialect: str) -> str:
    marks, ignores_texts, form, part = kind
    has_means = not all(np.isnan(rules.missing) for _, rules in group)
    describe, read = _NUMBERS[dialect]
    sources = []
    for place, rules in group:
        columns = f"{place} AS feature, {write_text(rules.name, dialect)} AS name"
        if has_means:
            columns += f", CAST({write_number(rules.missing)} AS DOUBLE PRECISION) AS mean"
        column = describe.format(f"f{rules.source}")
        sources.append(f"SELECT id, s, {columns}, {column} FROM {_ROWS}")
    error = _ERRORS[dialect]
    other = "NULL" if ignores_texts else error
    if form == ISO:
        other = _TEXT_DATES[dialect].format(other=other)
    number = read.format(error=error, other=other)
    for mark in marks:
        number = f"NULLIF({number}, {write_number(mark)})"
    rows = f"(\n{union_all(sources)}) n"
    if part is not None:
        mean = ", mean" if has_means else ""
        rows = f"(SELECT id, feature{mean}, {number} AS seconds FROM {rows}) d"
        number = f"CAST({_PARTS[part][dialect]} AS DOUBLE PRECISION)"
    if has_means:
        number = f"COALESCE({number}, mean)"
    return f"SELECT id, feature, {number} FROM {rows}"


_PROBLEM = (
    "'column ' || name || ' must hold finite numbers or dates, as it does in training, got ' || "
)
_ERRORS = {
    "duckdb": f"error({_PROBLEM} COALESCE(label, CAST(number AS VARCHAR)))",
    # What is no number is not cast; the message repeats it.
    "postgres": f"CAST({_PROBLEM} label AS DOUBLE PRECISION)",
    # What is no path is not extracted; the message repeats it.
    "sqlite": f"json_extract('[]', {_PROBLEM} value)",
}
"""Expressions that stop the query with a message."""

_PATTERN = write_text(NUMBER_PATTERN, "duckdb").replace("{", "{{").replace("}", "}}")
_DUCKDB = """CASE WHEN isinf(number) THEN {error}
WHEN label IS NULL THEN NULLIF(number, CAST('NaN' AS DOUBLE))
WHEN kind = 'TIMESTAMP WITH TIME ZONE' THEN epoch_us(TRY_CAST(label AS TIMESTAMPTZ)) / 1e6
WHEN kind = 'TIMESTAMP_NS' THEN epoch_us(TRY_CAST(LEFT(label, 26) AS TIMESTAMP)) / 1e6
WHEN kind LIKE 'TIMESTAMP%' OR kind = 'DATE' THEN epoch_us(TRY_CAST(label AS TIMESTAMP)) / 1e6
WHEN kind = 'TIME' OR kind = 'INTERVAL' THEN epoch_us(TRY_CAST(label AS INTERVAL)) / 1e6
WHEN regexp_full_match(label, PATTERN) THEN TRY_CAST(label AS DOUBLE)
ELSE {other} END"""
_POSTGRES = """CASE WHEN label IS NULL THEN NULL
WHEN kind IN ('double precision', 'real', 'numeric') AND label = 'NaN' THEN NULL
WHEN kind IN ('double precision', 'real', 'numeric') AND label LIKE '%Inf%' THEN {error}
WHEN kind IN ('date', 'timestamp without time zone')
THEN EXTRACT(EPOCH FROM CAST(label AS TIMESTAMP))
WHEN kind = 'timestamp with time zone'
THEN EXTRACT(EPOCH FROM CAST(label AS TIMESTAMP WITH TIME ZONE))
WHEN kind IN ('interval', 'time without time zone')
THEN EXTRACT(EPOCH FROM CAST(label AS INTERVAL))
WHEN kind = 'boolean' THEN CASE label WHEN 'true' THEN 1 ELSE 0 END
WHEN kind = 'real' THEN CAST(label AS REAL)
WHEN kind IN ('double precision', 'numeric', 'bigint', 'integer', 'smallint')
OR label ~ ('^(?:' || PATTERN || ')$') THEN CAST(label AS DOUBLE PRECISION)
ELSE {other} END"""
# The seconds of a date without their fraction, which SQLite would round to thousandths.
_SECONDS = "strftime('%s', SUBSTR(label, 1, 19) || LTRIM(SUBSTR(label, 20), '.0123456789'))"
_SQLITE = f"""CASE WHEN kind IN ('integer', 'real') AND ABS(value) <= 1.7976931348623157e308
THEN CAST(value AS REAL)
WHEN kind = 'null' THEN NULL
WHEN kind <> 'text' THEN {{error}}
WHEN CASE WHEN json_valid(label) THEN json_type(label) IN ('integer', 'real')
AND ABS(json_extract(label, '$')) < 1e15 END THEN CAST(json_extract(label, '$') AS REAL)
WHEN date(SUBSTR(label, 1, 10), '+0 days') = SUBSTR(label, 1, 10) AND {_SECONDS} IS NOT NULL
THEN CAST({_SECONDS} AS REAL) + CAST('0' || SUBSTR(label, 20, 7) AS REAL)
ELSE {{other}} END"""

_TEXT_DATES = {
    "duckdb": "CASE WHEN regexp_matches(label, '[T ].*(Z|[+-][0-9]{{2}}:?[0-9]{{2}})$') THEN "
    "epoch_us(TRY_CAST(label AS TIMESTAMPTZ)) / 1e6 "
    "ELSE COALESCE(epoch_us(TRY_CAST(label AS TIMESTAMP)) / 1e6, {other}) END",
    "postgres": "CASE WHEN label ~ '^[0-9]{{4}}-[0-9]{{1,2}}-[0-9]{{1,2}}[T ].*(Z|[+-][0-9]{{2}}:?"
    "[0-9]{{2}})$' THEN EXTRACT(EPOCH FROM CAST(label AS TIMESTAMP WITH TIME ZONE)) "
    "WHEN label ~ '^[0-9]{{4}}-[0-9]{{1,2}}-[0-9]{{1,2}}([T ]|$)' "
    "THEN EXTRACT(EPOCH FROM CAST(label AS TIMESTAMP)) ELSE {other} END",
    "sqlite": "{other}",  # which reads texts as dates in any case
}
"""Texts that are dates, where they are no numbers."""

_DAY = "FLOOR(seconds / 86400.0e0)"
_WEEKDAY = f"{_DAY} + 3 - 7 * FLOOR(({_DAY} + 3) / 7.0e0)"
_HOUR = f"(seconds - 86400.0e0 * {_DAY}) / 3600.0e0"
_PARTS = {
    "month": {
        "duckdb": f"MONTH(make_timestamp(CAST({_DAY} * 86400000000 AS BIGINT))) - 1",
        "postgres": f"EXTRACT(MONTH FROM DATE '1970-01-01' + CAST({_DAY} AS INTEGER)) - 1",
        "sqlite": f"CAST(strftime('%m', {_DAY} * 86400, 'unixepoch') AS REAL) - 1",
    },
    "weekday": dict.fromkeys(DIALECTS, _WEEKDAY),
    "hour": dict.fromkeys(DIALECTS, _HOUR),
}
"""Parts of dates, as `take_part` has them."""

_LABEL_NUMBERS = {
    "duckdb": "CASE WHEN typeof({0}) NOT IN ('VARCHAR', 'BOOLEAN') THEN TRY_CAST({0} AS DOUBLE) "
    "END",
    "postgres": "CASE WHEN CAST(pg_typeof({0}) AS TEXT) = 'real' THEN CAST(CAST({0} AS TEXT) AS "
    "REAL) WHEN CAST(pg_typeof({0}) AS TEXT) IN ('double precision', 'numeric', 'bigint', "
    "'integer', 'smallint') THEN CAST(CAST({0} AS TEXT) AS DOUBLE PRECISION) END",
    "sqlite": "CASE WHEN typeof({0}) IN ('integer', 'real') THEN CAST({0} AS REAL) END",
}
"""The number that a label is, where the type of its column or value says so."""

_NUMBERS = {
    "duckdb": (
        "typeof({0}) AS kind, TRY_CAST({0} AS DOUBLE) AS number, CASE WHEN typeof({0}) = 'VARCHAR' "
        "OR TRY_CAST({0} AS DOUBLE) IS NULL THEN TRIM(BOTH s FROM CAST({0} AS VARCHAR)) END "
        "AS label",
        _DUCKDB.replace("PATTERN", _PATTERN),
    ),
    "postgres": (
        "CAST(pg_typeof({0}) AS TEXT) AS kind, TRIM(BOTH s FROM CAST({0} AS TEXT)) AS label",
        f"CAST({_POSTGRES.replace('PATTERN', _PATTERN)} AS DOUBLE PRECISION)",
    ),
    # Only what is no number is trimmed, which takes SQLite longer than the rest.
    "sqlite": (
        "typeof({0}) AS kind, {0} AS value",
        _SQLITE.replace("label", "TRIM(value, s)"),
    ),
}
"""What is asked of a column of numbers, and the number that follows from it.

A database has one type for a column, known only where the query runs: the query must be valid for
columns of numbers, dates and texts alike, so that all but DuckDB's numbers are read as texts.
"""
