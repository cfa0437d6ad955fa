"""How far the probabilities of trees may be from the truth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from priorwise.models.intervals import dirichlet_spread
from priorwise.models.rows_behind import count_rows_behind
from priorwise.structure.trees import DecisionTree

MIN_ROWS_BEHIND = 3.0
"""Rows of the nodes that say what leaves of a tree that imitates a forest are worth."""

FOREST_FACTORS = {
    "constant": -0.53,
    "rows": -0.18,
    "classes": -1.08,
    "gini": 0.63,
    "leaves": 0.21,
    "between": 0.42,
}
FOREST_TAILS = (0.59, 0.28)
BOOSTING_FACTORS = {
    "constant": 0.21,
    "rows": -0.43,
    "classes": -0.77,
    "gini": 0.3,
    "between": 0.4,
}
BOOSTING_TAILS = (0.31, 0.32)
TREE_FACTORS = {"constant": 0.73, "rows": -0.18, "classes": -0.5, "gini": 0.35, "path": 0.6}
TREE_TAILS = (0.2, 0.5)
"""Logarithms of constants, and exponents, of `combine_parts`; and factors of heavy tails. Fitted to
generated tables; the tails of a tree were set by hand."""


def forest_parts(
    proba: NDArray[np.float64], squares: NDArray[np.float64], inverse: NDArray[np.float64]
) -> dict[str, NDArray[np.float64]]:
    """Return what the variance of the scores of a mean of trees is made of.

    `squares` are the means of the trees' squared probabilities, `inverse` that of one over the rows
    of the leaves. "between" is how much the trees differ, "leaves" how few rows their leaves have.
    """
    between = np.maximum(squares - proba * proba, 0.0).sum(axis=1)
    share = between / np.maximum((proba * (1.0 - proba)).sum(axis=1), 1e-12)
    return {
        "leaves": dirichlet_spread(proba, inverse),
        "between": dirichlet_spread(proba, np.clip(share, 1e-6, 1.0)),
    }


def invert_rows_behind(
    tree: DecisionTree, node_proba: NDArray[np.float64], teacher: str | None
) -> NDArray[np.float64]:
    """Return one over the rows that the estimate of each node of a tree is worth.

    A leaf of a tree that imitates a forest may hold no row: it counts as the nearest node above
    with `MIN_ROWS_BEHIND` rows.
    """
    inverse, children = count_rows_behind(tree.counts, node_proba)
    if teacher is not None:
        return np.asarray(inverse[tree.large_ancestors(MIN_ROWS_BEHIND)])
    return np.where(tree.is_leaf, inverse, inverse + children)


def sum_node_rows(parent: NDArray[np.int64], leaf_rows: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return sums over the path from below the root to each node, of the rows of nodes and of 1.

    `parent` is -1 at roots. `leaf_rows` may be zero at inner nodes: theirs are those below them.
    """
    depth, above = np.zeros(len(parent)), parent.copy()
    depth[parent >= 0] = 1.0
    while len(inner := np.flatnonzero(above >= 0)):
        # Each pass doubles the part of the path that a node has summed.
        depth[inner] += depth[above[inner]]
        above[inner] = above[above[inner]]
    rows, order = leaf_rows.astype(np.float64), np.argsort(depth, kind="stable")
    levels = np.split(order, np.flatnonzero(np.diff(depth[order])) + 1)
    is_leaf = np.ones(len(parent), dtype=bool)
    is_leaf[parent[parent >= 0]] = False
    rows[~is_leaf] = 0.0
    for nodes in levels[:0:-1]:
        np.add.at(rows, parent[nodes], rows[nodes])
    sums = np.where(parent < 0, 0.0, rows)
    for nodes in levels[1:]:
        sums[nodes] += sums[parent[nodes]]
    return np.column_stack([sums, depth]).astype(np.float32)
