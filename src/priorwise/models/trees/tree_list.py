"""Decision trees of any kind as a forest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.structure.trees import DecisionTree, NodeRows, expand_rows


@dataclass(frozen=True, eq=False)
class TreeList:
    """Trees one by one, asked as `PackedTrees` are: nodes are numbered through all trees.

    Trees are taken in their order, so threads change no bit of a sum.
    """

    trees: list[DecisionTree]

    @cached_property
    def tree_start(self) -> NDArray[np.int64]:
        sizes = [tree.n_nodes for tree in self.trees]
        return np.append(0, np.cumsum(sizes)).astype(np.int64)

    def average(
        self,
        columns: Sequence[NDArray[Any]],
        n_rows: int,
        node_rows: NodeRows,
        n_jobs: int = 1,
    ) -> NDArray[np.float64]:
        """The mean over the trees of the row of `node_rows` at the node a row reaches."""
        node_rows = expand_rows(node_rows)
        total = np.zeros((n_rows, node_rows.shape[1]))
        for tree, start in zip(self.trees, self.tree_start[:-1], strict=True):
            total += node_rows[start + tree.find(columns, n_rows, n_jobs)]
        return total / len(self.trees)

    def contributions(
        self,
        columns: Sequence[NDArray[Any]],
        n_rows: int,
        node_rows: NodeRows,
        n_jobs: int = 1,
    ) -> NDArray[np.float64]:
        """The steps of `node_rows` along the paths by feature, as `PackedTrees.contributions`."""
        node_rows = expand_rows(node_rows)
        total = np.zeros((n_rows, len(columns), node_rows.shape[1]))
        for tree, start in zip(self.trees, self.tree_start[:-1], strict=True):
            row, node = np.arange(n_rows), tree.find(columns, n_rows, n_jobs)
            while len(row := row[node > 0]):
                node = node[node > 0]
                above = tree.counts.parent[node]
                # A row occurs once, so no two steps meet.
                below = node_rows[start + node].astype(np.float64)
                total[row, tree.feature[above]] += below - node_rows[start + above]
                node = above
        return total / len(self.trees)

    def find_parents(self) -> NDArray[np.int64]:
        """The parent of each node, in numbers through all trees; -1 at the roots."""
        parents = [
            np.where(tree.counts.parent < 0, -1, tree.counts.parent + start)
            for tree, start in zip(self.trees, self.tree_start[:-1], strict=True)
        ]
        return np.concatenate(parents).astype(np.int64)
