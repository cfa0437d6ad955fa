"""Counts of classes at the leaves of trees, from which the rows of all their nodes follow."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.steps.programs.program import Floats, Ints, LeafCounts, Trees

MAX_DIFFERENCE = 1e-10
"""Largest change of a probability by rows that are computed from counts."""


def find_leaf_counts(
    trees: Trees, counts: Floats, strength: float, inner_values: NDArray[Any]
) -> LeafCounts | None:
    """Return the counts of leaves (n_leaves, n_classes) if the rows of nodes follow from them.

    A node has the row p = (n + c p_parent) / (N + c), a root (n + 1 / n_classes) / (N + 1), both
    rounded to 32 bits. The rows of leaves are the first of `trees.values`.
    """
    whole = np.round(counts)
    if not np.array_equal(whole, counts) or counts.max(initial=0.0) >= 2**31:
        return None
    smoothed = _smooth(trees, whole, strength)
    if smoothed is None:
        return None
    inner, leaves, tree_of_inner, tree_of_leaf = smoothed
    largest = np.zeros(len(trees.root))
    np.maximum.at(largest, tree_of_leaf, _differ(leaves, trees.values[: len(leaves)]))
    np.maximum.at(largest, tree_of_inner, _differ(inner, inner_values))
    if largest.sum() * trees.scale > MAX_DIFFERENCE:
        return None
    row, kind = np.nonzero(whole)
    return LeafCounts(
        strength,
        np.bincount(row, minlength=len(counts)).astype(np.int32),
        kind.astype(np.int32),
        whole[row, kind].astype(np.int32),
    )


def _differ(rows: Floats, values: NDArray[Any]) -> Floats:
    step = rows.astype(np.float32).astype(np.float64) - values
    return np.asarray(np.abs(step).max(axis=1, initial=0.0))


def _smooth(
    trees: Trees, counts: Floats, strength: float
) -> tuple[Floats, Floats, Ints, Ints] | None:
    """Return the rows of inner nodes and of leaves, and the tree of each; None if one has two."""
    n_inner, (n_leaves, n_classes) = len(trees.feature), counts.shape
    # Leaves follow inner nodes in these arrays, so that ~row is a place from the end.
    sums = np.concatenate([np.zeros((n_inner, n_classes)), counts[::-1]])
    tree = np.full(n_inner + n_leaves, -1, dtype=np.int32)
    tree[trees.root] = np.arange(len(trees.root))
    levels, level = [], trees.root[trees.root >= 0]
    n_met = len(trees.root)
    while len(level):
        levels.append(level)
        children = np.concatenate([trees.below[level], trees.above[level]])
        tree[children] = np.tile(tree[level], 2)
        n_met += len(children)
        level = children[children >= 0]
    if n_met != len(tree) or (tree < 0).any():
        return None
    for level in reversed(levels):
        sums[level] = sums[trees.below[level]] + sums[trees.above[level]]
    total = sums.sum(axis=1, keepdims=True)
    p = np.empty_like(sums)
    p[trees.root] = (sums[trees.root] + 1.0 / n_classes) / (total[trees.root] + 1.0)
    for level in levels:
        for child in (trees.below[level], trees.above[level]):
            p[child] = (sums[child] + strength * p[level]) / (total[child] + strength)
    return p[:n_inner], p[n_inner:][::-1], tree[:n_inner], tree[n_inner:][::-1]
