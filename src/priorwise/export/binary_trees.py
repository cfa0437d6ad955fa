"""Trees of any kind as the binary trees of a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.export.program import EQUAL, GREATER, NOT_AT_MOST, Trees
from priorwise.structure.trees import DecisionTree, PackedTrees
from priorwise.structure.trees.decision_tree import LEAF, NOMINAL, NUMERIC


class TreeBuilder:
    """Collects nodes and rows of leaves. A child is a node, or ~row of a leaf."""

    def __init__(self) -> None:
        self.nodes: list[list[float]] = []
        self.root: list[int] = []
        self.own: list[int] = []

    def add_node(self, feature: int, threshold: float, way: int, bandwidth: float = 0.0) -> int:
        """Add a node whose children are set later; return its number."""
        self.nodes.append([feature, threshold, way, 0, 0, bandwidth])
        return len(self.nodes) - 1

    def set_children(self, node: int, below: int, above: int) -> None:
        self.nodes[node][3:5] = below, above

    def add_search(self, feature: int, branches: Sequence[tuple[float, int]], other: int) -> int:
        """Add a search for a code among ascending (code, child); `other` is for all other codes.

        Returns the child that the search begins with.
        """
        # Intervals of codes, each with its child; a code's interval ends at the code.
        ends: list[float] = []
        children: list[int] = []
        for code, child in branches:
            if not ends or code > ends[-1] + 1:
                ends.append(code - 1)
                children.append(other)
            ends.append(code)
            children.append(child)
        return self._search(feature, ends, [*children, other], 0, len(ends))

    def _search(
        self, feature: int, ends: list[float], children: list[int], low: int, high: int
    ) -> int:
        if low == high:
            return children[low]
        middle = (low + high) // 2
        below = self._search(feature, ends, children, low, middle)
        above = self._search(feature, ends, children, middle + 1, high)
        if below == above:
            return below
        node = self.add_node(feature, ends[middle], GREATER)
        self.set_children(node, below, above)
        return node

    def build(self, values: NDArray[Any], scale: float, *, normalise: bool) -> Trees:
        """Return the trees with the rows of their leaves."""
        columns = np.array(self.nodes, dtype=np.float64).reshape(-1, 6).T
        feature, way, below, above = columns[[0, 2, 3, 4]].astype(np.int32)
        bandwidth = columns[5] if columns[5].any() else np.zeros(0)
        root = np.array(self.root, dtype=np.int32)
        return Trees(
            root, feature, columns[1], way, below, above, values, scale, normalise, bandwidth,
            np.array(self.own, dtype=np.int32),
        )  # fmt: skip


def add_tree(
    builder: TreeBuilder, tree: DecisionTree, bandwidth: NDArray[np.float64], first_row: int
) -> None:
    """Add a decision tree whose node i has row `first_row + i` of the values.

    A row may stop at a node that splits, so a child that is not there is a leaf with its row.
    """
    child_start, value = tree.counts.child_start.tolist(), tree.counts.value.tolist()
    number: list[int] = [0] * tree.n_nodes
    # Children come after their parents.
    for node in range(tree.n_nodes - 1, -1, -1):
        stop = ~(first_row + node)
        kind, feature = int(tree.kind[node]), int(tree.feature[node])
        children = {value[c]: number[c] for c in range(child_start[node], child_start[node + 1])}
        if kind == LEAF:
            number[node] = stop
        elif kind == NOMINAL:
            number[node] = builder.add_search(feature, sorted(children.items()), stop)
        elif kind == NUMERIC:
            threshold, below, above = tree.threshold[node], children[0], children.get(1, stop)
            missing = children.get(int(tree.missing_value[node]), stop)
            h = bandwidth[node] if np.isfinite(threshold) else 0.0
            way = NOT_AT_MOST if missing == above else GREATER
            number[node] = builder.add_node(feature, threshold, way, h)
            builder.set_children(number[node], below, above)
            if missing not in (below, above):
                split, number[node] = number[node], builder.add_node(feature, np.inf, NOT_AT_MOST)
                builder.set_children(number[node], split, missing)
        else:
            other, same = children.get(0, stop), children.get(1, stop)
            unknown = children.get(int(tree.missing_value[node]), stop)
            number[node] = builder.add_node(feature, tree.threshold[node], EQUAL)
            builder.set_children(number[node], other, same)
            if unknown != other:
                equal, number[node] = number[node], builder.add_node(feature, -0.5, GREATER)
                builder.set_children(number[node], unknown, equal)
        builder.own += [first_row + node] * (len(builder.nodes) - len(builder.own))
    builder.root.append(number[0])


def pack_trees(
    trees: PackedTrees,
    values: NDArray[np.float32],
    scale: float,
    *,
    normalise: bool,
    inner_rows: bool = False,
) -> Trees:
    """Return packed binary trees; if asked for, rows of inner nodes follow those of the leaves."""
    nodes, start = trees.nodes, trees.tree_start
    inner = (nodes["split"] & 15) != 0
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
