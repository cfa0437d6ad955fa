"""Numeric features as ranks among their distinct values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priorwise import _core


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
