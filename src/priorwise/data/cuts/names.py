"""Discretisers by name, for ``discretizer="mdlp"``, one that draws cuts, one that cuts nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from priorwise import _core
from priorwise.common.estimator import Estimator
from priorwise.data.columns import RankedValues, ValueCounts, midpoints
from priorwise.data.cuts.discretise import (
    Discretizer,
    EqualFrequencyDiscretizer,
    EqualWidthDiscretizer,
    KMeansDiscretizer,
)
from priorwise.data.cuts.entropy_cuts import MDLPDiscretizer, TreeDiscretizer, entropy_cut_points

DISCRETIZERS: dict[str, Any] = {
    "mdlp": MDLPDiscretizer,
    "equal-width": EqualWidthDiscretizer,
    "equal-frequency": EqualFrequencyDiscretizer,
    "kmeans": KMeansDiscretizer,
    "tree": TreeDiscretizer,
}

MAX_SEPARATE_RANKS = 5
"""Ordered categories of at most this many values have a bin for each: discretisers lose what small
tables say of them. Neighbours among more values share bins, or most contexts would have few rows.
"""


def as_discretizer(discretizer: Any, *, n_jobs: int | None = None) -> Any:
    """Return the discretiser of that name, with `n_jobs` threads, or the copy of a transformer."""
    if not isinstance(discretizer, str):
        return clone(discretizer)
    if discretizer not in DISCRETIZERS:
        names = ", ".join(map(repr, DISCRETIZERS))
        raise ValueError(
            f"discretizer must be one of {names} or a transformer, got {discretizer!r}"
        )
    named = DISCRETIZERS[discretizer]()
    return named.set_params(n_jobs=n_jobs) if hasattr(named, "n_jobs") else named


def learn_cut_points(
    discretizer: Any,
    values: NDArray[np.float64],
    y: Any = None,
    weight: NDArray[np.float64] | None = None,
    *,
    n_jobs: int | None = None,
    ordered: Sequence[int] = (),
) -> list[NDArray[np.float64]]:
    """Return the cut points that a discretiser, a name or a transformer, learns.

    `values` has the shape (n_features, n_rows); weights are above zero. The features `ordered` are
    ranks of ordered categories; few of these are not discretised (`separate_ranks`).
    """
    if len(values) == 0:
        return []
    learner = as_discretizer(discretizer, n_jobs=n_jobs)
    if isinstance(learner, Discretizer):
        points = learner.fit_ranked(RankedValues.of(values), y, weight).cut_points_
    else:
        options = {} if weight is None else {"sample_weight": weight}
        points = cut_points_of(learner.fit(values.T, y, **options))
    for i in ordered:
        points[i] = separate_ranks(np.unique(values[i][~np.isnan(values[i])]), points[i])
    return points


def separate_ranks(
    ranks: NDArray[np.float64], cut_points: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the cut points of distinct ranks: between all of them if they are few, else as given.

    >>> separate_ranks(np.array([0.0, 1.0, 3.0]), np.empty(0))
    array([0.5, 2. ])
    """
    return 0.5 * (ranks[:-1] + ranks[1:]) if len(ranks) <= MAX_SEPARATE_RANKS else cut_points


def cut_points_of(discretizer: Any) -> list[NDArray[np.float64]]:
    """Return the cut points that a fitted discretiser has learnt, one array for each feature."""
    if hasattr(discretizer, "cut_points_"):
        return [np.ascontiguousarray(cuts, np.float64) for cuts in discretizer.cut_points_]
    if hasattr(discretizer, "bin_edges_"):
        # Closed on the left: the last number below an edge is the cut with the same bins.
        return [np.nextafter(edges[1:-1], -np.inf) for edges in discretizer.bin_edges_]
    raise TypeError(
        "discretizer must learn cut_points_ or bin_edges_, "
        f"got {type(discretizer).__name__} which learns neither"
    )


class WholeRange(Estimator):
    """A discretiser that cuts nothing: for models that take numbers as they are."""

    learnt: ClassVar[Mapping[str, Any]] = {"cut_points_": list}

    def fit(self, X: NDArray[np.float64], y: Any = None, sample_weight: Any = None) -> Self:
        """Learn that no feature has cut points."""
        self.cut_points_ = [np.empty(0) for _ in range(X.shape[1])]
        return self


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
    cuts = np.unique(
        _core.nearest_boundaries(
            counts.below, counts.starts, owner[kept], quantiles[kept], by_rows[kept].view(np.uint8)
        )
    )
    points, ends = midpoints(counts.values, cuts), np.searchsorted(cuts, counts.starts)
    return [points[first:last] for first, last in pairwise(ends)]
