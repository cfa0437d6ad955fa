"""What is known of the columns of some rows: the one thing that learns how a table is read."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.data.cuts.discretise import Discretizer
from priorwise.data.cuts.names import as_discretizer, learn_cut_points
from priorwise.data.cuts.whole_range import WholeRange
from priorwise.data.survey.labels import LabelCounts, join_classes
from priorwise.data.survey.numbers import NumberCounts
from priorwise.data.survey.value_summary import ValueSummary
from priorwise.data.tables.categories import Categories
from priorwise.data.tables.column_kinds import warn_of_whole_numbers
from priorwise.data.tables.raw_table import infinity_error

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
