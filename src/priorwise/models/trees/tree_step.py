"""The step of a single tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from priorwise.steps.trees import Trees
from priorwise.structure.trees import DecisionTree


def make_step(
    tree: DecisionTree, node_proba: NDArray[np.float64], bandwidth: NDArray[np.float64]
) -> Trees:
    """Return the step of a tree of training rows, given what its nodes have."""
    owner = tree.owner
    return Trees(
        tree.trees,
        np.ascontiguousarray(node_proba[owner]),
        1.0,
        False,
        owner,
        bandwidth[owner] if bandwidth.any() else np.empty(0),
        tree.counts.totals[owner],
    )
