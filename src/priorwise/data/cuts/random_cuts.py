"""Cut points drawn at random, so that members of an ensemble differ."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from priorwise.data.cuts.discretise import nearest_boundary
from priorwise.data.cuts.entropy_cuts import entropy_cut_points
from priorwise.data.cuts.ranked import RankedValues, midpoints
from priorwise.data.cuts.value_counts import ValueCounts


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
    for i, (values, weights) in enumerate(zip(counts.values, counts.weights, strict=True)):
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
    drawn = []
    for values, weights in zip(counts.values, counts.weights, strict=True):
        n_cuts = int(generator.integers(min_bins, max_bins + 1)) - 1
        quantiles = (np.arange(n_cuts) + generator.random(n_cuts)) / max(n_cuts, 1)
        by_rows = generator.random(n_cuts) < 0.5
        if len(values) < 2 or n_cuts == 0:
            drawn.append(np.zeros(0))
            continue
        below = np.cumsum(weights.sum(axis=1), dtype=np.float64)
        places = np.arange(1.0, len(values) + 1.0)
        cuts = np.where(
            by_rows,
            nearest_boundary(below, quantiles * below[-1]),
            nearest_boundary(places, quantiles * len(values)),
        )
        drawn.append(midpoints(values, np.unique(cuts)))
    return drawn
