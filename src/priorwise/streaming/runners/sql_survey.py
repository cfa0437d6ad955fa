"""The first pass over a database: classes, labels and values, counted by queries."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.validation import MAX_TOTAL_WEIGHT, warn_of_small_weights
from priorwise.data.labels import encode_labels
from priorwise.data.sources import SourceError
from priorwise.data.sources.sql.dialect import quote_name
from priorwise.data.sources.sql.grouping import COUNTED, count_groups
from priorwise.data.sources.sql.sql_columns import SqlColumn, SqlColumns
from priorwise.data.sources.sql.sql_source import Fetched, SqlSource
from priorwise.data.tables import TableEncoder, ValueSummary
from priorwise.data.tables.column_kinds import kinds_of_columns
from priorwise.data.tables.factorise import NominalColumn
from priorwise.data.tables.label_keys import is_number, mark_keys, parse_number
from priorwise.data.tables.ordered import read_order, refuse_unlisted, to_ranks
from priorwise.streaming.survey import LabelCounts, Survey

N_PROBED_ROWS, MIN_DISTINCT_SHARE = 20_000, 0.9
"""A column of a columnar database is fetched if this share of so many rows is distinct."""

Totals = NDArray[Any]
"""Rows as whole numbers, or weights that are not whole."""


class SqlSurvey:
    """What queries find out about the columns of a source, and how they are read from then on."""

    def __init__(
        self, source: SqlSource, names: Sequence[str], target: str, encoder: TableEncoder
    ) -> None:
        self.source = source
        self.encoder = encoder
        self.table = SqlColumns(source, [*names, target])
        self.features = SqlColumns(source, names)
        self.kinds = kinds_of_columns(self.features, encoder, names, warn=True)
        self.columns = [self.features.read(i, kind) for i, kind in enumerate(self.kinds)]
        self.class_column = self.table.read(len(names), "nominal")
        self.marks = mark_keys(encoder.missing_values)
        self.labels: dict[int, list[Hashable]] = {}
        """The labels of each column that is read by its labels, as the database has them."""
        self.spelled: dict[int, list[Hashable]] = {}
        """The same labels as the encoder knows them; None if they mean missing."""
        self.total = self._check_weights()

    @property
    def read_step(self) -> str:
        """The clause of WITH that reads columns x0, x1, ..., the class y and the weight w."""
        number_marks = [mark for mark in self.marks if is_number(mark)]
        columns = []
        for i, column in enumerate(self.columns):
            expression = column.expression
            for mark in number_marks if column.is_number else ():
                expression = f"NULLIF({expression}, {self.source.dialect.constant(mark)})"
            columns.append(f"{expression} AS x{i}")
        columns.append(f"{self.class_column.expression} AS y")
        if self.source.weight is not None:
            columns.append(f"{quote_name(self.source.weight)} AS w")
        return f"priorwise_read AS (SELECT {', '.join(columns)} FROM {self.source.counted})"

    @property
    def coded_class(self) -> str:
        """The expression of the class code."""
        codes = self.class_codes.tolist()
        return case_of_labels("y", self.class_labels, codes, None, self.source)

    def run(self, max_value_bytes: int | None) -> Survey:
        """Count classes, then the labels and values of each feature by class."""
        classes, class_counts = self._count_classes()
        weight = "" if self.source.weight is None else ", w"
        columns = ", ".join(f"x{i}" for i in range(len(self.columns)))
        steps = [
            self.read_step,
            f"{COUNTED} AS (SELECT {self.coded_class} AS y, {columns}{weight} FROM priorwise_read)",
        ]
        number_type = self.source.dialect.number_type
        slots = {"y": "INTEGER", "number": number_type, "whole": "BIGINT", "text": "TEXT"}
        n_classes = len(classes)
        summaries: dict[int, ValueSummary] = {}
        counted: dict[int, _CountedLabels] = {}

        def add_numbers(i: int, column: Fetched, y: NDArray[np.int32], totals: Any) -> None:
            numbers = self._to_numbers(i, column)
            summary = ValueSummary.of(numbers, y, n_classes, max_value_bytes, totals)
            summaries[i] = summaries[i].merge(summary) if i in summaries else summary

        fetched = self._find_distinct_columns()
        for i in fetched:
            query = f"WITH {', '.join(steps)} SELECT y, x{i}{weight} FROM {COUNTED}"
            for codes, numbers, *weights in self.source.fetch(query):
                totals = weights[0].values if weights else None
                add_numbers(i, numbers, codes.values.astype(np.int32), totals)
        grouped = [i for i in range(len(self.columns)) if i not in fetched]
        sets = [{"y": "y", self.columns[i].slot: f"x{i}"} for i in grouped]
        for place, values, totals in count_groups(self.source, steps, sets, slots, self.total):
            i, y = grouped[place], values["y"].values.astype(np.int32)
            column = self.columns[i]
            if column.is_number:
                add_numbers(i, values["number"], y, totals)
            else:
                counted.setdefault(i, _CountedLabels(column)).add(values[column.slot], y, totals)
        features: list[LabelCounts | ValueSummary] = []
        orders: dict[int, list[Hashable]] = {}
        for i in range(len(self.columns)):
            if i in summaries:
                features.append(summaries[i])
            else:
                features.append(
                    self._read_labels(i, counted[i], n_classes, orders, max_value_bytes)
                )
        names = [self.features.name(i) for i in range(len(self.columns))]
        return Survey(names, classes, class_counts, features, orders)

    def _find_distinct_columns(self) -> list[int]:
        """Return the columns of numbers that are nearly all different, by the first rows.

        To count them is to sort them, which is quicker here than groups of one row there; whether
        a column is fetched or counted changes nothing else.
        """
        numbers = [i for i, column in enumerate(self.columns) if column.slot == "number"]
        if not self.source.dialect.is_columnar or not numbers:
            return []
        counts = ", ".join(f"COUNT(x{i}), COUNT(DISTINCT x{i})" for i in numbers)
        some = f"(SELECT * FROM priorwise_read LIMIT {N_PROBED_ROWS}) AS some_rows"
        query = f"WITH {self.read_step} SELECT {counts} FROM {some}"
        (columns,) = self.source.fetch(query)
        known, distinct = ([int(c.values[0]) for c in columns[at::2]] for at in (0, 1))
        return [
            i
            for i, n_known, n_distinct in zip(numbers, known, distinct, strict=True)
            if n_distinct > MIN_DISTINCT_SHARE * max(n_known, N_PROBED_ROWS // 2)
        ]

    def _to_numbers(self, i: int, column: Fetched) -> NDArray[np.float64]:
        numbers = np.where(column.known, column.values.astype(np.float64), np.nan)
        if np.isinf(numbers).any():
            raise ValueError(
                "Input X contains infinity or a value too large for dtype('float64'): column "
                f"{self.features.name(i)}"
            )
        return numbers

    def _read_labels(
        self,
        i: int,
        counted: _CountedLabels,
        n_classes: int,
        orders: dict[int, list[Hashable]],
        max_value_bytes: int | None,
    ) -> LabelCounts | ValueSummary:
        """Read labels as a frame with these rows would be read."""
        labels, place, y, totals = counted.join()
        self.labels[i] = labels
        is_nominal = self.features.kind(i) == "nominal"
        column = NominalColumn(labels, np.arange(len(labels), dtype=np.int32)).join_spellings(
            frozenset() if is_nominal else self.marks
        )
        self.spelled[i] = [column.labels[c] if c >= 0 else None for c in column.codes.tolist()]
        codes = np.append(column.codes, -1)[place].astype(np.int32)
        kind = self.kinds[i]
        if kind == "ordered":
            names = self.features.names
            order = read_order(self.features, i, self.encoder, names, self.marks)
            refuse_unlisted(order, column, self.features.name(i))
            orders[i] = order.labels
            ranks = to_ranks(order, NominalColumn(column.labels, codes))
            return ValueSummary.of(ranks, y, n_classes, max_value_bytes, totals)
        if kind == "numeric":
            parsed = [parse_number(label) for label in column.labels]
            numbers = np.array([np.nan if n is None else n for n in [*parsed, None]])
            return ValueSummary.of(numbers[codes], y, n_classes, max_value_bytes, totals)
        has_missing = bool((codes < 0).any())
        table = np.zeros((len(column.labels) + 1, n_classes), dtype=totals.dtype)
        np.add.at(table, (codes, y), totals)
        known: list[Hashable] = [*column.labels]
        if has_missing:
            known.append(None)
        return LabelCounts(known, table[: len(known)], kind == "text")

    def _check_weights(self) -> str:
        """Check the weights and return what queries sum over the rows."""
        if self.source.weight is None:
            return "COUNT(*)"
        weight = quote_name(self.source.weight)
        number_type = self.source.dialect.number_type
        query = (
            f"SELECT COUNT(*), COUNT({weight}), MIN(CAST({weight} AS {number_type})), "
            f"SUM(CAST({weight} AS {number_type})), "
            f"SUM(CASE WHEN {weight} = CAST({weight} AS BIGINT) THEN 0 ELSE 1 END), "
            f"SUM(CASE WHEN {weight} > 0 THEN 1 ELSE 0 END) "
            f"FROM {self.source.relation}"
        )
        values = [column.values[0] for columns in self.source.fetch(query) for column in columns]
        n_rows, n_known, least, total, n_broken, n_positive = (float(v or 0) for v in values)
        name = f"weight {self.source.weight!r}"
        if n_known < n_rows:
            raise SourceError(
                f"{name} must not be missing, but is in {n_rows - n_known:.0f} rows",
                self.source.name,
            )
        if n_rows and not (least >= 0 and 0 < total <= MAX_TOTAL_WEIGHT):
            raise SourceError(
                f"{name} must be finite, not negative and have a positive sum of at most 2**53, "
                f"got a least value of {least:g} and a sum of {total:g}",
                self.source.name,
            )
        warn_of_small_weights(total, int(n_positive))
        return f"CAST(SUM(w) AS {number_type if n_broken else 'BIGINT'})"

    def _count_classes(self) -> tuple[NDArray[Any], Totals]:
        """Return the classes and their totals; note the code of each label that is fetched."""
        target = self.table.names[-1]
        query = f"WITH {self.read_step} SELECT y, {self.total} FROM priorwise_read GROUP BY y"
        labels: list[Hashable] = []
        totals: list[Any] = []
        for column, counted in self.source.fetch(query):
            for value, known, total in zip(
                column.values.tolist(), column.known.tolist(), counted.values.tolist(), strict=True
            ):
                if not known:
                    raise SourceError(
                        f"target {target!r} must not be missing, but is in {total:g} rows",
                        self.source.name,
                    )
                labels.append(self.class_column.to_label(value))
                totals.append(total)
        if not labels:
            raise ValueError("source must hold at least one row, got 0")
        self.class_labels = labels
        # Each label three times: numbers that are all different would be taken for a regression.
        given = np.array(labels * 3) if self.class_column.slot != "text" else _objects(labels * 3)
        codes, classes = encode_labels(given)
        counts = np.bincount(codes[: len(labels)], totals, len(classes))
        whole = all(isinstance(total, int) for total in totals)
        self.class_codes = codes[: len(labels)]
        return classes, counts.astype(np.int64) if whole else counts


class _CountedLabels:
    """The labels of a column as groups of rows are fetched."""

    def __init__(self, column: SqlColumn) -> None:
        self.column = column
        self.place: dict[tuple[type, Any], int] = {}
        self.pieces: list[tuple[NDArray[np.int32], NDArray[np.int32], Totals]] = []

    def add(self, fetched: Fetched, y: NDArray[np.int32], totals: Totals) -> None:
        to_label, place = self.column.to_label, self.place
        labels = [
            to_label(value) if known else None
            for value, known in zip(fetched.values.tolist(), fetched.known.tolist(), strict=True)
        ]
        places = [
            -1 if label is None else place.setdefault((type(label), label), len(place))
            for label in labels
        ]
        self.pieces.append((np.array(places, dtype=np.int32), y, totals))

    def join(self) -> tuple[list[Hashable], NDArray[np.int32], NDArray[np.int32], Totals]:
        """Return the labels, and the place, class and total of each group of rows."""
        places, classes, totals = (np.concatenate(part) for part in zip(*self.pieces, strict=True))
        return [label for _, label in self.place], places, classes, totals


def case_of_labels(
    column: str,
    labels: Sequence[Hashable],
    codes: Sequence[int],
    otherwise: int | None,
    source: SqlSource,
) -> str:
    """Return the expression of the codes of labels; other values, NULL too, are `otherwise`."""
    words = [
        f"WHEN {source.dialect.constant(label)} THEN {code}"
        for label, code in zip(labels, codes, strict=True)
        if code != otherwise
    ]
    if not words:
        return str(otherwise)
    rest = "" if otherwise is None else f" ELSE {otherwise}"
    return f"CASE {column} {' '.join(words)}{rest} END"


def _objects(labels: list[Hashable]) -> NDArray[Any]:
    return np.array([*labels, None], dtype=object)[:-1]
