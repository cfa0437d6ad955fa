"""Numeric features as ranks among their distinct values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priorwise import _core


@dataclass(frozen=True)
class RankedValues:
    """Each row's place among the distinct values of each feature.

    Sorting is done once, and every way to cut works on the ranks.

    Attributes
    ----------
    ranks : int32 array of shape (n_features, n_rows)
        -1 where the value is NaN.
    distinct : list of arrays
        The distinct values of each feature, ascending.
    """

    ranks: NDArray[np.int32]
    distinct: list[NDArray[np.float64]]

    @classmethod
    def of(cls, values: ArrayLike, *, n_threads: int = 1) -> RankedValues:
        """Rank the values of each feature.

        Parameters
        ----------
        values : array-like of shape (n_features, n_rows)
            Numbers; NaN is missing.
        n_threads : int, default=1
            Number of threads, over features.

        Returns
        -------
        RankedValues
            The ranks.

        Examples
        --------
        >>> RankedValues.of([[3.0, 1.0, float("nan"), 3.0]]).ranks
        array([[ 1,  0, -1,  1]], dtype=int32)
        """
        columns = np.ascontiguousarray(values, dtype=np.float64)
        ranks = np.empty(columns.shape, dtype=np.int32)
        return cls(ranks, _core.rank_values(columns, ranks, n_threads))

    def weights_of(
        self, feature: int, sample_weight: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return the weight of each distinct value of one feature.

        Parameters
        ----------
        feature : int
            Number of the feature.
        sample_weight : array of shape (n_rows,), optional
            Weights of the rows; one each by default.

        Returns
        -------
        array of shape (n_distinct,)
            Summed weights.
        """
        ranks = self.ranks[feature]
        known = ranks >= 0
        weight = None if sample_weight is None else sample_weight[known]
        return np.bincount(ranks[known], weight, len(self.distinct[feature])).astype(np.float64)

    def cut_points(self, feature: int, cuts: ArrayLike) -> NDArray[np.float64]:
        """Return the midpoints between the distinct values r and r + 1 for each r in cuts.

        Where no number lies between the two, the lower one is the cut, as bins are closed on the
        right.

        Parameters
        ----------
        feature : int
            Number of the feature.
        cuts : array-like of int
            The ranks below the cuts.

        Returns
        -------
        array of shape (n_cuts,)
            Cut points.
        """
        values = self.distinct[feature]
        below = np.asarray(cuts, dtype=np.int64)
        middle = values[below] / 2.0 + values[below + 1] / 2.0
        inside = (values[below] <= middle) & (middle < values[below + 1])
        return np.where(inside, middle, values[below])


def cut_into_bins(
    values: NDArray[np.float64],
    cut_points: list[NDArray[np.float64]],
    missing_codes: ArrayLike,
    *,
    positions: ArrayLike | None = None,
    codes: NDArray[np.int32] | None = None,
    n_threads: int = 1,
) -> NDArray[np.int32]:
    """Return the bin of each value: the number of cut points below it.

    Parameters
    ----------
    values : float64 array of shape (n_features, n_rows)
        Numbers; NaN is missing.
    cut_points : list of ascending float64 arrays
        Cut points of each feature.
    missing_codes : array of shape (n_features,)
        The code of NaN for each feature.
    positions : array of shape (n_features,), optional
        Row of `codes` that each feature is written to.
    codes : int32 array of shape (n_codes, n_rows), optional
        Array to write to, which may hold more features. By default a new one is made.
    n_threads : int, default=1
        Number of threads, over blocks of rows.

    Returns
    -------
    int32 array
        `codes`.

    Examples
    --------
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
