"""Discretisers by name, for ``discretizer="mdlp"``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from priorwise.data.cuts.discretise import (
    Discretizer,
    EqualFrequencyDiscretizer,
    EqualWidthDiscretizer,
    KMeansDiscretizer,
)
from priorwise.data.cuts.entropy_cuts import MDLPDiscretizer, TreeDiscretizer
from priorwise.data.cuts.ranked import RankedValues

DISCRETIZERS: dict[str, Any] = {
    "mdlp": MDLPDiscretizer,
    "equal-width": EqualWidthDiscretizer,
    "equal-frequency": EqualFrequencyDiscretizer,
    "kmeans": KMeansDiscretizer,
    "tree": TreeDiscretizer,
}


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
) -> list[NDArray[np.float64]]:
    """Return the cut points that a discretiser, a name or a transformer, learns.

    `values` has the shape (n_features, n_rows); weights are above zero.
    """
    if len(values) == 0:
        return []
    learner = as_discretizer(discretizer, n_jobs=n_jobs)
    if isinstance(learner, Discretizer):
        return learner.fit_ranked(RankedValues.of(values), y, weight).cut_points_
    options = {} if weight is None else {"sample_weight": weight}
    return cut_points_of(learner.fit(values.T, y, **options))


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
