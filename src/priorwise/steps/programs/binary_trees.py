"""Packed trees as the binary trees of a program."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.counts.packed_trees import PackedTrees
from priorwise.steps.programs.program import EQUAL, GREATER, NOT_AT_MOST, Trees


def pack_trees(
    trees: PackedTrees,
    values: NDArray[Any],
    scale: float,
    *,
    normalise: bool,
    inner_rows: bool = False,
) -> Trees:
    """Return packed binary trees; if asked for, rows of inner nodes follow those of the leaves."""
    nodes, start = trees.nodes, trees.tree_start
    inner = ~trees.is_leaf
    number = np.where(inner, np.cumsum(inner) - 1, ~(np.cumsum(~inner) - 1)).astype(np.int32)
    first = (np.repeat(start[:-1], np.diff(start)) + nodes["first"])[inner]
    split = nodes["split"][inner]
    way = np.where(split & 2, EQUAL, np.where(split & 4, NOT_AT_MOST, GREATER))
    rows = values[~inner]
    own = np.arange(len(rows), len(values) if inner_rows else len(rows), dtype=np.int32)
    return Trees(
        number[start[:-1]],
        (split >> 4).astype(np.int32),
        nodes["threshold"][inner].copy(),
        way.astype(np.int32),
        number[first],
        number[first + 1],
        np.concatenate([rows, values[inner]]) if inner_rows else rows,
        scale,
        normalise,
        np.zeros(0),
        own,
    )
