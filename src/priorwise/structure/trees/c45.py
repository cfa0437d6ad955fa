"""Growth of decision trees, C4.5 and trees of random splits, and the rows as growers see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priorwise import _core
from priorwise.counts import CountTree
from priorwise.counts.packed_trees import PackedTrees, SingleRows
from priorwise.structure.trees.decision_tree import MAX_DENSE_CLASSES, DecisionTree


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


UNLIMITED = np.iinfo(np.int32).max


@dataclass(frozen=True)
class C45:
    """C4.5 growth (Quinlan 1993; thesis 3.2.1): the best split at every node, until none is left.

    A nominal feature splits into its values, a number at a threshold, and missing is a branch
    of its own. Of the splits by each feature that gain most, "gain" takes the best, and
    "gain-ratio" that of the best ratio of gain to split information among those whose gain is
    at least average; nominal features with values for 30 % of the rows don't enter the
    average. At least two branches must hold `min_samples_leaf` rows, and both sides of a
    threshold. Nothing is pruned.

    Parameters
    ----------
    criterion : "gain-ratio" or "gain"
    min_samples_leaf : float
        Rows, or weight.
    max_depth, max_leaf_nodes : int or None
        Of all trees with that many leaves, the one whose splits gain most, found best first.
    mdl_correction : bool
        Release 8: the gain of a threshold among v values of N rows is less log2(v - 1) / N;
        that of one value of v > 32 against the rest, less log2(v) / N.
    numeric_min_share : float
        Sides of a threshold hold at least min(25, share N / classes) rows; C4.5 has 0.1.
    max_features : int or None
        Features examined at a node, drawn at random.
    nominal_splits : "values" or "one-value"
        A branch for every value, as in C4.5, or the best value against the rest.
    release8 : bool
        The rules of the code of Release 8, as in Weka's J48 without collapsing, instead of those of
        the book: v - 1 are the thresholds that leave enough rows on both sides, "many" are values
        for 30 % of the rows of the whole table, features that gain nothing count in the average,
        and numbers that differ by 1e-5 are one. The criterion is the gain ratio.
    monotone : tuple of int
        For each feature 1 if the share of outcome 1 must not be less above a threshold, -1 if it
        must not be greater, 0 if it may be both; empty if all may.

    Examples
    --------
    >>> table = _core.SortedColumns([np.array([1.0, 2.0, 3.0, 4.0])], 4, 1)
    >>> tree, leaf = C45().grow(table, np.array([0, 0, 1, 1], dtype=np.int32), n_outcomes=2)
    >>> tree.threshold[0], leaf
    (np.float64(2.5), array([1, 1, 2, 2], dtype=int32))
    """

    criterion: str = "gain-ratio"
    min_samples_leaf: float = 2.0
    max_depth: int | None = None
    max_leaf_nodes: int | None = None
    mdl_correction: bool = True
    numeric_min_share: float = 0.1
    max_features: int | None = None
    nominal_splits: str = "values"
    release8: bool = False
    monotone: tuple[int, ...] = ()

    def grow(
        self,
        table: _core.SortedColumns,
        outcome: NDArray[np.int32],
        n_outcomes: int,
        *,
        grow_weight: ArrayLike | None = None,
        count_weight: ArrayLike | None = None,
        n_values: NDArray[np.int32] | None = None,
        seed: int = 0,
        n_jobs: int = 1,
    ) -> tuple[DecisionTree, NDArray[np.int32]]:
        """The tree and the leaf of every row; -1 for rows without weight.

        Rows of weight zero in `grow_weight` choose no split; `count_weight`, the same by
        default, says how much each row counts. With `release8`, `n_values` are the values that
        each nominal feature has at least, as declared.
        """
        grow_weight, count_weight = _as_weight(grow_weight), _as_weight(count_weight)
        grown = _core.grow_best_tree(
            table, outcome, n_outcomes, grow_weight, count_weight,
            "release-8" if self.release8 else self.criterion,
            float(self.min_samples_leaf), float(self.numeric_min_share),
            self.nominal_splits == "one-value", self.mdl_correction,
            UNLIMITED if self.max_depth is None else self.max_depth,
            self.max_features or 0, np.empty(0, np.int32) if n_values is None else n_values,
            np.array(self.monotone, dtype=np.int32), seed, n_jobs,
        )  # fmt: skip
        parent, value, level_start, feature, kind, threshold, missing_value, gain, leaf = grown
        counts = _core.count_leaves(
            CountTree, parent, value, level_start, leaf, outcome,
            grow_weight if count_weight is None else count_weight, n_outcomes,
            n_outcomes <= MAX_DENSE_CLASSES,
        )  # fmt: skip
        nodes, owner = _core.pack_tree(counts, feature, kind, threshold, missing_value)
        trees = PackedTrees.from_nodes(np.array([0, len(owner)]), nodes)
        tree = DecisionTree(trees, owner, counts, gain)
        if self.max_leaf_nodes is not None and tree.n_leaves > self.max_leaf_nodes:
            tree, number = tree.cut(_best_splits(tree, self.max_leaf_nodes))
            leaf = np.where(leaf < 0, np.int32(-1), number[leaf])
        return tree, leaf


@dataclass(frozen=True)
class RandomSplits:
    """Growth of extremely randomised trees (Geurts et al. 2006), until leaves are pure.

    At every node `n_splits` random splits of each of `max_features` random features: a number
    at a random point between the values of two random rows, missing to a random side; a
    nominal feature by the value of a random row against the rest. The split of the largest
    information gain is taken, of those that `monotone` allows (see `C45`).

    Examples
    --------
    >>> columns = [np.array([1.0, 2.0, 3.0, 4.0])]
    >>> outcome = np.array([0, 0, 1, 1], dtype=np.int32)
    >>> seeds = np.array([1, 2], dtype=np.uint64)
    >>> forest, _ = RandomSplits().grow_forest(columns, outcome, 2, seeds)
    >>> forest.n_trees
    2
    """

    max_features: int | None = None
    n_splits: int = 2
    min_samples_leaf: float = 1.0
    max_depth: int | None = None
    monotone: tuple[int, ...] = ()

    def grow_forest(
        self,
        columns: Sequence[NDArray[Any]],
        outcome: NDArray[np.int32],
        n_outcomes: int,
        seeds: NDArray[np.uint64],
        *,
        share: float = 1.0,
        counts: str = "all",
        grow_weight: ArrayLike | None = None,
        count_weight: ArrayLike | None = None,
        group: NDArray[np.int32] | None = None,
        n_jobs: int = 1,
    ) -> tuple[PackedTrees, GrownRows]:
        """Return a forest with a tree for each seed, and where the rows are in it.

        A tree grows on each row with probability `share`, and on all rows if none was drawn; rows
        of the same `group` are drawn together. With counts "all" the other rows count too, with
        "grown" they do not. Rows of no `grow_weight` but some `count_weight` grow no tree.
        """
        grow_weight, count_weight = _as_weight(grow_weight), _as_weight(count_weight)
        start, nodes, gain, leaf, out = _core.grow_random_forest(
            list(columns), outcome, n_outcomes, grow_weight, count_weight,
            float(share), float(self.min_samples_leaf),
            UNLIMITED if self.max_depth is None else self.max_depth,
            self.max_features or 0, self.n_splits, seeds,
            np.array(self.monotone, dtype=np.int32), group, n_jobs,
        )  # fmt: skip
        count_all = counts == "all"
        weight = count_weight if count_all and count_weight is not None else grow_weight
        rows = GrownRows(leaf, out, outcome, n_outcomes, weight, count_all, gain)
        return PackedTrees.from_nodes(start, nodes), rows


def _as_weight(weight: ArrayLike | None) -> NDArray[np.float64] | None:
    return None if weight is None else np.ascontiguousarray(weight, dtype=np.float64)


def _best_splits(tree: DecisionTree, max_leaf_nodes: int) -> NDArray[np.bool_]:
    """Splits of the tree grown best first: the largest gain that still fits, one at a time."""
    splits = np.zeros(tree.n_nodes, dtype=bool)
    first = tree.counts.child_start
    n_leaves, open_nodes = 1, [(-tree.gain[0], 0)]
    while open_nodes:
        _, node = heappop(open_nodes)
        n_children = int(first[node + 1] - first[node])
        if n_children == 0 or n_leaves + n_children - 1 > max_leaf_nodes:
            continue
        splits[node] = True
        n_leaves += n_children - 1
        for child in range(first[node], first[node + 1]):
            heappush(open_nodes, (-tree.gain[child], child))
    return splits
