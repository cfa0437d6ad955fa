"""What is known of the columns of some rows: the one thing that learns how a table is read."""

from __future__ import annotations

import sys
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.data.columns import encode_labels
from priorwise.data.cuts.discretise import Discretizer
from priorwise.data.cuts.names import WholeRange, as_discretizer, learn_cut_points
from priorwise.data.survey.numbers import NumberCounts, ValueSummary
from priorwise.data.tables.categories import Categories, sorted_labels
from priorwise.data.tables.column_kinds import is_numeric, warn_of_whole_numbers
from priorwise.data.tables.label_keys import NominalColumn, label_key, parse_number
from priorwise.data.tables.raw_table import infinity_error


@dataclass(frozen=True, eq=False)
class LabelCounts:
    """Labels of a feature in any order, None for missing, and their rows by class.

    The feature is nominal, unless `is_text`: then all its labels together decide whether it is.
    Labels that no row has are forgotten, unless `is_declared`: the type of the column lists them.
    """

    labels: list[Hashable]
    counts: NDArray[Any]
    """Rows or weights, of shape (n_labels, n_classes)."""
    is_text: bool = False
    is_declared: bool = False

    @classmethod
    def of(cls, column: NominalColumn, weight: NDArray[np.float64] | None = None) -> LabelCounts:
        """Count the rows of one batch without a look at their classes; missing comes last.

        >>> LabelCounts.of(NominalColumn(["b"], np.array([0, 0, -1]))).counts.tolist()
        [[2.0], [1.0]]
        """
        labels = [*column.labels, None]
        places = np.where(column.codes < 0, len(column.labels), column.codes)
        counts = np.bincount(places, weight, len(labels)).astype(np.float64)
        return cls(labels, counts[:, None])

    @property
    def totals(self) -> NDArray[Any]:
        """Rows or weight of each label."""
        return self.counts.sum(axis=1)

    @property
    def example(self) -> Hashable:
        """A label with rows that is not a number; None if there is none."""
        texts = (
            label
            for label, total in zip(self.labels, self.totals.tolist(), strict=True)
            if total > 0 and label is not None and (not self.is_text or parse_number(label) is None)
        )
        return next(texts, None)

    def merge(self, other: LabelCounts) -> LabelCounts:
        """The labels of both, those of `other` that are new behind."""
        is_text, is_declared = self.is_text and other.is_text, self.is_declared or other.is_declared
        if self.labels is other.labels or _are_same(self.labels, other.labels):
            return LabelCounts(self.labels, self.counts + other.counts, is_text, is_declared)
        labels, place = join_labels(self.labels, other.labels)
        kind = np.result_type(self.counts, other.counts)
        counts = np.zeros((len(labels), self.counts.shape[1]), kind)
        counts[: len(self.labels)] = self.counts
        counts[place] += other.counts
        return LabelCounts(labels, counts, is_text, is_declared)

    def subtract(self, other: LabelCounts) -> LabelCounts:
        """The same labels without the rows of `other`."""
        left = self.merge(other.scale(-1.0))
        return replace(left, counts=np.maximum(left.counts, 0.0))

    def scale(self, factor: float) -> LabelCounts:
        """The same labels where every row counts `factor` times."""
        return replace(self, counts=factor * self.counts)

    def is_numeric(self, name: str, whole_numbers: list[str]) -> bool:
        """Decide whether all rows hold numbers (`is_numeric`)."""
        known = [i for i, label in enumerate(self.labels) if label is not None]
        labels = [self.labels[i] for i in known]
        return self.is_text and is_numeric(name, labels, self.totals[known], whole_numbers)

    def numbers(self) -> NDArray[np.float64]:
        """The number that each label is, NaN for others."""
        parsed = [None if label is None else parse_number(label) for label in self.labels]
        return np.array([np.nan if number is None else number for number in parsed])

    def to_numbers(self, max_bytes: int | None) -> NumberCounts:
        """Return the numbers that all labels with rows are."""
        n_classes = self.counts.shape[1]
        at, y = np.nonzero(self.counts)
        return NumberCounts.by_class(
            self.numbers()[at], y.astype(np.int32), n_classes, max_bytes, self.counts[at, y]
        )

    def with_classes(self, place: NDArray[np.intp], n_classes: int) -> LabelCounts:
        """The same rows where class i is class ``place[i]`` of more classes."""
        counts = np.zeros((len(self.labels), n_classes), dtype=self.counts.dtype)
        counts[:, place] = self.counts
        return replace(self, counts=counts)

    def to_categories(
        self, marks: frozenset[Hashable], missing: str, known: Categories | None = None
    ) -> tuple[Categories, NDArray[np.int32]]:
        """Give codes to the labels; also return the code of each label of this survey.

        The `known` labels come first with their weights, others are sorted behind them, whatever
        batch they came with. With ``missing="impute"`` a missing label has the code of the heaviest
        label, with ``missing="ignore"`` the code -1.
        """
        known = Categories(marks) if known is None else known
        keys = list(map(label_key, self.labels))
        totals = dict(zip(keys, self.totals.tolist(), strict=True))
        new = sorted_labels(
            [
                _shared(label)
                for key, label in zip(keys, self.labels, strict=True)
                if key is not None and key not in known and (totals[key] > 0 or self.is_declared)
            ]
        )
        has_values = known.has_values or any(totals[key] > 0 for key in keys if key is not None)
        codes_missing = missing == "value" or (missing == "impute" and not has_values)
        if codes_missing and totals.get(None, 0) > 0 and None not in known:
            new.append(None)
        categories = known.extend(new, totals)
        # No row has a label without a code, but for missing values.
        instead = categories.mode_code if missing == "impute" and categories.labels else 0
        codes = [categories.codes.get(key, instead) for key in keys]
        if missing == "ignore" and None in totals:
            codes[keys.index(None)] = -1
        return categories, np.array(codes, dtype=np.int32)


def join_labels(
    mine: list[Hashable], theirs: list[Hashable]
) -> tuple[list[Hashable], NDArray[np.intp]]:
    """Union of both lists of labels, `mine` first, and the place of each of `theirs` in it.

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
    """The classes of both, ascending, and the places of `mine` and of `theirs`."""
    if mine.dtype == theirs.dtype and np.array_equal(mine, theirs):
        places = np.arange(len(mine))
        return mine, places, places
    codes, classes = encode_labels(np.concatenate([mine, theirs]))
    return classes, codes[: len(mine)].astype(np.intp), codes[len(mine) :].astype(np.intp)


def _are_same(a: list[Hashable], b: list[Hashable]) -> bool:
    return a == b and list(map(type, a)) == list(map(type, b))


def _shared(label: Hashable) -> Hashable:
    # One object for one text: a model learnt in one go and one that was resumed are then saved
    # as the same bytes.
    return sys.intern(label) if type(label) is str else label


Feature = LabelCounts | NumberCounts


@dataclass(frozen=True, eq=False)
class Survey:
    """What is known of the columns of some rows: kinds, labels, numbers, missing values.

    Surveys of batches merge into that of all rows; rows that were surveyed can be taken away again
    (`subtract`) or made to count less (`scale`). An encoder is made of a survey, and of nothing
    else. A survey that nothing is learnt of classes from has one class for all rows.
    """

    names: list[str]  # how messages call the columns
    classes: NDArray[Any]  # class labels, ascending
    class_counts: NDArray[Any]  # rows of each class, or their weights
    features: list[Feature]  # one for each column: nominal or numeric
    orders: dict[int, list[Hashable]] = field(default_factory=dict)
    """Labels of the columns that are ordered categories, whose numbers are ranks."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.class_counts.sum())

    @property
    def is_nominal(self) -> NDArray[np.bool_]:
        """Which features have labels."""
        return np.array([isinstance(feature, LabelCounts) for feature in self.features])

    @property
    def is_exact(self) -> bool:
        """Whether the values of every numeric feature are all kept."""
        numbers = [f for f in self.features if isinstance(f, NumberCounts)]
        return all(f.summary is None or f.summary.is_exact for f in numbers)

    def labels(self) -> list[list[Hashable]]:
        """Labels of the features that have labels."""
        return [feature.labels for feature in self.label_counts()]

    @property
    def has_missing_labels(self) -> bool:
        """Whether a row has no value of a feature with labels."""
        of_features = [zip(f.labels, f.totals, strict=True) for f in self.label_counts()]
        return any(label is None and total > 0 for pairs in of_features for label, total in pairs)

    def label_counts(self) -> list[LabelCounts]:
        """The features that have labels."""
        return [f for f in self.features if isinstance(f, LabelCounts)]

    def summaries(self, *, impute: bool) -> list[ValueSummary]:
        """Distinct values of the numeric features; with `impute`, means replace missing values."""
        found = [f.summary for f in self.features if isinstance(f, NumberCounts)]
        return [s.impute()[1] if impute else s for s in found if s is not None]

    def merge(self, other: Survey) -> Survey:
        """The survey of the rows of both."""
        classes, mine, theirs = join_classes(self.classes, other.classes)
        a = _spread(self.features, mine, len(classes))
        b = _spread(other.features, theirs, len(classes))
        features = [_merge_features(*each) for each in zip(self.names, a, b, strict=True)]
        kind = np.result_type(self.class_counts, other.class_counts)
        class_counts = np.zeros(len(classes), dtype=kind)
        class_counts[mine] += self.class_counts
        class_counts[theirs] += other.class_counts
        for i, labels in self.orders.items():
            if other.orders.get(i) != labels:
                raise ValueError(
                    f"column {self.names[i]} must have one order in all batches, got "
                    f"{labels} and {other.orders.get(i)}"
                )
        return Survey(self.names, classes, class_counts, features, self.orders)

    def subtract(self, other: Survey) -> Survey:
        """The survey without the rows of `other`, which are rows of this one."""
        pairs = zip(self.features, other.features, strict=True)
        features: list[Feature] = [mine.subtract(theirs) for mine, theirs in pairs]  # type: ignore[arg-type]
        left = np.maximum(self.class_counts - other.class_counts, 0)
        return replace(self, features=features, class_counts=left)

    def scale(self, factor: float) -> Survey:
        """The survey where every row counts `factor` times."""
        features: list[Feature] = [feature.scale(factor) for feature in self.features]
        return replace(self, features=features, class_counts=factor * self.class_counts)

    def list_orders(self, marks: frozenset[Hashable]) -> dict[int, Categories]:
        """Return the orders of the columns that are ordered categories."""
        orders = {i: Categories(marks) for i in self.orders}
        for i, order in orders.items():
            order.declare(self.orders[i])
        return orders

    def learn_cut_points(
        self, discretizer: Any, *, impute: bool, n_jobs: int | None
    ) -> list[NDArray[np.float64]]:
        """Return the cut points that a discretiser learns of the distinct values.

        Rows of equal value and class are one weighted row. A transformer that is not of this
        library may not treat a weight of n as n rows, so it is given the rows one by one.
        """
        learner = as_discretizer(discretizer, n_jobs=n_jobs)
        takes_weights = isinstance(learner, Discretizer | WholeRange)
        numeric = np.flatnonzero(~self.is_nominal).tolist()
        points: list[NDArray[np.float64]] = []
        for i, summary in zip(numeric, self.summaries(impute=impute), strict=True):
            values, y, weight = summary.cells()
            if weight is not None and not takes_weights:
                each = np.repeat(np.arange(len(values)), weight.astype(np.int64))
                values, y, weight = values[each], y[each], None
            ordered = [0] if i in self.orders else []
            points += learn_cut_points(learner, values[None, :], y, weight, ordered=ordered)
        return points

    def settle(self, max_value_bytes: int | None = None) -> Survey:
        """Return the survey of all rows, in which each feature is nominal or numeric."""
        features, whole_numbers = list(self.features), list[str]()
        for i, feature in enumerate(self.features):
            if isinstance(feature, LabelCounts) and feature.is_text:
                if feature.is_numeric(self.names[i], whole_numbers):
                    numbers = features[i] = feature.to_numbers(max_value_bytes)
                    if np.isinf([numbers.least, numbers.largest]).any():
                        raise infinity_error(self.names[i])
                else:
                    features[i] = replace(feature, is_text=False)
        warn_of_whole_numbers(whole_numbers)
        return replace(self, features=features)


def _spread(features: list[Feature], place: NDArray[np.intp], n_classes: int) -> list[Feature]:
    if len(place) == n_classes and np.array_equal(place, np.arange(n_classes)):
        return features
    return [feature.with_classes(place, n_classes) for feature in features]


def _merge_features(name: str, a: Feature, b: Feature) -> Feature:
    if isinstance(a, LabelCounts) and isinstance(b, LabelCounts):
        return a.merge(b)
    if isinstance(a, NumberCounts) and isinstance(b, NumberCounts):
        return a.merge(b)
    nominal, numeric = (a, b) if isinstance(a, LabelCounts) else (b, a)
    assert isinstance(nominal, LabelCounts)
    assert isinstance(numeric, NumberCounts)
    assert numeric.summary is not None
    # A column without a known value has no kind of its own.
    if np.isnan(numeric.least):
        missing = numeric.summary.missing[None, :]
        return nominal.merge(LabelCounts([None], missing, nominal.is_text))
    example = nominal.example
    if example is None:
        return numeric.merge(nominal.to_numbers(numeric.summary.max_bytes))
    raise ValueError(
        f"column {name} must hold numbers in every batch or in none, got {example!r} in one and "
        f"{numeric.least} in another: name it in categorical_features to take every value as "
        "a label, in numeric_features to take text as missing"
    )
