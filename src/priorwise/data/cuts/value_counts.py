"""Distinct values of numeric features: the ranks of rows among them, and the rows at each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priorwise import _core


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """The distinct values of numeric features, and the weight of the rows at each of them.

    Rows belong to groups: classes or folds. This is all that cut points are drawn from, and it can
    be known of rows that are read in batches. The values of all features are one array, since
    thousands of small arrays take more memory than what is in them.

    >>> ranked = RankedValues.of([[3.0, 1.0, 3.0]])
    >>> counts = ValueCounts.count(ranked, np.array([0, 1, 1]), n_groups=2)
    >>> counts.values, counts.weights.tolist(), counts.starts.tolist()
    (array([1., 3.]), [[0.0, 1.0], [1.0, 1.0]], [0, 2])
    """

    values: NDArray[np.float64]
    """Those of a feature ascend, and those of the next follow; missing values are left out."""
    weights: NDArray[Any]  # of shape (values, groups)
    starts: NDArray[np.intp]  # where the values of each feature begin, and where the last ones end

    @classmethod
    def count(
        cls,
        ranked: RankedValues,
        group: NDArray[Any],
        n_groups: int,
        weight: NDArray[np.float64] | None = None,
    ) -> ValueCounts:
        """Count rows in memory."""
        starts = _find_starts(ranked.distinct)
        weights = np.empty((starts[-1], n_groups))
        for i, ranks in enumerate(ranked.ranks):
            known = ranks >= 0
            cell = ranks[known].astype(np.int64) * n_groups + group[known]
            row_weight = None if weight is None else weight[known]
            of_feature = weights[starts[i] : starts[i + 1]]
            cells = np.bincount(cell, row_weight, minlength=of_feature.size)
            of_feature[:] = cells.reshape(of_feature.shape)
        return cls(np.concatenate([np.empty(0), *ranked.distinct]), weights, starts)

    @classmethod
    def join(
        cls, values: Sequence[NDArray[np.float64]], weights: Sequence[NDArray[Any]]
    ) -> ValueCounts:
        """Join the values of each feature, and their weights of shape (values, groups)."""
        joined = np.concatenate(weights) if weights else np.empty((0, 1))
        return cls(np.concatenate([np.empty(0), *values]), joined, _find_starts(values))

    @property
    def n_features(self) -> int:
        return len(self.starts) - 1

    @cached_property
    def below(self) -> NDArray[np.float64]:
        """Weight of the rows up to each value of a feature."""
        totals, below = self.weights.sum(axis=1), np.empty(len(self.values))
        for first, last in pairwise(self.starts):
            np.cumsum(totals[first:last], out=below[first:last])
        return below

    def feature(self, i: int) -> tuple[NDArray[np.float64], NDArray[Any]]:
        """Return the values and weights of one feature."""
        chosen = slice(self.starts[i], self.starts[i + 1])
        return self.values[chosen], self.weights[chosen]

    def without(self, group: int) -> ValueCounts:
        """Return the values that the rows of all other groups have, and the weight of each."""
        if not len(self.values):
            return self
        others = np.delete(self.weights, group, axis=1).sum(axis=1, keepdims=True)
        kept = others[:, 0] > 0
        starts = np.concatenate([[0], np.cumsum(kept)])[self.starts]
        return ValueCounts(self.values[kept], others[kept], starts)


def _find_starts(values: Sequence[NDArray[np.float64]]) -> NDArray[np.intp]:
    return np.cumsum([0, *map(len, values)])


@dataclass(frozen=True)
class RankedValues:
    """Each row's place among the distinct values of each feature.

    Sorting is done once, and every way to cut works on the ranks.
    """

    ranks: NDArray[np.int32]  # of shape (features, rows); -1 where the value is NaN
    distinct: list[NDArray[np.float64]]  # the distinct values of each feature, ascending

    @classmethod
    def of(cls, values: ArrayLike, *, n_threads: int = 1) -> RankedValues:
        """Rank the values of each feature, given with shape (features, rows).

        >>> RankedValues.of([[3.0, 1.0, float("nan"), 3.0]]).ranks
        array([[ 1,  0, -1,  1]], dtype=int32)
        """
        columns = np.ascontiguousarray(values, dtype=np.float64)
        ranks = np.empty(columns.shape, dtype=np.int32)
        return cls(ranks, _core.rank_values(columns, ranks, n_threads))

    def weights_of(
        self, feature: int, sample_weight: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return the summed weight of the rows at each distinct value of one feature."""
        ranks = self.ranks[feature]
        known = ranks >= 0
        weight = None if sample_weight is None else sample_weight[known]
        return np.bincount(ranks[known], weight, len(self.distinct[feature])).astype(np.float64)


def midpoints(values: NDArray[np.float64], cuts: NDArray[Any]) -> NDArray[np.float64]:
    """Return the midpoints between the distinct values r and r + 1 for each r in cuts.

    Where no number lies between the two, the lower one is the cut, as bins are closed on the right.
    """
    low, high = values[cuts], values[cuts + 1]
    middle = low / 2.0 + high / 2.0
    return np.where((low <= middle) & (middle < high), middle, low)


def cut_into_bins(
    values: NDArray[np.float64],
    cut_points: list[NDArray[np.float64]],
    missing_codes: ArrayLike,
    *,
    positions: ArrayLike | None = None,
    codes: NDArray[np.int32] | None = None,
    n_threads: int = 1,
) -> NDArray[np.int32]:
    """Return the bin of each value: the number of cut points below it, `missing_codes` for NaN.

    `values` has the shape (features, rows). Feature i is written to row ``positions[i]`` of
    `codes`, which may hold more features; by default a new array is made.

    >>> cut_into_bins(np.array([[1.0, 2.0, np.nan]]), [np.array([1.0])], [-1])
    array([[ 0,  1, -1]], dtype=int32)
    """
    if codes is None:
        codes = np.empty(values.shape, dtype=np.int32)
    if positions is None:
        positions = np.arange(len(values))
    _core.cut_values(
        np.ascontiguousarray(values, dtype=np.float64),
        [np.ascontiguousarray(points, dtype=np.float64) for points in cut_points],
        np.asarray(missing_codes, dtype=np.int32),
        np.asarray(positions, dtype=np.int64),
        codes,
        n_threads,
    )
    return codes
