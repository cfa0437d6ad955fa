"""Which splits of a decision tree to keep."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.structure.trees.decision_tree import DecisionTree


def reduced_error_splits(
    tree: DecisionTree, leaf: NDArray[np.int32], outcome: NDArray[np.int32], weight: Any = None
) -> NDArray[np.bool_]:
    """Splits that reduced-error pruning keeps (Quinlan 1987).

    From the leaves up, a split goes where the node's majority class makes no more errors than
    the subtree on rows that did not grow the tree, given by the leaf each one reaches.
    """
    counts = tree.counts
    held = tree.recount(leaf, outcome, weight).counts
    held_rows = held.count_rows()
    majority = counts.count_rows().argmax(axis=1)
    as_leaf = held_rows.sum(axis=1) - held_rows[np.arange(counts.n_nodes), majority]
    below = np.zeros(counts.n_nodes)
    splits = np.zeros(counts.n_nodes, dtype=bool)
    for first, last in zip(counts.level_start[-2::-1], counts.level_start[:0:-1], strict=True):
        level = slice(first, last)
        splits[level] = ~tree.is_leaf[level] & (below[level] < as_leaf[level])
        errors = np.where(splits[level], below[level], as_leaf[level])
        if first > 0:
            np.add.at(below, counts.parent[level], errors)
    return splits


def weakest_links(tree: DecisionTree) -> NDArray[np.float64]:
    """The complexity at which cost-complexity pruning cuts each split (Breiman et al. 1984).

    With R the squared error of frequencies on the rows of the tree, as a share of all rows, the
    weakest split is that of the least (R_node - R_subtree) / (leaves - 1); it is cut at that
    price, with all below it, and the next one is sought. Pruning at price alpha keeps the splits
    whose number is above alpha. Leaves have -inf.
    """
    counts = tree.counts
    totals = counts.totals
    squares = np.add.reduceat(np.append(counts.counts**2, 0.0), counts.row_start[:-1])
    squares[np.diff(counts.row_start) == 0] = 0.0
    error = (totals - squares / np.maximum(totals, 1e-300)) / max(totals[0], 1e-300)
    below, n_leaves = np.where(tree.is_leaf, error, 0.0), tree.is_leaf.astype(np.int64)
    for node in range(counts.n_nodes - 1, 0, -1):
        below[counts.parent[node]] += below[node]
        n_leaves[counts.parent[node]] += n_leaves[node]

    def link(node: int) -> float:
        return max(0.0, float(error[node] - below[node])) / max(1, int(n_leaves[node]) - 1)

    price = np.full(counts.n_nodes, -np.inf)
    links = [(link(int(node)), int(node)) for node in np.flatnonzero(~tree.is_leaf)]
    heapify(links)
    cut = tree.is_leaf.copy()
    current = 0.0
    while links:
        value, node = heappop(links)
        if cut[node] or value != link(node):
            continue  # an entry that its subtree has outlived
        current = max(current, value)
        gone_error, gone_leaves = error[node] - below[node], n_leaves[node] - 1
        _cut_below(tree, node, cut, price, current)
        below[node], n_leaves[node] = error[node], 1
        above = counts.parent[node]
        while above >= 0:
            below[above] += gone_error
            n_leaves[above] -= gone_leaves
            heappush(links, (link(int(above)), int(above)))
            above = counts.parent[above]
    return price


def _cut_below(
    tree: DecisionTree,
    node: int,
    cut: NDArray[np.bool_],
    price: NDArray[np.float64],
    current: float,
) -> None:
    first = tree.counts.child_start
    stack = [node]
    while stack:
        top = stack.pop()
        if cut[top]:
            continue
        cut[top] = True
        price[top] = current
        stack.extend(range(first[top], first[top + 1]))
