"""The codes of features: how many there are, their labels, and the codes of labels."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from priorwise.data.tables.categories import Categories, code_numbers, name_bins
from priorwise.data.tables.ordered import name_ranks


class CodeNames:
    """What fitted encoders know of codes."""

    missing: str
    is_nominal_: NDArray[np.bool_]
    categories_: list[Categories]
    orders_: dict[int, Categories]
    cut_points_: list[NDArray[np.float64]]
    missing_seen_: NDArray[np.bool_]
    means_: list[float]

    @property
    def ordered_places(self) -> list[int]:
        """Places of the ordered categories among the numeric features."""
        return [int((~self.is_nominal_[:i]).sum()) for i in self.orders_]

    def arities(self, cut_points: list[NDArray[np.float64]] | None = None) -> NDArray[np.int32]:
        """Return the number of codes of each feature, by default with `cut_points_`."""
        points = self.cut_points_ if cut_points is None else cut_points
        arities = np.empty(len(self.is_nominal_), dtype=np.int32)
        arities[self.is_nominal_] = [len(c.labels) for c in self.categories_]
        arities[~self.is_nominal_] = [
            len(feature_points) + 1 + int(seen)
            for feature_points, seen in zip(points, self.missing_seen_, strict=True)
        ]
        # A feature without a single counted row still needs a code to exist.
        return np.maximum(arities, 1)

    @property
    def arities_(self) -> NDArray[np.int32]:
        """Number of codes of each feature."""
        return self.arities()

    def code_labels(self, feature: int) -> list[Any]:
        """Return the labels of a feature's codes, or intervals, and "missing"."""
        check_is_fitted(self)
        place = int((self.is_nominal_[:feature] == self.is_nominal_[feature]).sum())
        if self.is_nominal_[feature]:
            return ["missing" if x is None else x for x in self.category_labels(feature)]
        order, points = self.orders_.get(feature), self.cut_points_[place]
        bins = name_bins(points) if order is None else name_ranks(order, points)
        return [*bins, "missing"] if self.missing_seen_[place] else bins

    def label_codes(self, feature: int, labels: Sequence[Hashable]) -> NDArray[np.int32]:
        """Return the codes of labels of a feature, numeric or not; None is missing.

        A label that training did not have has any code.
        """
        place = int((self.is_nominal_[:feature] == self.is_nominal_[feature]).sum())
        if self.is_nominal_[feature]:
            categories = self.categories_[place]
            missing = categories.mode_code if self.missing == "impute" else categories.missing_code
            found = [missing if label is None else categories.code(label) for label in labels]
            codes = np.maximum(np.array(found, dtype=np.int32), 0)
        else:
            instead = self.means_[place] if self.missing == "impute" else np.nan
            labels = self._rank_labels(feature, labels)
            codes = code_numbers(labels, self.cut_points_[place], instead)
        if self.ignores_missing:
            codes[[label is None for label in labels]] = -1
        return codes

    @property
    def ignores_missing(self) -> bool:
        """Whether missing values have the code -1, in training too."""
        return self.missing == "ignore"

    def category_labels(self, feature: int) -> list[Any]:
        """Return the label of each code of a nominal feature; None stands for missing."""
        check_is_fitted(self)
        return list(self.categories_[int(self.is_nominal_[:feature].sum())].labels)

    def value_labels(self, feature: int) -> list[Any]:
        """Return the labels of a nominal feature's codes or of an ordered feature's ranks."""
        order = self.orders_.get(feature)
        return self.category_labels(feature) if order is None else list(order.labels)

    def name_threshold(self, feature: int, threshold: float, digits: int = 6) -> str:
        """Return a threshold of a numeric feature for messages: that of ranks is the label below.

        A threshold below all ranks, or that is infinite, is written as a number.
        """
        order = self.orders_.get(feature)
        if order is not None and 0.0 <= threshold < len(order.labels):
            return str(order.labels[int(threshold)])
        return f"{threshold:.{digits}g}"

    def rank_labels(self, feature: int, values: NDArray[np.float64]) -> NDArray[Any]:
        """Return values of a numeric feature as objects: ranks as their labels, None for NaN."""
        cells = np.empty(len(values), dtype=object)
        order, known = self.orders_.get(feature), ~np.isnan(values)
        if order is None:
            cells[known] = values[known]
        else:
            ranks = np.clip(np.rint(values[known]), 0, len(order.labels) - 1).astype(int)
            for at, rank in zip(np.flatnonzero(known).tolist(), ranks.tolist(), strict=True):
                cells[at] = order.labels[rank]
        return cells

    def _rank_labels(self, feature: int, labels: Sequence[Hashable]) -> Sequence[Hashable]:
        order = self.orders_.get(feature)
        if order is None:
            return labels
        ranks = [-1 if label is None else order.code(label) for label in labels]
        return [None if rank < 0 else rank for rank in ranks]
