"""The columns of a table as checks look at them: read without refusing anything."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from priorwise.data.survey.numbers import ValueSummary
from priorwise.data.tables.column_kinds import Kind, TextsAndNumbers
from priorwise.data.tables.dates import find_forms, read_dates
from priorwise.data.tables.label_keys import parse_number
from priorwise.data.tables.raw_table import RawTable
from priorwise.data.tables.texts import holds_texts

Codes = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class CheckedColumn:
    """One column: numbers, or labels and the place of each row among them, -1 where missing.

    Of a column of numbers in which some values are texts, `texts` are these and their rows. One
    that `is_text` is read as words.
    """

    name: str
    n_rows: int
    numbers: NDArray[np.float64] | None = None
    labels: Sequence[Hashable] = ()
    codes: Codes = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    texts: Sequence[Hashable] = ()
    text_rows: Sequence[int] = ()
    order: Sequence[Hashable] | None = None
    is_date: bool = False
    is_text: bool = False

    @cached_property
    def distinct(self) -> NDArray[np.float64]:
        """The distinct finite numbers, ascending."""
        return self._ranked[0]

    @cached_property
    def ranks(self) -> NDArray[np.int64]:
        """Place of each row among the distinct values, -1 where it is missing."""
        return self._ranked[1] if self.numbers is not None else self.codes.astype(np.int64)

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """Number of rows of each distinct value or label."""
        n_values = len(self.labels) if self.numbers is None else len(self.distinct)
        return np.bincount(self.ranks[self.ranks >= 0], minlength=n_values)

    @property
    def n_known(self) -> int:
        """Number of rows with a value."""
        return int(self.rows.sum())

    @property
    def n_seen(self) -> int:
        """Number of distinct values that rows have."""
        return int((self.rows > 0).sum())

    @property
    def n_infinite(self) -> int:
        """Number of rows whose number is infinite."""
        return 0 if self.numbers is None else int(np.isinf(self.numbers).sum())

    def count_classes(self, y: Codes, n_classes: int) -> NDArray[np.int64]:
        """Return the rows of each value, the last one is missing, and class; y may be -1."""
        n_values, has_class = len(self.rows), y >= 0
        places = np.where(self.ranks < 0, n_values, self.ranks)[has_class]
        cells = np.bincount(places * n_classes + y[has_class], minlength=(n_values + 1) * n_classes)
        return cells.reshape(n_values + 1, n_classes)

    def summarise(self, cells: NDArray[np.int64]) -> ValueSummary:
        """Return the summary of the numbers, given what `count_classes` has counted."""
        summary = ValueSummary(cells.shape[1], None, cells[-1])
        seen = cells[:-1].sum(axis=1) > 0
        if seen.any():
            summary.runs = [(self.distinct[seen], cells[:-1][seen])]
        return summary

    @cached_property
    def _ranked(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        assert self.numbers is not None
        known = np.isfinite(self.numbers)
        distinct, places = np.unique(self.numbers[known], return_inverse=True)
        ranks = np.full(self.n_rows, -1, dtype=np.int64)
        ranks[known] = places
        return distinct, ranks


def read_checked(
    table: RawTable, kinds: Sequence[Kind], orders: dict[int, list[Hashable]]
) -> list[CheckedColumn]:
    """Read all columns of a table; `orders` are the values of the ordered ones."""
    return [_read_column(table, i, kind, orders.get(i)) for i, kind in enumerate(kinds)]


def _read_column(
    table: RawTable, i: int, kind: Kind, order: list[Hashable] | None
) -> CheckedColumn:
    name = str(table.names[i])
    if kind in ("numeric", "date"):
        numbers = table.numeric(i, texts_are_missing=True, keep_infinite=True)
        return CheckedColumn(name, table.n_rows, numbers, is_date=table.holds_dates(i))
    column = table.nominal(i)
    column_labels = CheckedColumn(
        name, table.n_rows, labels=column.labels, codes=column.codes, order=order
    )
    return _parse(column_labels) if kind == "text" else column_labels


def _parse(column: CheckedColumn) -> CheckedColumn:
    """Return a column of texts as numbers if most of its rows hold numbers, many different ones."""
    seen = [column.labels[place] for place in np.flatnonzero(column.rows).tolist()]
    forms = find_forms(seen)
    if forms:
        seconds = read_dates(column.labels, forms[0])
        values = np.array([np.nan if one is None else one for one in [*seconds, None]])
        return CheckedColumn(column.name, column.n_rows, values[column.codes], is_date=True)
    if holds_texts(column.labels, column.rows):
        return replace(column, is_text=True)
    parts = TextsAndNumbers.part(column.labels, column.rows)
    if parts.kind not in ("numbers", "mixed", "mostly numbers"):
        return column
    parsed, texts = [parse_number(label) for label in column.labels], parts.texts
    numbers = np.array([np.nan if number is None else number for number in [*parsed, None]])
    return CheckedColumn(
        column.name,
        column.n_rows,
        numbers[column.codes],
        texts=[column.labels[place] for place in texts],
        text_rows=[int(column.rows[place]) for place in texts],
    )
