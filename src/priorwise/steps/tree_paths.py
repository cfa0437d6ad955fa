"""Sums over the paths from the roots of packed trees to their nodes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


def list_levels(parent: Places) -> Iterator[Places]:
    """Yield the nodes of each level of all trees, the roots first."""
    depth, above = np.zeros(len(parent)), parent.copy()
    depth[parent >= 0] = 1.0
    while len(inner := np.flatnonzero(above >= 0)):
        # Each pass doubles the part of the path that a node has summed.
        depth[inner] += depth[above[inner]]
        above[inner] = above[above[inner]]
    order = np.argsort(depth, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(depth[order])) + 1)


def sum_leaves(parent: Places, leaf_rows: Floats) -> Floats:
    """Return the rows of each node, given those of the leaves: inner nodes have what is below."""
    is_leaf = np.ones(len(parent), dtype=bool)
    is_leaf[parent[parent >= 0]] = False
    rows = np.where(is_leaf, leaf_rows, 0.0)
    for nodes in list(list_levels(parent))[:0:-1]:
        np.add.at(rows, parent[nodes], rows[nodes])
    return rows


def sum_paths(parent: Places, steps: Floats) -> Floats:
    """Return the sums of rows of numbers over the path from below the root to each node."""
    sums = np.where(parent[:, None] < 0, 0.0, steps)
    for nodes in list(list_levels(parent))[1:]:
        sums[nodes] += sums[parent[nodes]]
    return sums


def sum_changes(rows: Floats, parent: Places, counts: NDArray[np.bool_]) -> Floats:
    """Return the changes of rows of numbers on the path to each node at splits that count."""
    above = np.maximum(parent, 0)
    steps = np.where(counts[above][:, None], rows - rows[above], 0.0)
    return sum_paths(parent, steps)
