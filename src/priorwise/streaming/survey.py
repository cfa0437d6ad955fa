"""What one pass over a table learns: classes, labels and values."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import validate_data

from priorwise import _core
from priorwise.counts import PairCounts
from priorwise.data.labels import encode_labels
from priorwise.data.tables.categories import Categories
from priorwise.data.tables.column_kinds import (
    Kind,
    is_numeric,
    kinds_of_columns,
    warn_of_whole_numbers,
)
from priorwise.data.tables.description.value_summary import ValueSummary
from priorwise.data.tables.encoder import TableEncoder
from priorwise.data.tables.factorise import NominalColumn
from priorwise.data.tables.label_keys import is_number, label_key, mark_keys, parse_number
from priorwise.data.tables.ordered import read_order, refuse_unlisted, to_ranks
from priorwise.data.tables.raw_table import RawTable


@dataclass(frozen=True, eq=False)
class LabelCounts:
    """Labels of a feature in any order, None for missing, and their rows by class.

    It is nominal, unless `is_text`: then all its labels together decide whether it is.
    """

    labels: list[Hashable]
    counts: NDArray[Any]
    """Numbers of rows, shape (n_labels, n_classes)."""
    is_text: bool = False

    @property
    def example(self) -> Hashable:
        """A label with rows that is not a number; None if there is none."""
        totals = self.counts.sum(axis=1).tolist()
        texts = (
            label
            for label, total in zip(self.labels, totals, strict=True)
            if total > 0 and label is not None and (not self.is_text or parse_number(label) is None)
        )
        return next(texts, None)

    def merge(self, other: LabelCounts) -> LabelCounts:
        """The labels of both, those of `other` that are new behind."""
        is_text = self.is_text and other.is_text
        if self.labels is other.labels or _are_same(self.labels, other.labels):
            return LabelCounts(self.labels, self.counts + other.counts, is_text)
        labels, place = join_labels(self.labels, other.labels)
        counts = np.zeros((len(labels), self.counts.shape[1]), dtype=np.int64)
        counts[: len(self.labels)] = self.counts
        counts[place] += other.counts
        return LabelCounts(labels, counts, is_text)

    def is_numeric(self, name: str, whole_numbers: list[str]) -> bool:
        """Decide whether all rows hold numbers (`is_numeric`)."""
        known = [i for i, label in enumerate(self.labels) if label is not None]
        labels, totals = [self.labels[i] for i in known], self.counts[known].sum(axis=1)
        return self.is_text and is_numeric(name, labels, totals, whole_numbers)

    def to_numbers(self, max_bytes: int | None) -> ValueSummary:
        """Return the numbers that all labels with rows are."""
        n_classes = self.counts.shape[1]
        at, y = np.nonzero(self.counts)
        numbers = np.array([_to_number(label) for label in self.labels])[at]
        totals = self.counts[at, y]
        return ValueSummary.of(numbers, y.astype(np.int32), n_classes, max_bytes, totals)

    def with_classes(self, place: NDArray[np.intp], n_classes: int) -> LabelCounts:
        """The same rows where class i is class ``place[i]`` of more classes."""
        counts = np.zeros((len(self.labels), n_classes), dtype=np.int64)
        counts[:, place] = self.counts
        return LabelCounts(self.labels, counts, self.is_text)


@dataclass(frozen=True, eq=False)
class Survey:
    """What is known of the columns of some rows; surveys of batches merge."""

    names: list[str]  # how messages call the columns
    classes: NDArray[Any]  # class labels, ascending
    class_counts: NDArray[Any]  # numbers of rows
    features: list[LabelCounts | ValueSummary]  # one for each column: nominal or numeric
    orders: dict[int, list[Hashable]] = field(default_factory=dict)
    """Labels of the columns that are ordered categories, whose numbers are ranks."""

    @property
    def n_rows(self) -> int:
        return int(self.class_counts.sum())

    @property
    def is_nominal(self) -> NDArray[np.bool_]:
        return np.array([isinstance(feature, LabelCounts) for feature in self.features])

    @property
    def is_exact(self) -> bool:
        """Whether the values of every numeric feature are all kept."""
        return all(not isinstance(f, ValueSummary) or f.is_exact for f in self.features)

    def labels(self) -> list[list[Hashable]]:
        """Labels of the features that have labels."""
        return [f.labels for f in self.features if isinstance(f, LabelCounts)]

    def merge(self, other: Survey) -> Survey:
        """The survey of the rows of both."""
        classes, mine, theirs = join_classes(self.classes, other.classes)
        a = _spread(self.features, mine, len(classes))
        b = _spread(other.features, theirs, len(classes))
        features = [_merge_features(*each) for each in zip(self.names, a, b, strict=True)]
        class_counts = np.zeros(len(classes), dtype=np.int64)
        class_counts[mine] += self.class_counts
        class_counts[theirs] += other.class_counts
        for i, labels in self.orders.items():
            if other.orders.get(i) != labels:
                raise ValueError(
                    f"column {self.names[i]} must have one order in all batches, got "
                    f"{labels} and {other.orders.get(i)}"
                )
        return Survey(self.names, classes, class_counts, features, self.orders)

    def find_order(self, feature: int, marks: frozenset[Hashable]) -> Categories | None:
        """Return the order of a column that is an ordered category; None for others."""
        if feature not in self.orders:
            return None
        order = Categories(marks)
        order.declare(self.orders[feature])
        return order

    def settle(self, max_value_bytes: int | None) -> Survey:
        """Return the survey of all rows, in which each feature is nominal or numeric."""
        features, whole_numbers = list(self.features), list[str]()
        for i, feature in enumerate(self.features):
            if isinstance(feature, LabelCounts):
                if feature.is_numeric(self.names[i], whole_numbers):
                    features[i] = feature.to_numbers(max_value_bytes)
                else:
                    features[i] = LabelCounts(feature.labels, feature.counts)
        warn_of_whole_numbers(whole_numbers)
        return Survey(self.names, self.classes, self.class_counts, features, self.orders)


@dataclass(frozen=True, eq=False)
class SurveyedBatch:
    """The survey of one batch, and its rows coded by it."""

    survey: Survey
    codes: list[NDArray[np.int32]]
    """Of each nominal feature: places among the survey's labels."""
    y: NDArray[np.int32]
    pairs: PairCounts | None = None
    """Pairs of values by class, where all features are nominal and the pairs are asked for."""


def survey_batch(
    X: Any,
    y: Any,
    encoder: TableEncoder,
    known: Sequence[list[Hashable]] | None = None,
    max_value_bytes: int | None = None,
    texts: Collection[str] = (),
    is_first: bool = False,
    max_cells: int | None = None,
    label_reader: LabelReader | None = None,
) -> SurveyedBatch:
    """Survey the rows of one batch; the parameters of the encoder define which columns are nominal.

    `texts` are columns of strings that come as categories. The first batch warns of dates.

    Labels begin with the `known` ones of each nominal feature: batches that begin alike have the
    same codes, and merge quickly. The distinct values of a numeric feature take at most
    `max_value_bytes`. Pairs of values are counted if all features are nominal and their tables have
    at most `max_cells` cells, None for none. `label_reader` remembers labels from batch to batch.
    """
    y, classes = encode_labels(y)
    n_classes = len(classes)
    table = RawTable(X, marks=mark_keys(encoder.missing_values), texts=texts)
    reader = clone(encoder)
    validate_data(reader, X, reset=True, skip_check_array=True)
    names_in = getattr(reader, "feature_names_in_", ())
    label_reader, no_labels = label_reader or LabelReader(), list[Hashable]()
    kinds = label_reader.find_kinds(X, table, encoder, names_in, is_first)
    with_labels = [i for i, kind in enumerate(kinds) if kind not in ("numeric", "ordered")]
    marks = mark_keys(encoder.missing_values)
    number_marks = np.array([mark for mark in marks if is_number(mark)], dtype=float)
    orders = {
        i: read_order(table, i, encoder, names_in, marks)
        for i, kind in enumerate(kinds)
        if kind == "ordered"
    }
    codes: list[NDArray[np.int32]] = []
    labels: list[list[Hashable]] = []
    for at, i in enumerate(with_labels):
        start = known[at] if known is not None and len(known) == len(with_labels) else no_labels
        of_feature, of_rows = label_reader.code(table, i, start)
        labels.append(of_feature)
        codes.append(np.ascontiguousarray(of_rows, dtype=np.int32))
    is_text = [kinds[i] == "text" for i in with_labels]
    pairs = None
    if max_cells is not None and len(with_labels) == len(kinds):
        pairs = _count_pairs(labels, codes, y, n_classes, max_cells)
    counted = iter(_count_labels(labels, codes, y, n_classes, is_text, pairs))
    features: list[LabelCounts | ValueSummary] = []
    for i, kind in enumerate(kinds):
        if kind in ("numeric", "ordered"):
            if i in orders:
                column = table.nominal(i)
                refuse_unlisted(orders[i], column, table.name(i))
                values = to_ranks(orders[i], column)
            else:
                values = table.numeric(i, texts_are_missing=True)
                values = np.where(np.isin(values, number_marks), np.nan, values)
            features.append(ValueSummary.of(values, y, n_classes, max_value_bytes))
        else:
            features.append(next(counted))
    names = [table.name(i) for i in range(table.n_columns)]
    class_counts = np.bincount(y, minlength=n_classes).astype(np.int64)
    listed = {i: order.labels for i, order in orders.items()}
    return SurveyedBatch(Survey(names, classes, class_counts, features, listed), codes, y, pairs)


def join_labels(
    mine: list[Hashable], theirs: list[Hashable]
) -> tuple[list[Hashable], NDArray[np.intp]]:
    """My labels and behind them those that only you have, and the place of each of yours.

    >>> join_labels(["b", "a"], ["c", "b"])
    (['b', 'a', 'c'], array([2, 0]))
    """
    place = {label_key(label): i for i, label in enumerate(mine)}
    labels = list(mine)
    places = np.empty(len(theirs), dtype=np.intp)
    for i, label in enumerate(theirs):
        places[i] = place.setdefault(label_key(label), len(labels))
        if places[i] == len(labels):
            labels.append(label)
    return labels, places


def join_classes(
    mine: NDArray[Any], theirs: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[np.intp], NDArray[np.intp]]:
    """The classes of both, ascending, and the places of mine and of yours."""
    if mine.dtype == theirs.dtype and np.array_equal(mine, theirs):
        places = np.arange(len(mine))
        return mine, places, places
    codes, classes = encode_labels(np.concatenate([mine, theirs]))
    return classes, codes[: len(mine)].astype(np.intp), codes[len(mine) :].astype(np.intp)


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

    def find_kinds(
        self, X: Any, table: RawTable, encoder: TableEncoder, names: Sequence[str], is_first: bool
    ) -> list[Kind]:
        """Return the kinds of the columns of a batch, which an Arrow schema decides."""
        if table.library != "pyarrow":
            return kinds_of_columns(table, encoder, names, warn=is_first)
        known = self._kinds
        if known is None or is_first or not known[0].equals(X.schema):
            known = X.schema, kinds_of_columns(table, encoder, names, warn=is_first)
            self._kinds = known
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
        return seen[2], codes if seen[3] is None else seen[3][codes]


def _code_labels(
    column: NominalColumn, start: list[Hashable]
) -> tuple[list[Hashable], NDArray[np.int32]]:
    seen: list[Hashable] = [*column.labels]
    if (column.codes < 0).any():
        seen.append(None)
    labels, places = join_labels(start, seen)
    if len(labels) == len(start):
        labels = start  # the same list: such batches merge without a look at the labels
    if len(seen) == len(column.labels) and np.array_equal(places, np.arange(len(places))):
        return labels, column.codes
    # Missing, code -1, is the last of those seen.
    return labels, np.take(places.astype(np.int32), column.codes, mode="wrap")


def _count_pairs(
    labels: list[list[Hashable]],
    codes: list[NDArray[np.int32]],
    y: NDArray[np.int32],
    n_classes: int,
    max_cells: int,
) -> PairCounts | None:
    pairs = PairCounts(max_cells)
    try:
        pairs.add(codes, y, [len(of_feature) for of_feature in labels], n_classes)
    except MemoryError:
        return None
    return pairs


def _count_labels(
    labels: list[list[Hashable]],
    codes: list[NDArray[np.int32]],
    y: NDArray[np.int32],
    n_classes: int,
    is_text: list[bool],
    pairs: PairCounts | None,
) -> list[LabelCounts]:
    n = len(labels)
    if pairs is not None:
        tables = [pairs.margin(i) for i in range(n)]
    else:
        tables = [np.zeros((n_classes, len(of_feature)), dtype=np.int64) for of_feature in labels]
        arities = np.array([*map(len, labels), n_classes], dtype=np.int32)
        flat = [table.reshape(-1) for table in tables]
        _core.add_to_tables([*codes, y], arities, list(range(n)), [[n]] * n, flat, 1)
    return [
        LabelCounts(of_feature, table.T.copy(), text)
        for of_feature, table, text in zip(labels, tables, is_text, strict=True)
    ]


def _spread(
    features: list[LabelCounts | ValueSummary], place: NDArray[np.intp], n_classes: int
) -> list[LabelCounts | ValueSummary]:
    if len(place) == n_classes and np.array_equal(place, np.arange(n_classes)):
        return features
    return [feature.with_classes(place, n_classes) for feature in features]


def _merge_features(
    name: str, a: LabelCounts | ValueSummary, b: LabelCounts | ValueSummary
) -> LabelCounts | ValueSummary:
    if isinstance(a, LabelCounts) and isinstance(b, LabelCounts):
        return a.merge(b)
    if isinstance(a, ValueSummary) and isinstance(b, ValueSummary):
        return a.merge(b)
    nominal, numeric = (a, b) if isinstance(a, LabelCounts) else (b, a)
    assert isinstance(nominal, LabelCounts)
    assert isinstance(numeric, ValueSummary)
    # A column without a known value has no kind of its own.
    if not numeric.runs:
        return nominal.merge(LabelCounts([None], numeric.missing[None, :], nominal.is_text))
    example = nominal.example
    if example is None:
        return numeric.merge(nominal.to_numbers(numeric.max_bytes))
    raise ValueError(
        f"column {name} must hold numbers in every batch or in none, got {example!r} in one and "
        f"{numeric.values()[0]} in another: name it in categorical_features to take every value as "
        "a label, in numeric_features to take text as missing"
    )


def _to_number(label: Hashable) -> float:
    number = parse_number(label)
    return np.nan if number is None else number


def _are_same(a: list[Hashable], b: list[Hashable]) -> bool:
    return a == b and list(map(type, a)) == list(map(type, b))
