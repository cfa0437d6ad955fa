"""The survey of one batch of rows, and the rows as it has read them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.data.columns import Columns
from priorwise.data.survey.labels import MANY_LABELS, LabelCounts, join_labels
from priorwise.data.survey.numbers import NumberCounts
from priorwise.data.survey.survey import Feature, Survey
from priorwise.data.tables.categories import Categories, read_order, refuse_unlisted, to_ranks
from priorwise.data.tables.column_kinds import Kind, choose_columns, kinds_of_columns
from priorwise.data.tables.dates import ISO, PARTS, check_forms
from priorwise.data.tables.label_keys import (
    NominalColumn,
    as_float,
    list_numbers,
    mark_keys,
    spell_label,
)
from priorwise.data.tables.parts import Part, name_parts, parts_of, read_parts, take_parts
from priorwise.data.tables.raw_table import RawTable
from priorwise.data.tables.texts import TEXT, WordScores

NUMERIC_KINDS = ("numeric", "ordered", "date")
"""Kinds of columns that are read as numbers at once."""
LABEL_KINDS = ("nominal", "text", "words")
"""Kinds of columns that are read as labels; "words" become numbers, as training has decided."""


@dataclass(frozen=True, eq=False)
class RawColumns:
    """The columns of a batch before anything is decided: labels and their places, and numbers.

    A column of labels whose kind is "text" may turn out to hold numbers.
    """

    names: list[str]
    kinds: list[Kind]
    labels: dict[int, list[Hashable]]  # of the columns of labels; None is missing
    codes: dict[int, NDArray[np.int32]]  # places of the rows among the labels
    declared: dict[int, list[Hashable]]  # labels that the types of columns list
    values: NDArray[np.float64]  # of the numeric columns, shape (n_numeric, n_rows)
    orders: dict[int, Categories]
    forms: dict[int, str]  # of the columns of dates, which are numeric, and of texts
    parts: list[Part]  # of these dates and texts, which are features behind the columns
    scores: Mapping[int, WordScores]  # of the words of texts

    @classmethod
    def read(
        cls,
        table: RawTable,
        encoder: Any,
        kinds: list[Kind],
        feature_names: Sequence[str] = (),
        known: Sequence[list[Hashable]] | None = None,
        label_reader: LabelReader | None = None,
        forms: Mapping[int, str] | None = None,
        parts: list[Part] | None = None,
        scores: Mapping[int, WordScores] | None = None,
    ) -> RawColumns:
        """Read a table whose columns are of these kinds, by the parameters of an encoder.

        Labels begin with the `known` ones of each column of labels: batches that begin alike have
        the same codes, and merge quickly. `label_reader` remembers labels from batch to batch.
        `forms` are those of columns of dates and texts, `parts` and `scores` what is used of them,
        if training has decided.
        """
        reader, no_labels = label_reader or LabelReader(), list[Hashable]()
        marks, n = mark_keys(encoder.missing_values), table.n_columns
        labels: dict[int, list[Hashable]] = {}
        codes: dict[int, NDArray[np.int32]] = {}
        with_labels = [i for i, kind in enumerate(kinds) if kind in LABEL_KINDS]
        starts = known if known is not None and len(known) == len(with_labels) else None
        declared: dict[int, list[Hashable]] = {}
        for at, i in enumerate(with_labels):
            start = no_labels if starts is None else starts[at]
            listed = table.declared_labels(i) if encoder.declared == "count" else None
            if listed is not None:
                declared[i] = [spell_label(label) for label in listed]
                joined, _ = join_labels(start, declared[i])
                start = joined if len(joined) > len(start) else start
            labels[i], codes[i] = reader.code(table, i, start)
        numeric = [i for i, kind in enumerate(kinds) if kind in NUMERIC_KINDS]
        if forms is None:
            given = check_forms(encoder.date_features) or {}
            forms = {
                i: given.get(feature_names[i] if len(feature_names) else i, given.get(i, ISO))
                for i, kind in enumerate(kinds)
                if kind == "date"
            }
            parts = [(i, part) for i in forms for part in PARTS]
            texts = choose_columns("text_features", encoder.text_features, n, feature_names)
            forms |= dict.fromkeys(np.flatnonzero(texts).tolist(), TEXT)
        orders = {
            i: read_order(table, i, encoder, feature_names, marks)
            for i in numeric
            if kinds[i] == "ordered"
        }
        mixed = choose_columns("numeric_features", encoder.numeric_features, n, feature_names)
        values = _read_numbers(table, numeric, orders, forms, np.flatnonzero(mixed).tolist(), marks)
        names = [table.name(i) for i in range(n)]
        return cls(
            names,
            kinds,
            labels,
            codes,
            declared,
            values,
            orders,
            dict(forms),
            parts or [],
            scores or {},
        )

    def survey(
        self, weight: NDArray[np.float64] | None = None, *, summarise: bool = False
    ) -> Survey:
        """Survey the rows without their classes; `summarise` keeps the distinct numbers too."""
        n_rows = self.values.shape[1]
        total = float(n_rows) if weight is None else float(weight.sum())
        classes, numbers = np.zeros(n_rows, dtype=np.int32), iter(self.values)

        def count(values: NDArray[np.float64]) -> NumberCounts:
            if summarise:
                return NumberCounts.by_class(values, classes, 1, totals=weight)
            return NumberCounts.of(values, weight)

        features, of_parts = list[Feature](), self._read_decided()
        for i, kind in enumerate(self.kinds):
            if kind in NUMERIC_KINDS:
                features.append(count(next(numbers)))
            elif kind == "words":
                features.append(count(of_parts[i][0]))
            else:
                counts = np.bincount(self.codes[i], weight, len(self.labels[i])).astype(np.float64)
                features.append(self._to_labels(i, counts[:, None]))
        features += [count(values) for of_column in of_parts.values() for values in of_column[1:]]
        return self._to_survey(np.zeros(1), np.array([total]), features)

    def count_by_class(
        self, y: NDArray[np.int32], n_classes: int, weight: NDArray[np.float64] | None
    ) -> dict[int, NDArray[np.intp]]:
        """Return the rows of positive weight of each label and class.

        Of columns of text, and of columns of many labels.
        """
        counted = slice(None) if weight is None else weight > 0
        return {
            i: np.bincount(
                codes[counted] * np.int64(n_classes) + y[counted],
                minlength=len(self.labels[i]) * n_classes,
            ).reshape(-1, n_classes)
            for i, codes in self.codes.items()
            if self.kinds[i] == "text" or len(self.labels[i]) > MANY_LABELS
        }

    def count_rows(self, weight: NDArray[np.float64] | None) -> dict[int, NDArray[np.intp]] | None:
        """Return the rows of positive weight of each label, by column; None if all weigh one."""
        if weight is None:
            return None
        counted = weight > 0
        return {
            i: np.bincount(codes[counted], minlength=len(self.labels[i]))
            for i, codes in self.codes.items()
        }

    def survey_by_class(
        self,
        y: NDArray[np.int32],
        classes: NDArray[Any],
        max_value_bytes: int | None = None,
        tables: Sequence[NDArray[np.int64]] | None = None,
    ) -> Survey:
        """Survey the rows by class, with the distinct values of the numbers.

        `tables` are the rows of each class and label, by column of labels, if they are known.
        """
        n_classes, numbers = len(classes), iter(self.values)
        counted = iter(self._count_labels(y, n_classes) if tables is None else tables)
        features: list[Feature] = []
        for i, kind in enumerate(self.kinds):
            if kind in NUMERIC_KINDS:
                features.append(NumberCounts.by_class(next(numbers), y, n_classes, max_value_bytes))
                continue
            features.append(self._to_labels(i, next(counted).T.copy()))
        for of_column in self._read_decided().values():
            for values in of_column[1:]:
                features.append(NumberCounts.by_class(values, y, n_classes, max_value_bytes))
        class_counts = np.bincount(y, minlength=n_classes).astype(np.int64)
        return self._to_survey(classes, class_counts, features)

    def to_columns(
        self,
        is_nominal: NDArray[np.bool_],
        label_codes: Sequence[NDArray[np.int32]],
        forms: Mapping[int, str],
        parts: Sequence[Part],
        scores: Mapping[int, WordScores],
    ) -> Columns:
        """Return the rows by codes of labels: those of each label of each nominal feature.

        `forms` are those of all columns of dates and texts; of them `parts` are features.
        """
        n_rows, places = self.values.shape[1], np.flatnonzero(is_nominal).tolist()
        codes = np.empty((len(places), n_rows), dtype=np.int32)
        for at, i in enumerate(places):
            codes[at] = label_codes[at][self.codes[i]]
        parsed = [i for i, nominal in enumerate(is_nominal.tolist()) if not nominal]
        if not parts and not any(i in self.codes for i in parsed):
            return Columns(codes, self.values, is_nominal)
        values, numbers, n = np.empty((len(parsed), n_rows)), iter(self.values), len(self.kinds)
        place = {i: at for at, i in enumerate(parsed)}
        for i in parsed[: len(parsed) - len(parts)]:
            if i not in self.codes:
                values[place[i]] = next(numbers)
            elif i not in forms:
                of_labels = LabelCounts(self.labels[i], np.zeros((len(self.labels[i]), 1)))
                values[place[i]] = of_labels.numbers()[self.codes[i]]
        for i, of_column in self._read_forms(forms, parts, scores):
            own = [n + at for at, (source, _) in enumerate(parts) if source == i]
            values[[place[feature] for feature in (i, *own)]] = of_column
        return Columns(codes, values, is_nominal)

    def _read_forms(
        self, forms: Mapping[int, str], parts: Sequence[Part], scores: Mapping[int, WordScores]
    ) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Yield the columns of these forms, each with its numbers and those of its parts."""
        numeric = [i for i, kind in enumerate(self.kinds) if kind in NUMERIC_KINDS]
        for i, form in forms.items():
            own = parts_of(i, parts)
            if i in self.codes:
                yield i, read_parts(self.labels[i], form, own, scores.get(i))[:, self.codes[i]]
            else:
                yield i, take_parts(self.values[numeric.index(i)], own)

    def _read_decided(self) -> dict[int, NDArray[np.float64]]:
        """Return what `_read_forms` yields of columns whose kind is not left to their values."""
        forms = {i: form for i, form in self.forms.items() if self.kinds[i] != "text"}
        return dict(self._read_forms(forms, self.parts, self.scores))

    def _to_survey(
        self, classes: NDArray[Any], class_counts: NDArray[Any], features: list[Feature]
    ) -> Survey:
        names = [*self.names, *name_parts(self.names, self.forms, self.parts)]
        orders = {i: order.labels for i, order in self.orders.items()}
        return Survey(names, classes, class_counts, features, orders, self.forms, self.parts)

    def _count_labels(self, y: NDArray[np.int32], n_classes: int) -> list[NDArray[np.int64]]:
        """Return the rows of each class and label, of shape (n_classes, n_labels), by column."""
        n, sizes = len(self.labels), [len(labels) for labels in self.labels.values()]
        tables = [np.zeros((n_classes, size), dtype=np.int64) for size in sizes]
        arities = np.array([*sizes, n_classes], dtype=np.int32)
        flat = [table.reshape(-1) for table in tables]
        columns = [*self.codes.values(), y]
        _core.add_to_tables(columns, arities, list(range(n)), [[n]] * n, flat, 1)
        return tables

    def _to_labels(self, i: int, counts: NDArray[Any]) -> LabelCounts:
        declared = None
        if i in self.declared:
            declared = np.zeros(len(self.labels[i]))
            declared[join_labels(self.labels[i], self.declared[i])[1]] = counts.sum()
        return LabelCounts(self.labels[i], counts, self.kinds[i] == "text", declared)


def _read_numbers(
    table: RawTable,
    numeric: list[int],
    orders: dict[int, Categories],
    forms: Mapping[int, str],
    texts_are_missing: list[int],
    marks: frozenset[Hashable],
) -> NDArray[np.float64]:
    """Return the numbers of columns, of dates and ranks of those that are ordered categories."""
    plain = [i for i in numeric if i not in orders and i not in forms]
    values = table.numeric_values(plain, texts_are_missing)
    number_marks = np.array([as_float(mark) for mark in list_numbers(marks)])
    if len(number_marks):
        values[np.isin(values, number_marks)] = np.nan
    if len(plain) == len(numeric):
        return values
    together = np.empty((len(numeric), table.n_rows))
    together[[i in plain for i in numeric]] = values
    for i in [i for i in numeric if i in forms]:
        together[numeric.index(i)] = table.dates(i, forms[i])
    for i, order in orders.items():
        column: NominalColumn = table.nominal(i)
        refuse_unlisted(order, column, table.name(i))
        together[numeric.index(i)] = to_ranks(order, column)
    return together


class LabelReader:
    """Codes the labels of columns, and remembers what the codes of Arrow columns mean.

    Batches of a file mostly list the same labels in the same order: their codes are then known
    without a look at the labels.
    """

    def __init__(self) -> None:
        # Of each column: Arrow's labels, the labels to begin with, all labels, and the places of
        # Arrow's labels among them, None where they are the first ones in their order.
        self._seen: dict[int, tuple[Any, list[Hashable], list[Hashable], Any]] = {}
        self._kinds: tuple[Any, list[Kind]] | None = None  # of an Arrow schema

    def find_kinds(self, X: Any, table: RawTable, encoder: Any, names: Sequence[str]) -> list[Kind]:
        """Return the kinds of the columns of a batch, which an Arrow schema decides."""
        if table.library != "pyarrow":
            return kinds_of_columns(table, encoder, names)
        known = self._kinds
        if known is None or not known[0].equals(X.schema):
            known = self._kinds = X.schema, kinds_of_columns(table, encoder, names)
        return known[1]

    def code(
        self, table: RawTable, i: int, start: list[Hashable]
    ) -> tuple[list[Hashable], NDArray[np.int32]]:
        """Return the labels of column i behind those to begin with, and the places of its rows."""
        given = table.arrow_dictionary(i)
        if given is None:
            return _code_labels(table.nominal(i), start)
        dictionary, codes = given
        seen = self._seen.get(i)
        if seen is None or seen[1] is not start or not dictionary.equals(seen[0]):
            column = table.read_dictionary(i, dictionary)
            if (column.codes < 0).any():  # missing, if a row has it
                return _code_labels(table.nominal(i), start)
            labels, places = _code_labels(column, start)
            in_order = np.array_equal(places, np.arange(len(places)))
            seen = dictionary, start, labels, None if in_order else places
            self._seen[i] = seen
        found = codes if seen[3] is None else seen[3][codes]
        return seen[2], np.ascontiguousarray(found, dtype=np.int32)


def _code_labels(
    column: NominalColumn, start: list[Hashable]
) -> tuple[list[Hashable], NDArray[np.int32]]:
    seen: list[Hashable] = [*column.labels]
    if (column.codes < 0).any():
        seen.append(None)
    labels, places = join_labels(start, seen) if start else (seen, np.arange(len(seen)))
    if len(labels) == len(start):
        labels = start  # the same list: such batches merge without a look at the labels
    if len(seen) == len(column.labels) and np.array_equal(places, np.arange(len(places))):
        return labels, np.ascontiguousarray(column.codes, dtype=np.int32)
    # Missing, code -1, is the last of those seen.
    return labels, np.take(places.astype(np.int32), column.codes, mode="wrap")
