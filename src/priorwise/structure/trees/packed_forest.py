"""A forest of binary trees in flat arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise import _core

NODE = np.dtype([("threshold", np.float64), ("first", np.int32), ("split", np.int32)])
"""A node of 16 bytes: threshold or code, first child, and the feature above four bits that say
whether a value less than, equal to, missing or greater goes to the second child. The threshold of a
leaf of a pruned forest is the weight of its rows."""

EQUAL_BIT, MISSING_BIT = 2, 4

NodeRows = NDArray[np.float32] | _core.SparseNodeRows
"""A row of numbers for every node of a forest (n_nodes x width), or what they are computed from."""


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
    def is_leaf(self) -> NDArray[np.bool_]:
        """Whether each node is a leaf."""
        return np.asarray((self.nodes["split"] & 15) == 0)

    @property
    def n_trees(self) -> int:
        return len(self.tree_start) - 1

    def find(
        self, columns: Sequence[NDArray[Any]], n_rows: int, n_jobs: int = 1
    ) -> NDArray[np.int32]:
        """The leaf of each row in each tree, shape (n_trees, n_rows)."""
        return _core.find_forest_leaves(self, columns, n_rows, n_jobs)

    def average(
        self,
        columns: Sequence[NDArray[Any]],
        n_rows: int,
        node_rows: NodeRows,
        n_jobs: int = 1,
    ) -> NDArray[np.float64]:
        """The mean over the trees of the leaf's row of `node_rows` (n_nodes x width)."""
        return _core.average_forest(self, columns, n_rows, node_rows, n_jobs)

    def contributions(
        self,
        columns: Sequence[NDArray[Any]],
        n_rows: int,
        node_rows: NodeRows,
        n_jobs: int = 1,
    ) -> NDArray[np.float64]:
        """The steps of `node_rows` along the paths by feature, shape (n_rows, n_features, width).

        The mean over the trees. With the mean of the roots' rows they add up to `average`.
        """
        return _core.contribute_forest(self, columns, n_rows, node_rows, n_jobs)

    def find_parents(self) -> NDArray[np.int64]:
        """The parent of each node, in numbers through all trees; -1 at the roots."""
        start = np.repeat(self.tree_start[:-1], np.diff(self.tree_start))
        parent = np.full(self.n_nodes, -1)
        splits = np.flatnonzero(~self.is_leaf)
        first = start[splits] + self.nodes["first"][splits]
        parent[first] = parent[first + 1] = splits
        return parent

    def unsmooth(self, proba: NDArray[np.float32], strength: float) -> NDArray[np.float64]:
        """The counts of classes at each node of pruned trees, from their smoothed probabilities.

        At the leaves n = (N + c) p - c p_parent, rounded if N is a whole number; inner nodes have
        the sums of their children.
        """
        parent, leaf = self.find_parents(), np.flatnonzero(self.is_leaf)
        total, p = self.nodes["threshold"][leaf, None], proba[leaf].astype(np.float64)
        above, c = proba[parent[leaf]].astype(np.float64), np.full((len(leaf), 1), strength)
        root = parent[leaf] < 0
        above[root], c[root] = 1.0 / proba.shape[1], 1.0
        found = np.maximum((total + c) * p - c * above, 0.0)
        counts = np.zeros(proba.shape)
        counts[leaf] = np.where(total == np.round(total), np.round(found), found)
        for node in range(len(counts) - 1, -1, -1):
            if parent[node] >= 0:
                counts[parent[node]] += counts[node]
        return counts

    def sum_gains(self, gain: NDArray[np.float64], n_features: int) -> NDArray[np.float64]:
        """Shares of the features in the gains of the splits, the mean of the trees."""
        tree = np.repeat(np.arange(self.n_trees), np.diff(self.tree_start))
        splits = np.flatnonzero(~self.is_leaf)
        place = tree[splits] * n_features + (self.nodes["split"][splits] >> 4)
        sums = np.bincount(place, gain[splits], self.n_trees * n_features).reshape(-1, n_features)
        total = sums.sum(axis=1, keepdims=True)
        return np.asarray((sums / np.where(total > 0.0, total, 1.0)).mean(axis=0))


def expand_rows(node_rows: NodeRows) -> NDArray[np.float32]:
    """The rows of all nodes, shape (n_nodes, width)."""
    if isinstance(node_rows, np.ndarray):
        return node_rows
    return _core.expand_sparse_rows(node_rows)


def find_first_nodes(owner: NDArray[np.int32], n_owners: int) -> NDArray[np.intp]:
    """The first packed node of each node that owns some."""
    first = np.zeros(n_owners, dtype=np.intp)
    # The last value that is assigned to a place remains.
    first[owner[::-1]] = np.arange(len(owner))[::-1]
    return first


@dataclass(frozen=True, eq=False)
class GrownRows:
    """Where the rows that grew a forest are in it.

    `leaf` (n_trees, n_rows) is the leaf of each row in each tree, -1 for rows without weight; `out`
    is one if the row has weight but did not grow the tree, else zero. With `count_all` all rows
    count at the nodes, with their `weight`, otherwise those that grew the tree. `gain` is that of
    each node, in nats of information, summed over the rows that grew the tree.
    """

    leaf: NDArray[np.int32]
    out: NDArray[np.uint8]
    outcome: NDArray[np.int32]
    n_outcomes: int = 1
    weight: NDArray[np.float64] | None = None
    count_all: bool = False
    gain: NDArray[np.float64] | None = None

    def count(self, trees: PackedTrees, n_jobs: int = 1) -> NDArray[np.float64]:
        """The counts of classes at every node, shape (n_nodes, n_outcomes)."""
        return _core.count_forest(trees, *self._counted(), n_jobs)

    def smooth(self, trees: PackedTrees, strength: float, n_jobs: int = 1) -> NodeRows:
        """p = (n + c p_parent) / (N + c) at every node, the root towards uniform with c = 1.

        With many classes and rows of weight one, what the rows of nodes are computed from.
        """
        if self.weight is None:
            leaf, out, outcome, n_outcomes, _, count_all = self._counted()
            sparse = _core.find_sparse_rows(
                trees, leaf, out, outcome, n_outcomes, count_all, strength
            )
            if sparse is not None:
                return sparse
        return _core.smooth_forest(trees, *self._counted(), strength, n_jobs)

    def prune(
        self, trees: PackedTrees, least: float, n_jobs: int = 1
    ) -> tuple[PackedTrees, GrownRows]:
        """Return the trees without the splits of nodes that weigh less than `least`.

        The rows have the leaves that they have in these.
        """
        one_outcome = replace(self, outcome=np.zeros_like(self.outcome), n_outcomes=1)
        weight = one_outcome.count(trees, n_jobs).ravel()
        start, nodes, number = _core.prune_forest(trees, weight, least)
        pruned, old_start = PackedTrees(start, nodes), trees.tree_start
        if pruned.n_nodes == trees.n_nodes:
            return pruned, self
        leaf, gain = np.empty_like(self.leaf), None
        for t, own in enumerate(self.leaf):
            leaf[t] = np.where(own < 0, own, number[old_start[t] + own])
        if self.gain is not None:
            # The first node of those with the same number is the one that is still there: the last
            # value that is assigned to a place remains.
            new = number + np.repeat(start[:-1], np.diff(old_start))
            gain = np.empty(pruned.n_nodes)
            gain[new[::-1]] = self.gain[::-1]
        return pruned, replace(self, leaf=leaf, gain=gain)

    def outcome_proba(
        self,
        trees: PackedTrees,
        strengths: Sequence[float],
        own: NDArray[np.float64],
        rows: NDArray[np.int64],
        leasts: Sequence[float] = (0.0,),
        n_jobs: int = 1,
    ) -> NDArray[np.float64]:
        """Return what the trees that a row did not grow give its class.

        The mean over those trees, NaN where there are none, with `own` of the row's weight taken
        off the counts at every node on its path. The shape is (rows, leasts, strengths): what the
        trees give that `prune` would return for each of `leasts`, which rise.
        """
        proba = self._mean(trees, strengths, leasts, own, rows, n_jobs)
        return proba.reshape(len(rows), len(leasts), len(strengths))

    def out_of_bag(
        self, trees: PackedTrees, strength: float, own: NDArray[np.float64], n_jobs: int = 1
    ) -> NDArray[np.float64]:
        """The same for all classes and all rows, shape (n_rows, n_outcomes)."""
        rows = np.arange(len(self.outcome), dtype=np.int64)
        return self._mean(trees, [strength], [], own, rows, n_jobs)

    def leaf_rows(
        self, trees: PackedTrees, node_rows: NDArray[np.float32], n_jobs: int = 1
    ) -> NDArray[np.float64]:
        """Return `node_rows` at the leaves of trees a row did not grow, shape (n_rows, width).

        The mean over those trees, NaN where there are none. For rows that do not count in such
        trees it is `out_of_bag`.
        """
        total, n_trees = _core.sum_leaf_rows(trees, node_rows, self.leaf, self.out, n_jobs)
        with np.errstate(invalid="ignore"):
            return total / n_trees[:, None]

    def _counted(
        self,
    ) -> tuple[
        NDArray[np.int32],
        NDArray[np.uint8],
        NDArray[np.int32],
        int,
        NDArray[np.float64] | None,
        bool,
    ]:
        """The rows as the core takes them."""
        return self.leaf, self.out, self.outcome, self.n_outcomes, self.weight, self.count_all

    def _mean(
        self,
        trees: PackedTrees,
        strengths: Sequence[float],
        leasts: Sequence[float],
        own: NDArray[np.float64],
        rows: NDArray[np.int64],
        n_jobs: int,
    ) -> NDArray[np.float64]:
        total, n_trees = _core.sum_out_of_bag(
            trees, *self._counted(), own, rows, np.asarray(strengths, dtype=np.float64),
            np.asarray(leasts, dtype=np.float64), n_jobs,
        )  # fmt: skip
        with np.errstate(invalid="ignore"):
            return total / n_trees[:, None]
