"""Parts of columns, which are features behind those of the columns: parts of dates, and words."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from priorwise.common.texts import show_value
from priorwise.data.tables.dates import (
    FORMS,
    PARTS,
    DateSeconds,
    read_dates,
    show_date,
    take_part,
)
from priorwise.data.tables.texts import NO_YES, TEXT, WordCount, WordScores, read_texts

Part = tuple[int, str]
"""A feature that is part of a column: the column, and the name of a part of its dates, of a word of
its texts, or of one of their sums (`WordScores`). The form of the column says which."""


def name_parts(names: Sequence[str], forms: Mapping[int, str], parts: Sequence[Part]) -> list[str]:
    """Return the names of parts of the columns of these names.

    >>> name_parts(["when", "note"], {0: "iso", 1: "text"}, [(0, "month"), (1, "late")])
    ['when month', 'note: late']
    """
    return [f"{names[i]}{':' if forms[i] == TEXT else ''} {part}" for i, part in parts]


def part_labels(form: str, part: str) -> tuple[str, ...]:
    """Return the labels of a part of a column of a form, whose values are ranks; none if numbers.

    >>> part_labels("text", "late"), part_labels("text", "all words"), part_labels("iso", "hour")
    (('no', 'yes'), (), ())
    """
    if form == TEXT:
        return () if " " in part else NO_YES  # the name of a sum has a space, a word has none
    return PARTS[part]


def read_parts(
    labels: Sequence[Hashable], form: str, parts: Sequence[str], scores: WordScores | None = None
) -> NDArray[np.float64]:
    """Return the numbers that labels mean in a form, and the parts of each.

    The shape is (1 + n_parts, n_labels): seconds since 1970 and parts of dates, or the number of
    words, whether each word is among them, and the sums of `scores`, which are the last parts.
    """
    if form == TEXT:
        n_words = len(parts) - (0 if scores is None else len(scores.names))
        return read_texts(labels, parts[:n_words], scores)
    seconds = [np.nan if one is None else one for one in read_dates(labels, form)]
    return take_parts(np.array(seconds), parts)


def take_parts(seconds: NDArray[np.float64], parts: Sequence[str]) -> NDArray[np.float64]:
    """Return dates and some of their parts, of shape (1 + n_parts, n_rows)."""
    return np.stack([seconds, *(take_part(part, seconds) for part in parts)])


def parts_of(column: int, parts: Sequence[Part]) -> list[str]:
    """Return the names of the parts of one column, in their order."""
    return [part for i, part in parts if i == column]


def is_date(form: str | None) -> bool:
    """Whether a form is one of dates."""
    return form in FORMS


def show_number(number: float, form: str | None, digits: int = 6) -> str:
    """Return a number of a column as text: a date, a number of words, or a plain number.

    >>> show_number(0.0, "iso"), show_number(2.5, "text"), show_number(2.5, None)
    ('1970-01-01', '2.5 words', '2.5')
    """
    if is_date(form):
        return show_date(number)
    return str(WordCount(number)) if form == TEXT else show_value(number, digits)


def as_shown(number: float, form: str) -> float:
    """Return a number that is shown as its column's form is: a date, or a number of words."""
    return DateSeconds(number) if is_date(form) else WordCount(number)
