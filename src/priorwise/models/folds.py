"""Folds and samples of rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def deal_into_folds(
    y: NDArray[np.int32], n_folds: int, generator: np.random.Generator
) -> NDArray[np.intp]:
    """Return a fold for each row; the rows of each class are spread evenly over the folds.

    >>> np.bincount(deal_into_folds(np.zeros(10, np.int32), 5, np.random.default_rng(0)))
    array([2, 2, 2, 2, 2])
    """
    shuffled = generator.permutation(len(y))
    by_class = shuffled[np.argsort(y[shuffled], kind="stable")]
    folds = np.empty(len(y), dtype=np.intp)
    folds[by_class] = np.arange(len(y)) % n_folds
    return folds


def draw_rows(
    n_rows: int,
    weight: NDArray[np.float64] | None,
    n_drawn: int,
    generator: np.random.Generator,
) -> tuple[NDArray[np.intp], NDArray[np.float64] | None]:
    """Draw rows without replacement, with chances in proportion to their weights.

    Returns the rows in ascending order, and their weights to learn with, of the same mean as those
    of all rows: rows drawn in proportion to their weights count alike, a row so heavy that it is
    drawn for certain counts more. Weights are above zero, None for ones.
    """
    if n_rows <= n_drawn:
        return np.arange(n_rows), weight
    if weight is None:
        return np.sort(generator.choice(n_rows, n_drawn, replace=False)), None
    chance = _draw_chances(weight, n_drawn)
    # Systematic sampling in random order: rows lie side by side on a line, each as long as its
    # chance; points at distance one, which is no less than any row is long, choose the rows.
    order = generator.permutation(n_rows)
    ends = np.cumsum(chance[order])
    points = (generator.random() + np.arange(n_drawn)) * (ends[-1] / n_drawn)
    rows = np.unique(order[np.minimum(np.searchsorted(ends, points, side="right"), n_rows - 1)])
    drawn_weight = weight[rows] / chance[rows]
    return rows, drawn_weight * (weight.mean() / drawn_weight.mean())


def _draw_chances(weight: NDArray[np.float64], n_drawn: int) -> NDArray[np.float64]:
    """Return min(1, c * weight) with the c that makes the sum `n_drawn`."""
    certain = np.zeros(len(weight), dtype=bool)
    while True:
        n_left = n_drawn - int(certain.sum())
        chance = np.where(certain, 1.0, weight * (n_left / weight[~certain].sum()))
        above = chance > 1.0
        if not above.any():
            return chance
        certain |= above
