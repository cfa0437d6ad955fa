"""A forest of binary trees in flat arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.structure.trees.decision_tree import (
    ABOVE,
    BELOW,
    EQUAL,
    LEAF,
    NUMERIC,
    DecisionTree,
    dense_count_tree,
)

NODE = np.dtype([("threshold", np.float64), ("first", np.int32), ("split", np.int32)])
"""A node of 16 bytes: threshold or code, first child, and the feature above four bits that say
whether a value less than, equal to, missing or greater goes to the second child."""

_EQUAL_BIT, _MISSING_BIT = 2, 4


class PackedTrees(_core.PackedTrees):
    """Binary trees one after the other, for tables that have a row for every node.

    The nodes of a tree are numbered level by level, the two children of a node side by side; each
    is a `NODE`. A value greater than the threshold goes to the second child; of a nominal feature
    the code at the threshold does, and all others, unknown ones too, to the first. Missing numbers
    go to the side that the split says. `tree_start` is the first node of each tree, and one past
    the last.
    """

    @property
    def nodes(self) -> NDArray[np.void]:
        """The nodes as records."""
        return self.node_bytes.view(NODE)

    @property
    def n_trees(self) -> int:
        return len(self.tree_start) - 1

    @property
    def n_nodes(self) -> int:
        return len(self.node_bytes) // NODE.itemsize

    def find(
        self, columns: Sequence[NDArray[Any]], n_rows: int, n_jobs: int = 1
    ) -> NDArray[np.int32]:
        """The leaf of each row in each tree, shape (n_trees, n_rows)."""
        return _core.find_forest_leaves(self, columns, n_rows, n_jobs)

    def average(
        self,
        columns: Sequence[NDArray[Any]],
        n_rows: int,
        node_rows: NDArray[np.float64],
        n_jobs: int = 1,
    ) -> NDArray[np.float64]:
        """The mean over the trees of the leaf's row of `node_rows` (n_nodes x width)."""
        return _core.average_forest(self, columns, n_rows, node_rows, n_jobs)

    def contributions(
        self,
        columns: Sequence[NDArray[Any]],
        n_rows: int,
        node_rows: NDArray[np.float64],
        n_jobs: int = 1,
    ) -> NDArray[np.float64]:
        """The steps of `node_rows` along the paths by feature, shape (n_rows, n_features, width).

        The mean over the trees. With the mean of the roots' rows they add up to `average`.
        """
        return _core.contribute_forest(self, columns, n_rows, node_rows, n_jobs)


class PackedForest(PackedTrees):
    """The trees of a forest, with the counts of classes (n_nodes, n_outcomes) and the gain of each
    node.

    The gain is in nats of information, summed over the rows that grew the tree.
    """

    def __init__(
        self,
        tree_start: NDArray[np.int64],
        node_bytes: NDArray[np.uint8],
        gain: NDArray[np.float64],
        counts: NDArray[np.float64],
    ) -> None:
        super().__init__(tree_start, node_bytes)
        self.gain, self.counts = gain, counts

    def __reduce__(self) -> tuple[Any, ...]:
        return PackedForest, (self.tree_start, self.node_bytes, self.gain, self.counts)

    def smooth(self, strength: float, n_jobs: int = 1) -> NDArray[np.float64]:
        """p = (n + c p_parent) / (N + c) at every node, the root towards uniform with c = 1."""
        return _core.smooth_forest(self, self.counts, strength, n_jobs)

    @cached_property
    def trees(self) -> list[DecisionTree]:
        """The trees one by one."""
        return [self._tree(t) for t in range(self.n_trees)]

    def _tree(self, t: int) -> DecisionTree:
        own = slice(self.tree_start[t], self.tree_start[t + 1])
        nodes = self.nodes[own]
        inner = (nodes["split"] & 15) != 0
        nominal = (nodes["split"] & _EQUAL_BIT) != 0
        parents = np.flatnonzero(inner)
        # Children come in the order of their parents.
        parent = np.append(-1, np.repeat(parents, 2)).astype(np.int32)
        value = np.append(-1, np.tile([0, 1], len(parents))).astype(np.int32)
        missing = np.where(nodes["split"] & _MISSING_BIT, ABOVE, BELOW)
        return DecisionTree(
            counts=dense_count_tree(parent, value, self.counts[own]),
            feature=np.where(inner, nodes["split"] >> 4, -1).astype(np.int32),
            kind=np.where(inner, np.where(nominal, EQUAL, NUMERIC), LEAF).astype(np.uint8),
            threshold=np.where(inner, nodes["threshold"], np.nan),
            missing_value=np.where(inner, missing, -1).astype(np.int32),
            gain=self.gain[own],
        )


@dataclass(frozen=True, eq=False)
class GrownRows:
    """Where the rows that grew a forest are in it.

    `leaf` (n_trees, n_rows) is the leaf of each row in each tree, -1 for rows without weight; `out`
    is one if the row has weight but did not grow the tree, else zero.
    """

    leaf: NDArray[np.int32]
    out: NDArray[np.float32]
    outcome: NDArray[np.int32]

    def outcome_proba(
        self,
        forest: PackedForest,
        strengths: Sequence[float],
        own: NDArray[np.float64],
        rows: NDArray[np.int64],
        n_jobs: int = 1,
    ) -> NDArray[np.float64]:
        """Return what the trees that a row did not grow give its class, shape (rows, strengths).

        The mean over those trees, NaN where there are none, with `own` of the row's weight taken
        off the counts at every node on its path.
        """
        return self._mean(forest, np.asarray(strengths, dtype=np.float64), own, rows, False, n_jobs)

    def out_of_bag(
        self,
        forest: PackedForest,
        strength: float,
        own: NDArray[np.float64],
        n_jobs: int = 1,
    ) -> NDArray[np.float64]:
        """The same for all classes and all rows, shape (n_rows, n_outcomes)."""
        rows = np.arange(len(self.outcome), dtype=np.int64)
        return self._mean(forest, np.array([strength]), own, rows, True, n_jobs)

    def leaf_rows(
        self, forest: PackedForest, node_rows: NDArray[np.float64], n_jobs: int = 1
    ) -> NDArray[np.float64]:
        """Return `node_rows` at the leaves of trees a row did not grow, shape (n_rows, width).

        The mean over those trees, NaN where there are none. For rows that do not count in such
        trees it is `out_of_bag`.
        """
        total, weight = _core.sum_leaf_rows(
            forest, node_rows, self.leaf, self.out, self.outcome, n_jobs
        )
        with np.errstate(invalid="ignore"):
            return total / weight[:, None]

    def _mean(
        self,
        forest: PackedForest,
        strengths: NDArray[np.float64],
        own: NDArray[np.float64],
        rows: NDArray[np.int64],
        all_outcomes: bool,
        n_jobs: int,
    ) -> NDArray[np.float64]:
        total, weight = _core.sum_out_of_bag(
            forest, forest.counts, self.leaf, self.out, self.outcome,
            own, rows, strengths, all_outcomes, n_jobs,
        )  # fmt: skip
        with np.errstate(invalid="ignore"):
            return total / weight[:, None]
