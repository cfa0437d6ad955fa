"""The trees of a forest one by one, with the counts of classes at their nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from priorwise.common.records import Record, numbers, part
from priorwise.counts import CountTree
from priorwise.counts.packed_trees import PackedTrees, find_first_nodes
from priorwise.structure.trees.decision_tree import DecisionTree


@dataclass(frozen=True, eq=False)
class CountedTrees(Record):
    """What the packed nodes of a forest of decision trees do not say.

    `counts` are those of each tree. Nodes of decision trees are numbered through all trees:
    `owner` is the one that each packed node belongs to, `gain` that of each (see `DecisionTree`).
    """

    counts: list[CountTree] = part(CountTree, several=True)
    owner: NDArray[np.int32] = numbers("n_packed", dtype=np.int32, least=0)
    gain: NDArray[np.float64] = numbers("n_nodes")

    def check_rules(self) -> None:
        n_nodes = int(self.node_start[-1])
        if len(self.gain) != n_nodes or not np.array_equal(
            np.unique(self.owner), np.arange(n_nodes)
        ):
            raise ValueError("every node must have a binary node and a gain")

    @classmethod
    def join(cls, trees: Sequence[DecisionTree]) -> tuple[PackedTrees, CountedTrees]:
        """Make a forest of decision trees."""
        start = np.cumsum([0, *(len(tree.owner) for tree in trees)])
        first = np.cumsum([0, *(tree.n_nodes for tree in trees)]).astype(np.int32)
        owner = [tree.owner + node for tree, node in zip(trees, first[:-1], strict=True)]
        nodes = np.concatenate([tree.trees.node_bytes for tree in trees])
        gain = np.concatenate([tree.gain for tree in trees])
        return PackedTrees(start, nodes), cls(
            [tree.counts for tree in trees], np.concatenate(owner), gain
        )

    def split(self, forest: PackedTrees) -> list[DecisionTree]:
        """The trees of the forest one by one."""
        return [
            DecisionTree(
                _take_tree(forest, start, stop), self.owner[start:stop] - np.int32(first), counts,
                self.gain[first:last],
            )
            for (start, stop), (first, last), counts in zip(
                pairwise(forest.tree_start), pairwise(self.node_start), self.counts, strict=True
            )
        ]  # fmt: skip

    @cached_property
    def node_start(self) -> NDArray[np.int64]:
        """The first node of each decision tree, and one past the last."""
        return np.cumsum([0, *(tree.n_nodes for tree in self.counts)])

    @cached_property
    def first(self) -> NDArray[np.intp]:
        """The first packed node of each node."""
        return find_first_nodes(self.owner, len(self.gain))

    def find_parents(self) -> NDArray[np.int64]:
        """The parent of each node; -1 at the roots."""
        parents = [
            np.where(tree.parent < 0, -1, tree.parent + start)
            for tree, start in zip(self.counts, self.node_start[:-1], strict=True)
        ]
        return np.concatenate(parents)


def split_trees(forest: PackedTrees, counts: NDArray[np.float64]) -> list[DecisionTree]:
    """The trees of a forest, with counts of classes (n_nodes, n_outcomes) and without gains.

    Every packed node is a node of its tree.
    """
    trees = []
    for first, last in pairwise(forest.tree_start):
        tree, n_nodes = _take_tree(forest, first, last), int(last - first)
        parent = tree.find_parents().astype(np.int32)
        value = np.append(-1, np.arange(n_nodes - 1) % 2).astype(np.int32)
        owner = np.arange(n_nodes, dtype=np.int32)
        dense = dense_count_tree(parent, value, counts[first:last])
        trees.append(DecisionTree(tree, owner, dense, np.zeros(n_nodes)))
    return trees


def _take_tree(forest: PackedTrees, first: int, last: int) -> PackedTrees:
    return PackedTrees(np.array([0, last - first]), forest.nodes[first:last].view(np.uint8))


def dense_count_tree(
    parent: NDArray[np.int32], value: NDArray[np.int32], counts: NDArray[np.float64]
) -> CountTree:
    """A tree of given nodes, level by level, with counts given for every node and class."""
    n_nodes, n_outcomes = counts.shape
    level = [0, 1]
    while level[-1] < n_nodes:
        # The next level holds the children of the last.
        level.append(int(np.searchsorted(parent, level[-1])))
    cell = np.arange(n_outcomes, dtype=np.int32)
    parent_cell = np.where(parent[:, None] < 0, -1, parent[:, None] * n_outcomes + cell)
    return CountTree(
        parent=parent,
        value=value,
        level_start=np.array(level, dtype=np.int64),
        row_start=np.arange(n_nodes + 1, dtype=np.int64) * n_outcomes,
        outcome=np.tile(cell, n_nodes),
        parent_cell=parent_cell.astype(np.int32).ravel(),
        counts=np.ascontiguousarray(counts).ravel(),
        n_outcomes=n_outcomes,
    )
