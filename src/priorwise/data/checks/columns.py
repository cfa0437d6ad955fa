"""Mistakes that one column shows, with or without its target."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.texts import FEW, count, show_value
from priorwise.data.checks.findings import Finding
from priorwise.data.checks.reading import CheckedColumn
from priorwise.data.tables.categories import Categories
from priorwise.data.tables.column_kinds import are_codes, name_commonest
from priorwise.data.tables.label_keys import parse_number

MIN_ROWS = 20
"""Fewest rows with a value for shares of them to be judged."""
ALMOST_ALL = 0.95
"""Share of missing values from which on a column has almost no values, and share of different
values among the known ones from which on labels are an id."""
MIN_EXPECTED_PAIRS = 10.0
"""Equal pairs that random whole numbers in the range of a column would have, at least, for it to be
called an id because it has none; each pair that it has takes away ten."""
MIN_DATES = 10
"""Fewest different values for numbers such as 20240131 to be called dates."""
ID_NAME = re.compile(
    r"(^|[_\s.-])(id|key|nr|no|num|number|index|uuid|guid|rownames?|unnamed)([_\s.:-]|\d|$)|[a-z]I[dD]$",
    re.IGNORECASE,
)
FORMATTED_NUMBER = re.compile(
    r"\(?[€$£¥]?\s*[-+]?(?!0\d)\d+(?:[ .,'’\u00a0\u202f]\d{2,3})*(?:[.,]\d+)?-?\)?"
    r"\s*(%|[€$£¥]|[A-Za-zµ°/²³]{1,5})?"
)
BROKEN = re.compile("[\u00c3\u00c2][\u0080-\u00bf]|\u00e2\u20ac|\ufffd")
"""Text in UTF-8 that was read in another encoding, and characters that could not be read."""


def show_labels(labels: Sequence[Hashable], n_shown: int = FEW) -> str:
    """Return some labels as examples.

    >>> show_labels(["a", "b", "c", "d"])
    "'a', 'b', 'c', ..."
    """
    shown = ", ".join(f"{str(label)[:40]!r}" for label in labels[:n_shown])
    return shown + (", ..." if len(labels) > n_shown else "")


def find_texts_among_numbers(column: CheckedColumn) -> Iterator[Finding]:
    if column.texts:
        named = name_commonest(column.texts, np.array(column.text_rows), range(len(column.texts)))
        yield Finding(
            "text among numbers", column.name, f"holds texts among numbers, {named}",
            "list them in missing_values, or name the column in numeric_features to take every "
            "text as missing, or clean the numbers",
        )  # fmt: skip


def find_formatted_numbers(column: CheckedColumn) -> Iterator[Finding]:
    if column.numbers is not None or len(column.labels) < MIN_ROWS:
        return
    units, texts = set[str](), list[str]()
    for label in column.labels:
        match = FORMATTED_NUMBER.fullmatch(label.strip()) if isinstance(label, str) else None
        if match is None:
            return
        units.add(match[1] or "")
        texts.append(str(label))
    plain = [text for text in texts if parse_number(text) is not None]
    others = [text for text in texts if parse_number(text) is None]
    if plain and all(map(str.isdecimal, plain)) and are_codes(others, plain):
        return
    if len(units) <= FEW and others:
        yield Finding(
            "numbers as text", column.name,
            f"holds numbers written as text, such as {show_labels(texts)}, each a label",
            "write them as plain numbers with a decimal point",
        )  # fmt: skip


def find_infinite(column: CheckedColumn) -> Iterator[Finding]:
    if column.n_infinite:
        yield Finding(
            "infinite number", column.name, f"is infinite in {count(column.n_infinite, 'row')}",
            "make these values missing",
        )  # fmt: skip


def find_no_values(column: CheckedColumn) -> Iterator[Finding]:
    n_missing = column.n_rows - column.n_known
    if column.n_rows >= MIN_ROWS and n_missing >= ALMOST_ALL * column.n_rows:
        yield Finding(
            "mostly missing", column.name,
            f"has a value in {count(column.n_known, 'row')} of {column.n_rows:,}",
            "leave it out, unless that a value is there tells something",
        )  # fmt: skip


def find_constant(column: CheckedColumn) -> Iterator[Finding]:
    if column.n_seen == 1 and column.n_known == column.n_rows and column.n_rows > 1:
        value = column.distinct[0] if column.numbers is not None else _seen(column)[0]
        shown = show_value(value) if isinstance(value, float) else repr(value)
        yield Finding("constant", column.name, f"is {shown} in every row", "leave it out")


def find_missing_code(column: CheckedColumn) -> Iterator[Finding]:
    if column.numbers is None or len(column.distinct) < 4 or column.is_date:
        return
    values = column.distinct
    for code, rest, at in ((values[0], values[1:], 0), (values[-1], values[:-1], -1)):
        is_code = float(code).is_integer() and re.fullmatch("99+", str(abs(int(code))))
        distance = min(abs(code - rest[0]), abs(code - rest[-1]))
        if is_code and distance > rest[-1] - rest[0] and column.rows[at] > 1:
            yield Finding(
                "missing code", column.name,
                f"is {code:.0f} in {count(int(column.rows[at]), 'row')}, far from the others "
                f"({show_value(rest[0])} to {show_value(rest[-1])}), as if it meant missing",
                f"list {code:.0f} in missing_values",
            )  # fmt: skip


def find_dates(column: CheckedColumn) -> Iterator[Finding]:
    if column.numbers is None or len(column.distinct) < MIN_DATES or column.is_date:
        return
    values = column.distinct
    if np.abs(values[[0, -1]]).max() >= 1e9 or not np.array_equal(values, np.round(values)):
        return
    whole = values.astype(np.int64)
    year, month, day = whole // 10_000, whole // 100 % 100, whole % 100
    is_date = (year >= 1900) & (year <= 2100) & (month >= 1) & (month <= 12)
    if (is_date & (day >= 1) & (day <= 31)).all():
        yield Finding(
            "dates as numbers", column.name,
            f"holds dates written as whole numbers, such as {whole[0]}: distances mean nothing",
            "make it a column of dates",
        )  # fmt: skip


def find_id(column: CheckedColumn) -> Iterator[Finding]:
    n_known, n_seen = column.n_known, column.n_seen
    if n_known < MIN_ROWS or column.is_date or column.is_text or column.texts:
        return
    if column.numbers is None:
        if n_seen >= ALMOST_ALL * n_known and not list(find_formatted_numbers(column)):
            yield Finding(
                "id", column.name,
                describe_many_labels(n_seen, n_known, _seen(column)), READ_AS_LABELS,
            )  # fmt: skip
        return
    values = column.distinct
    if n_seen < ALMOST_ALL * n_known or (values != np.round(values)).any():
        return
    width = float(values[-1] - values[0]) + 1.0
    n_pairs = float((column.rows * (column.rows - 1)).sum()) / 2.0
    expected_pairs = n_known**2 / (2.0 * width)
    steps = np.diff(column.numbers)
    if width == n_known == column.n_rows and (np.all(steps == 1.0) or np.all(steps == -1.0)):
        yield Finding(
            "row number", column.name, "is the number of the row",
            "leave it out: it tells how the table was sorted, which new rows do not know",
        )  # fmt: skip
    elif expected_pairs - 10.0 * n_pairs >= MIN_EXPECTED_PAIRS or ID_NAME.search(column.name):
        yield Finding(
            "id", column.name,
            f"has {n_seen:,} different whole numbers in {n_known:,} rows, as an id has",
            "leave it out if it is one",
        )  # fmt: skip


READ_AS_LABELS = (
    "each is a label of its own; if they are names or other words, text_features reads the words"
)
"""What can be done with nearly as many labels as rows, ids or names. It does not say to leave them
out: of 1,000 companies, log-loss was 2.196 without the names and 2.052 with their words."""


def describe_many_labels(n_labels: int, n_rows: int, examples: Sequence[Hashable]) -> str:
    """Say that nearly all rows have different labels."""
    return (
        f"has {n_labels:,} different labels in {n_rows:,} rows, such as {show_labels(examples)}, "
        "which new rows will not have"
    )


def find_label_variants(column: CheckedColumn) -> Iterator[Finding]:
    has_labels = column.numbers is None and not column.is_text
    groups = group_variants(_seen(column)) if has_labels else []
    if groups:
        yield Finding(
            "label variants", column.name,
            "has labels that differ only by case or spaces, "
            + "; ".join(show_labels(group) for group in groups[:FEW]),
            "write each in one way",
        )  # fmt: skip


def group_variants(labels: Sequence[Hashable]) -> list[list[str]]:
    """Return the texts that differ only by case or spaces, in groups.

    >>> group_variants(["Yes", "no", "yes ", 1])
    [['Yes', 'yes ']]
    """
    groups: dict[str, list[str]] = {}
    for label in labels:
        if isinstance(label, str) and len(label) > 1:  # letters may be symbols
            key = " ".join(label.split()).casefold()
            groups.setdefault(key, []).append(label)
    return [group for group in groups.values() if len(group) > 1]


def find_mixed_types(column: CheckedColumn) -> Iterator[Finding]:
    if column.numbers is not None:
        return
    examples: dict[str, Hashable] = {}
    for label in _seen(column):
        kind = "texts" if isinstance(label, str) else "booleans"
        if not isinstance(label, str | bool | np.bool_):
            kind = "numbers" if isinstance(label, int | float | np.number) else "other objects"
        examples.setdefault(kind, label)
    if len(examples) > 1:
        shown = " and ".join(f"{kind} ({label!r:.40})" for kind, label in examples.items())
        yield Finding("mixed types", column.name, f"holds {shown}", "make all values of one type")


def find_undeclared(column: CheckedColumn) -> Iterator[Finding]:
    if column.order is None:
        return
    order = Categories()
    order.declare(list(column.order))
    others = [label for label in _seen(column) if order.code(label) < 0]
    if others:
        yield Finding(
            "undeclared values", column.name,
            f"has values that its order does not list, {show_labels(others)}",
            "list every value in ordinal_features, from low to high",
        )  # fmt: skip


def find_broken_characters(column: CheckedColumn) -> Iterator[Finding]:
    broken = [label for label in [column.name, *column.labels] if BROKEN.search(str(label))]
    if broken:
        yield Finding(
            "broken characters", column.name,
            f"has characters that were read in a wrong encoding, as in {show_labels(broken)}",
            "read the file again in its own encoding, such as Latin-1 or UTF-8",
        )  # fmt: skip


def _seen(column: CheckedColumn) -> list[Hashable]:
    """Labels that rows have, commonest first."""
    order: NDArray[Any] = np.argsort(-column.rows, kind="stable")[: column.n_seen]
    return [column.labels[place] for place in order.tolist()]


COLUMN_CHECKS: tuple[Callable[[CheckedColumn], Iterator[Finding]], ...] = (
    find_id, find_constant, find_no_values, find_infinite, find_texts_among_numbers,
    find_formatted_numbers, find_missing_code, find_dates, find_label_variants, find_mixed_types,
    find_undeclared, find_broken_characters,
)  # fmt: skip
"""The checks of a column without its target."""
