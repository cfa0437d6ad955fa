"""Cut points drawn at random, so that members of an ensemble differ."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from priorwise.data.cuts.entropy_cuts import entropy_cut_points
from priorwise.data.cuts.value_counts import RankedValues, ValueCounts, midpoints


def draw_mdlp_cut_points(
    counts: ValueCounts, generator: np.random.Generator
) -> list[NDArray[np.float64]]:
    """Draw cut points of each feature as MDLP would choose them (thesis Algorithms 10 and 11).

    In each stretch of rows a cut is drawn with probability proportional to the part of its
    information gain above MDLP's threshold, and both sides are treated alike until no cut passes.
    Where none passes at the very start, one cut is drawn by the gain itself; a feature without any
    gain gets none.
    """
    seeds = generator.integers(0, 2**64, size=counts.n_features, dtype=np.uint64)
    drawn = []
    for i in range(counts.n_features):
        values, weights = counts.feature(i)
        # Rows of equal value and class are one weighted row.
        rank, y = np.nonzero(weights)
        if len(rank) == 0:
            drawn.append(np.zeros(0))
            continue
        drawn += entropy_cut_points(
            RankedValues(rank.astype(np.int32)[None, :], [values]),
            y.astype(np.int32),
            weights.shape[1],
            weights[rank, y].astype(np.float64),
            rule="random_mdl",
            seeds=seeds[i : i + 1],
        )
    return drawn


def draw_quantile_cut_points(
    counts: ValueCounts,
    generator: np.random.Generator,
    *,
    min_bins: int = 4,
    max_bins: int = 8,
) -> list[NDArray[np.float64]]:
    """Draw cut points of each feature without looking at labels.

    For each feature the number of bins b is uniform in ``min_bins..max_bins``. The b - 1 cuts lie
    at the random quantiles ``(i + u_i) / (b - 1)`` with u uniform. Each is, with equal chance, a
    quantile of the rows or of the distinct values, which helps where a few values hold most rows,
    and is moved to the nearest midpoint of two neighbouring values.
    """
    if not 1 <= min_bins <= max_bins:
        raise ValueError(
            f"min_bins and max_bins must satisfy 1 <= min_bins <= max_bins, "
            f"got {min_bins} and {max_bins}"
        )
    n_cuts = np.zeros(counts.n_features, dtype=np.intp)
    shifts, coins = [np.empty(0)], [np.empty(0)]
    for i in range(counts.n_features):
        n_cuts[i] = generator.integers(min_bins, max_bins + 1) - 1
        shifts.append(generator.random(n_cuts[i]))
        coins.append(generator.random(n_cuts[i]))
    owner = np.repeat(np.arange(counts.n_features), n_cuts)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(n_cuts) - n_cuts, n_cuts)
    quantiles = (place + np.concatenate(shifts)) / np.maximum(n_cuts[owner], 1)
    by_rows = np.concatenate(coins) < 0.5
    # A feature with one value cannot be cut.
    kept = np.diff(counts.starts)[owner] >= 2
    owner, quantiles, by_rows = owner[kept], quantiles[kept], by_rows[kept]
    cuts = np.where(
        by_rows, _cut_rows(counts, owner, quantiles), _cut_values(counts, owner, quantiles)
    )
    cuts = np.unique(counts.starts[owner] + cuts)
    points, ends = midpoints(counts.values, cuts), np.searchsorted(cuts, counts.starts)
    return [points[first:last] for first, last in pairwise(ends)]


def _cut_rows(
    counts: ValueCounts, owner: NDArray[np.intp], quantiles: NDArray[np.float64]
) -> NDArray[np.intp]:
    """Return after which value of its feature (`owner`) each quantile of the rows lies."""
    starts, below = counts.starts, counts.below
    first, last = starts[owner], starts[owner + 1] - 1
    ideal = quantiles * below[last]
    above = np.empty(len(owner), dtype=np.intp)
    ends = np.searchsorted(owner, np.arange(counts.n_features + 1)).tolist()
    for (begin, end), (low, high) in zip(pairwise(ends), pairwise(starts.tolist()), strict=True):
        if begin < end:
            above[begin:end] = low + below[low : high - 1].searchsorted(ideal[begin:end])
    # The boundary nearest to the quantile; all the weight is no boundary between two values.
    above = np.minimum(above, last - 1)
    lower = np.maximum(above - 1, first)
    is_lower = np.abs(below[lower] - ideal) <= np.abs(below[above] - ideal)
    return np.where(is_lower, lower, above) - first


def _cut_values(
    counts: ValueCounts, owner: NDArray[np.intp], quantiles: NDArray[np.float64]
) -> NDArray[np.intp]:
    """Return after which value of its feature (`owner`) each quantile of the values lies.

    The boundary nearest to it, as of `nearest_boundary` with one row at each value.
    """
    n_values = np.diff(counts.starts)[owner]
    ideal = quantiles * n_values
    above = np.clip(np.ceil(ideal).astype(np.intp) - 1, 0, n_values - 2)
    lower = np.maximum(above - 1, 0)
    return np.where(np.abs(lower + 1.0 - ideal) <= np.abs(above + 1.0 - ideal), lower, above)
