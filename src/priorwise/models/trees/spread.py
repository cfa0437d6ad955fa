"""How far the probabilities of trees may be from the truth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from priorwise.models.rows_behind import count_rows_behind
from priorwise.steps.step import Calibration
from priorwise.steps.trees import Trees
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
"""How variances become intervals (`Calibration`). Fitted to generated tables; the tails of a tree
were set by hand."""


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


def make_step(
    tree: DecisionTree,
    node_proba: NDArray[np.float64],
    bandwidth: NDArray[np.float64],
    teacher: str | None,
    n_rows: float,
) -> Trees:
    """Return the step of a tree of training rows, given what its nodes have."""
    owner, totals = tree.owner, tree.counts.totals
    return Trees(
        Calibration.of(TREE_FACTORS, TREE_TAILS, n_rows),
        tree.trees,
        np.ascontiguousarray(node_proba[owner]),
        1.0,
        False,
        owner,
        bandwidth[owner] if bandwidth.any() else np.empty(0),
        totals[owner],
        invert_rows_behind(tree, node_proba, teacher)[owner],
    )
