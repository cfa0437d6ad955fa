"""Where the rows that grew a forest are in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.counts.packed_trees import PackedTrees, SingleRows


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

    def smooth(self, trees: PackedTrees, strength: float, n_jobs: int = 1) -> SingleRows:
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
        pruned, old_start = PackedTrees.from_nodes(start, nodes), trees.tree_start
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

    def _counted(self) -> tuple[Any, Any, Any, int, Any, bool]:
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
