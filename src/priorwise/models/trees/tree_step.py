"""The step of a single tree."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from priorwise.counts import CountTree
from priorwise.steps.trees import Trees
from priorwise.structure.trees import DecisionTree


def make_step(
    tree: DecisionTree,
    node_proba: NDArray[np.float64],
    bandwidth: NDArray[np.float64],
    *,
    inner_is_prior: bool = False,
) -> Trees:
    """Return the step of a tree of training rows, given what its nodes have.

    With `inner_is_prior` (`Smoother.inner_is_prior`) a row that stops at an inner node, since its
    value is missing, has the mean of the leaves below, weighed by their rows.
    """
    owner = tree.owner
    rows = node_proba[owner]
    if inner_is_prior:
        stops = np.flatnonzero(tree.trees.is_leaf)
        rows[stops] = average_leaves(tree.counts, node_proba)[owner[stops]]
    return Trees(
        tree.trees,
        np.ascontiguousarray(rows),
        1.0,
        False,
        owner,
        bandwidth[owner] if bandwidth.any() else np.empty(0),
        tree.counts.totals[owner],
    )


def average_leaves(counts: CountTree, node_proba: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of the leaves below each node, weighed by their rows; leaves have their own.

    >>> counts = CountTree.from_rows([[0, 1, 1]], [0, 1, 1], n_outcomes=2)
    >>> average_leaves(counts, np.array([[0.5, 0.5], [0.9, 0.1], [0.3, 0.7]]))
    array([[0.5, 0.5],
           [0.9, 0.1],
           [0.3, 0.7]])
    """
    parent = counts.parent
    is_leaf = np.bincount(parent[1:], minlength=counts.n_nodes) == 0
    total = np.where(is_leaf, counts.totals, 0.0)
    sums = node_proba * total[:, None]
    for first, last in reversed(list(pairwise(counts.level_start[1:]))):
        np.add.at(total, parent[first:last], total[first:last])
        np.add.at(sums, parent[first:last], sums[first:last])
    mean = node_proba.copy()
    np.divide(sums, total[:, None], out=mean, where=total[:, None] > 0.0)
    return mean
