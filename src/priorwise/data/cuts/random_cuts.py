"""Cut points drawn at random, so that members of an ensemble differ."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from priorwise.data.cuts.discretise import midpoints, nearest_boundary
from priorwise.data.cuts.entropy_cuts import entropy_cut_points
from priorwise.data.cuts.ranked import RankedValues


def draw_mdlp_cut_points(
    ranked: RankedValues,
    classes: NDArray[np.int32],
    n_classes: int,
    generator: np.random.Generator,
    sample_weight: NDArray[np.float64] | None = None,
    *,
    n_threads: int = 1,
) -> list[NDArray[np.float64]]:
    """Draw cut points as MDLP would choose them (thesis Algorithms 10 and 11).

    In each stretch of rows a cut is drawn with probability proportional to the part of its
    information gain above MDLP's threshold, and both sides are treated alike until no cut passes.
    Where none passes at the very start, one cut is drawn by the gain itself; a feature without
    any gain gets none.

    Parameters
    ----------
    ranked : RankedValues
        The features.
    classes : int32 array of shape (n_rows,)
        Codes of the class labels.
    n_classes : int
        Number of classes.
    generator : numpy.random.Generator
        Source of the draws.
    sample_weight : array of shape (n_rows,), optional
        How many rows each row counts for.
    n_threads : int, default=1
        Number of threads, over features. The result does not depend on it.

    Returns
    -------
    list of arrays
        Cut points of each feature, ascending.

    Examples
    --------
    >>> values = RankedValues.of([np.arange(40.0)])
    >>> y = (np.arange(40) > 25).astype(np.int32)
    >>> cuts = draw_mdlp_cut_points(values, y, 2, np.random.default_rng(0))
    >>> bool((cuts[0] == 25.5).any())
    True
    """
    seeds = generator.integers(0, 2**64, size=len(ranked.distinct), dtype=np.uint64)
    return entropy_cut_points(
        ranked,
        classes,
        n_classes,
        sample_weight,
        rule="random_mdl",
        seeds=seeds,
        n_threads=n_threads,
    )


class WeighedValues(Protocol):
    """Distinct values of each feature, and the weight of the rows that have them."""

    @property
    def distinct(self) -> list[NDArray[np.float64]]:
        """Return the distinct values of each feature, ascending."""

    def weights_of(self, feature: int) -> NDArray[np.float64]:
        """Return the weight of each distinct value of one feature."""


def draw_quantile_cut_points(
    ranked: WeighedValues,
    generator: np.random.Generator,
    *,
    min_bins: int = 4,
    max_bins: int = 8,
) -> list[NDArray[np.float64]]:
    """Draw cut points without looking at labels.

    For each feature the number of bins b is uniform in ``min_bins..max_bins``. The b - 1 cuts lie
    at the random quantiles ``(i + u_i) / (b - 1)`` with u uniform. Each is, with equal chance, a
    quantile of the rows or of the distinct values, which helps where a few values hold most rows,
    and is moved to the nearest midpoint of two neighbouring values.

    Parameters
    ----------
    ranked : RankedValues or another object with `distinct` and `weights_of`
        The features.
    generator : numpy.random.Generator
        Source of the draws.
    min_bins : int, default=4
        Least number of bins.
    max_bins : int, default=8
        Largest number of bins.

    Returns
    -------
    list of arrays
        Cut points of each feature, ascending.

    Examples
    --------
    >>> values = RankedValues.of([np.arange(100.0)])
    >>> cuts = draw_quantile_cut_points(values, np.random.default_rng(0))[0]
    >>> 1 <= len(cuts) <= 7
    True
    """
    if not 1 <= min_bins <= max_bins:
        raise ValueError(
            f"min_bins and max_bins must satisfy 1 <= min_bins <= max_bins, "
            f"got {min_bins} and {max_bins}"
        )
    drawn = []
    for i, values in enumerate(ranked.distinct):
        n_cuts = int(generator.integers(min_bins, max_bins + 1)) - 1
        quantiles = (np.arange(n_cuts) + generator.random(n_cuts)) / max(n_cuts, 1)
        by_rows = generator.random(n_cuts) < 0.5
        if len(values) < 2 or n_cuts == 0:
            drawn.append(np.zeros(0))
            continue
        below = np.cumsum(ranked.weights_of(i))
        places = np.arange(1.0, len(values) + 1.0)
        cuts = np.where(
            by_rows,
            nearest_boundary(below, quantiles * below[-1]),
            nearest_boundary(places, quantiles * len(values)),
        )
        drawn.append(midpoints(values, np.unique(cuts)))
    return drawn
