"""Counts of classes at the leaves of trees, from which the rows of all their nodes follow."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from priorwise.counts.packed_trees import PackedTrees
from priorwise.steps.programs.program import Floats, LeafCounts
from priorwise.steps.tree_paths import list_levels

MAX_DIFFERENCE = 1e-10
"""Largest change of a probability by rows that are computed from counts."""


def find_leaf_counts(
    trees: PackedTrees, rows: NDArray[np.float32], strength: float, scale: float
) -> LeafCounts | None:
    """Return the counts of leaves if the rows of all nodes follow from them.

    A node has the row p = (n + c p_parent) / (N + c), a root (n + 1 / n_classes) / (N + 1), both
    rounded to 32 bits.
    """
    counts = trees.unsmooth(rows, strength)
    if not np.array_equal(np.round(counts), counts) or counts.max(initial=0.0) >= 2**31:
        return None
    smoothed = _smooth(trees, counts, strength).astype(np.float32).astype(np.float64)
    difference = np.abs(smoothed - rows).max(axis=1)
    if np.maximum.reduceat(difference, trees.tree_start[:-1]).sum() * scale > MAX_DIFFERENCE:
        return None
    leaves = counts[trees.is_leaf].astype(np.int32)
    row, kind = np.nonzero(leaves)
    n_kinds = np.bincount(row, minlength=len(leaves)).astype(np.int32)
    return LeafCounts(strength, n_kinds, kind.astype(np.int32), leaves[row, kind])


def _smooth(trees: PackedTrees, counts: Floats, strength: float) -> Floats:
    parent, total = trees.find_parents(), counts.sum(axis=1, keepdims=True)
    # Right for the roots, the first level; the others follow from those above.
    p = (counts + 1.0 / counts.shape[1]) / (total + 1.0)
    for level in list(list_levels(parent))[1:]:
        above = strength * p[parent[level]]
        p[level] = (counts[level] + above) / (total[level] + strength)
    return p
