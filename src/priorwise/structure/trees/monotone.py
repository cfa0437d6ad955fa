"""Class probabilities of nodes that are monotone in some features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.counts.packed_trees import EQUAL_BIT, PackedTrees
from priorwise.structure.trees.decision_tree import ABOVE, BELOW, NUMERIC, DecisionTree


def bound_tree(
    tree: DecisionTree, proba: NDArray[Any], monotone: Sequence[int]
) -> NDArray[np.float64]:
    """Return probabilities of two classes at each node that are monotone (`bound_nodes`)."""
    parent, branch = tree.counts.parent, tree.counts.value
    side = np.where(branch == ABOVE, 1, np.where(branch == BELOW, -1, 0))
    numeric, feature = tree.kind[parent] == NUMERIC, tree.feature[parent]
    direction = np.where(numeric & (parent >= 0), np.array(monotone)[feature] * side, 0)
    return bound_nodes(proba, parent, direction)


def bound_forest(
    trees: PackedTrees, proba: NDArray[Any], monotone: Sequence[int]
) -> NDArray[np.float64]:
    """Return the same for packed trees."""
    parent, nodes = trees.find_parents(), trees.nodes
    start = np.repeat(trees.tree_start[:-1], np.diff(trees.tree_start))
    is_second = np.arange(len(parent)) - start > nodes["first"][parent]
    numeric, feature = (nodes["split"][parent] & EQUAL_BIT) == 0, nodes["split"][parent] >> 4
    side = np.where(is_second, 1, -1)
    direction = np.where(numeric & (parent >= 0), np.array(monotone)[feature] * side, 0)
    return bound_nodes(proba, parent, direction)


def bound_nodes(
    proba: NDArray[Any], parent: NDArray[Any], direction: NDArray[Any]
) -> NDArray[np.float64]:
    """Return probabilities (n_nodes, 2) that keep the order of siblings.

    The probability of the second class at a node of direction 1, and at all nodes below it, is not
    less than at its sibling of direction -1 and all nodes below that. Both are bounded by the
    middle between the siblings, after smoothing, which pulls nodes towards their ancestors and may
    change their order. `parent` is -1 at roots.

    >>> proba = np.array([[0.5, 0.5], [0.25, 0.75], [0.75, 0.25]])
    >>> bound_nodes(proba, np.array([-1, 0, 0]), np.array([0, -1, 1]))[:, 1]
    array([0.5, 0.5, 0.5])
    """
    n = len(proba)
    share, least, most = proba[:, 1].astype(np.float64), np.zeros(n), np.ones(n)
    in_level = np.zeros(n + 1, dtype=bool)
    level = np.flatnonzero(parent < 0)
    while True:
        in_level[level] = True
        children = np.flatnonzero(in_level[parent])
        in_level[level] = False
        if len(children) == 0:
            break
        above = parent[children]
        least[children], most[children] = least[above], most[above]
        share[children] = np.clip(share[children], least[children], most[children])
        low, high = (children[direction[children] == sign] for sign in (-1, 1))
        # A split by a number has one child below and one above, or one of them.
        _, i, j = np.intersect1d(parent[low], parent[high], True, return_indices=True)
        low, high = low[i], high[j]
        most[low] = least[high] = 0.5 * (share[low] + share[high])
        share[low] = np.minimum(share[low], most[low])
        share[high] = np.maximum(share[high], least[high])
        level = children
    return np.column_stack([1.0 - share, share])
