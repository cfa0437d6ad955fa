"""The step of a single tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from priorwise.models.trees.spread import TREE_FACTORS, TREE_TAILS, invert_rows_behind
from priorwise.steps.calibration import Calibration
from priorwise.steps.trees import Trees
from priorwise.structure.trees import DecisionTree


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
