"""Distinct values of numeric features with the rows at each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.data.cuts.ranked import RankedValues


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """The distinct values of numeric features, and the weight of the rows at each of them.

    Rows belong to groups: classes or folds. This is all that cut points are drawn from, and it can
    be known of rows that are read in batches.

    >>> ranked = RankedValues.of([[3.0, 1.0, 3.0]])
    >>> counts = ValueCounts.count(ranked, np.array([0, 1, 1]), n_groups=2)
    >>> counts.values[0], counts.weights[0].tolist()
    (array([1., 3.]), [[0.0, 1.0], [1.0, 1.0]])
    """

    values: list[NDArray[np.float64]]  # of each feature, ascending; missing values are left out
    weights: list[NDArray[Any]]  # of each feature, with shape (values, groups)

    @classmethod
    def count(
        cls,
        ranked: RankedValues,
        group: NDArray[Any],
        n_groups: int,
        weight: NDArray[np.float64] | None = None,
    ) -> ValueCounts:
        """Count rows in memory."""
        weights = []
        for ranks, values in zip(ranked.ranks, ranked.distinct, strict=True):
            known = ranks >= 0
            cell = ranks[known].astype(np.int64) * n_groups + group[known]
            row_weight = None if weight is None else weight[known]
            cells = np.bincount(cell, row_weight, minlength=len(values) * n_groups)
            weights.append(cells.astype(np.float64).reshape(-1, n_groups))
        return cls(list(ranked.distinct), weights)

    @property
    def n_features(self) -> int:
        return len(self.values)

    def without(self, group: int) -> ValueCounts:
        """Return the values that the rows of all other groups have, and the weight of each."""
        values, weights = [], []
        for feature_values, feature_weights in zip(self.values, self.weights, strict=True):
            others = np.delete(feature_weights, group, axis=1).sum(axis=1, keepdims=True)
            kept = others[:, 0] > 0
            values.append(feature_values[kept])
            weights.append(others[kept])
        return ValueCounts(values, weights)
