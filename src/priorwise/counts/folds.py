"""Folds and samples of rows: a row is one draw, whatever its weight."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def deal_into_folds(
    y: NDArray[np.int32],
    n_folds: int,
    generator: np.random.Generator,
    group: NDArray[np.intp] | None = None,
) -> NDArray[np.intp]:
    """Return a fold for each row; the rows of each class are spread evenly over the folds.

    Rows of the same `group` are in the same fold: groups are dealt by the class of most of their
    rows and by their size.

    >>> np.bincount(deal_into_folds(np.zeros(10, np.int32), 5, np.random.default_rng(0)))
    array([2, 2, 2, 2, 2])
    """
    if group is None:
        shuffled = generator.permutation(len(y))
        by_class = shuffled[np.argsort(y[shuffled], kind="stable")]
        folds = np.empty(len(y), dtype=np.intp)
        folds[by_class] = np.arange(len(y)) % n_folds
        return folds
    number = number_groups(group)
    size = np.bincount(number)
    n_classes = int(y.max(initial=0)) + 1
    counts = np.bincount(number * n_classes + y, minlength=len(size) * n_classes)
    main_class = counts.reshape(len(size), n_classes).argmax(axis=1)
    shuffled = generator.permutation(len(size))
    dealt = shuffled[np.lexsort((-size[shuffled], main_class[shuffled]))]
    fold_of_group = np.empty(len(size), dtype=np.intp)
    fold_of_group[dealt] = np.arange(len(size)) % n_folds
    return fold_of_group[number]


def number_groups(group: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the groups of rows numbered from zero in the order of their first rows.

    >>> number_groups(np.array([7, 2, 7, 3])).tolist()
    [0, 1, 0, 2]
    """
    _, first, number = np.unique(group, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[number]


def draw_by_group(
    group: NDArray[np.intp] | None, n_rows: int, generator: np.random.Generator
) -> NDArray[np.float64]:
    """Return a uniform random number for each row, the same for the rows of a group."""
    if group is None:
        return generator.random(n_rows)
    return generator.random(int(group.max()) + 1)[group]


def draw_rows(
    n_rows: int,
    weight: NDArray[np.float64] | None,
    n_drawn: int,
    generator: np.random.Generator,
    group: NDArray[np.intp] | None = None,
) -> tuple[NDArray[np.intp], NDArray[np.float64] | None]:
    """Draw rows without replacement, with chances in proportion to their weights.

    Returns the rows in ascending order, and their weights to learn with, of the same mean as those
    of all rows: rows drawn in proportion to their weights count alike, a row so heavy that it is
    drawn for certain counts more. Weights are above zero, None for ones. With groups, whole groups
    are drawn with equal chances, as long as there is room for another, and rows keep their weights.
    """
    if n_rows <= n_drawn:
        return np.arange(n_rows), weight
    if group is not None:
        order = generator.permutation(int(group.max()) + 1)
        n_together = np.cumsum(np.bincount(group)[order])
        n_groups = max(1, int(np.searchsorted(n_together, n_drawn, side="right")))
        rows = np.flatnonzero(np.isin(group, order[:n_groups]))
        return rows, None if weight is None else weight[rows]
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
