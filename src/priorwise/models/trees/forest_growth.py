"""Growing and smoothing the trees of a forest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.common.numeric import TOLERANCE, pick, safe_log
from priorwise.common.runtime import map_in_threads
from priorwise.counts import mean_row_weights
from priorwise.counts.draws import MAX_HELD_BACK, draw_by_group
from priorwise.counts.packed_trees import SingleRows
from priorwise.models.candidates import squared_error
from priorwise.models.training_table import TrainingTable
from priorwise.smoothing import ParentEstimate, Smoother
from priorwise.smoothing.base import checked_smooth
from priorwise.structure.trees import (
    C45,
    CountedTrees,
    DecisionTree,
    GrownRows,
    PackedTrees,
    RandomSplits,
    expand_rows,
    split_trees,
)
from priorwise.structure.trees.monotone import bound_forest, bound_tree

HELD_SHARE = 0.2
"""Share of the rows that choose a smoother where all rows grow every tree."""

MIN_WEIGHTS = (0.0, *(2.0**i for i in range(2, 9)))
MIN_PRUNED_ROWS = 5_000
"""In tables of at least `MIN_PRUNED_ROWS` rows, nodes that weigh less than one of
`MIN_WEIGHTS` are not split: the largest whose log-loss is above the least by at most a share of
`TOLERANCE`. It is often the best too: the splits of few rows say little, and most nodes are theirs.
"""


@dataclass(frozen=True)
class ForestChoice:
    """A smoother, and the least weight of a node that is split."""

    smoother: Smoother
    min_weight: float = 0.0


@dataclass(frozen=True, eq=False)
class GrownForest:
    """The trees of a forest, and where the rows of the table are in them.

    Trees of best splits are `counted`; of these, only the leaves of rows that did not grow the
    tree are known.
    """

    forest: PackedTrees
    rows: GrownRows
    table: TrainingTable
    monotone: tuple[int, ...] = ()
    counted: CountedTrees | None = None

    def prune(self, min_weight: float) -> GrownForest:
        """Return the forest without the splits of nodes that weigh less."""
        if self.counted is not None:
            return self
        forest, rows = self.rows.prune(self.forest, min_weight, self.table.n_threads)
        return replace(self, forest=forest, rows=rows)

    @cached_property
    def trees(self) -> list[DecisionTree]:
        """The trees one by one."""
        if self.counted is not None:
            return self.counted.split(self.forest)
        return split_trees(self.forest, self.rows.count(self.forest, self.table.n_threads))

    def feature_shares(self) -> NDArray[np.float64]:
        """Return the share of each feature in the gains of the splits, the mean of the trees."""
        n_features = len(self.table.feature_columns)
        if self.rows.gain is not None:
            return self.forest.sum_gains(self.rows.gain, n_features)
        return np.asarray(np.mean([t.feature_shares(n_features) for t in self.trees], axis=0))

    def counts_to_keep(self, smoother: Smoother) -> NDArray[np.float64] | None:
        """Return the counts of the nodes, None if probabilities or trees say them already."""
        is_said = isinstance(smoother, ParentEstimate) and not self.monotone
        if self.counted is not None or is_said:
            return None
        return self.rows.count(self.forest, self.table.n_threads)

    def smooth(self, smoother: Smoother) -> SingleRows:
        """Return the probabilities of every packed node, the trees one after the other."""
        if self.counted is None and isinstance(smoother, ParentEstimate):
            proba = self.rows.smooth(self.forest, float(smoother.m), self.table.n_threads)
            if not self.monotone:
                return proba
            bounded = bound_forest(self.forest, expand_rows(proba), self.monotone)
            return bounded.astype(np.float32)
        counts = [tree.counts for tree in self.trees]
        smoothed = map_in_threads(checked_smooth(smoother), counts, n_jobs=self.table.n_threads)
        pairs = zip(counts, smoothed, strict=True)
        rows = [tree.rows(cells, rest=smoother.rest) for tree, cells in pairs]
        if self.monotone:
            unbounded = zip(self.trees, rows, strict=True)
            rows = [bound_tree(tree, proba, self.monotone) for tree, proba in unbounded]
        node_proba = np.concatenate(rows, dtype=np.float32, casting="same_kind")
        return node_proba if self.counted is None else node_proba[self.counted.owner]

    def out_of_bag(self, smoother: Smoother, node_proba: SingleRows) -> NDArray[np.float64]:
        """Return the probabilities of each row by the trees it did not grow; NaN without any.

        `node_proba` are the smoothed probabilities of the nodes.
        """
        n_threads = self.table.n_threads
        if self.rows.count_all or not isinstance(node_proba, np.ndarray):
            strength = float(smoother.get_params()["m"])
            return self.rows.out_of_bag(self.forest, strength, self._own_weight(), n_threads)
        if self.counted is not None:
            leaf, out = self.rows.leaf, self.rows.out
            return as_distributions(
                _core.sum_leaf_rows(self.forest, node_proba, leaf, out, n_threads)[0]
            )
        return as_distributions(self.rows.leaf_rows(self.forest, node_proba, n_threads))

    def choose(self, smoothers: list[Smoother], seed: int) -> ForestChoice:
        """Return the smoother that is best out of bag: the first of several, the last if none is.

        Strengths of the shrinkage towards the parent are judged by log-loss on at most
        `MAX_HELD_BACK` rows, together with the least weight of a node that is split; other
        smoothers by squared error on all rows.
        """
        if not self.rows.out.any():
            return ForestChoice(smoothers[-1])
        strengths = [one.m for one in smoothers if isinstance(one, ParentEstimate)]
        if self.counted is None and len(strengths) == len(smoothers):
            losses = self._log_losses([float(m) for m in strengths], seed)
            # The largest weight has the smallest trees.
            least = len(losses) - 1 - pick(losses.min(axis=1)[::-1], TOLERANCE)
            return ForestChoice(smoothers[pick(losses[least])], MIN_WEIGHTS[least])
        errors = [
            self._squared_error(self.out_of_bag(smoother, self.smooth(smoother)))
            for smoother in smoothers
        ]
        return ForestChoice(smoothers[pick(errors)])

    def _own_weight(self) -> NDArray[np.float64]:
        """Return what each row has added to the counts of trees that it did not grow."""
        return self.table.weights if self.rows.count_all else np.zeros(self.table.n_rows)

    def _log_losses(self, strengths: list[float], seed: int) -> NDArray[np.float64]:
        """Return the log-loss of every least weight of a node and every strength."""
        some = np.arange(self.table.n_rows, dtype=np.int64)
        if len(some) > MAX_HELD_BACK:
            some = np.random.default_rng(seed).choice(some, MAX_HELD_BACK, replace=False)
            some.sort()
        leasts = MIN_WEIGHTS if self.table.n_rows >= MIN_PRUNED_ROWS else MIN_WEIGHTS[:1]
        proba = self.rows.outcome_proba(
            self.forest, strengths, self._own_weight(), some, leasts, self.table.n_threads
        )
        known = ~np.isnan(proba[:, 0, 0])
        # Rounding lifts a probability above one; a loss below zero has no share to be within.
        losses = -safe_log(np.minimum(proba[known], 1.0))
        return np.tensordot(self.table.weights[some][known], losses, axes=1)

    def _squared_error(self, proba: NDArray[np.float64]) -> float:
        known = ~np.isnan(proba[:, 0])
        error = squared_error(proba[known], self.table.y[known])
        return float(self.table.weights[known] @ error)


@dataclass(frozen=True, eq=False)
class RandomGrowth:
    """Growth of trees of random splits, each on every row with probability `share`.

    With `counts` "all" the other rows count at the nodes too, with "grown" they do not.
    """

    rules: RandomSplits
    share: float
    counts: str

    def grow(
        self,
        table: TrainingTable,
        seeds: NDArray[np.uint64],
        weight: NDArray[np.float64] | None = None,
    ) -> GrownForest:
        """Return the forest of a table, with one tree for each seed.

        If `weight` is given, all rows of a weight above zero grow every tree.
        """
        share = self.share if weight is None else 1.0
        # Out of bag, a row's own counts can be subtracted, but not those of the rest of its group.
        counts = self.counts if table.group is None else "grown"
        weight = table.weight if weight is None else weight
        forest, rows = self.rules.grow_forest(
            table.feature_columns, table.y, table.n_classes, seeds,
            share=share, counts=counts,
            grow_weight=weight, count_weight=None if weight is None else table.weights,
            group=None if table.group is None else table.group.astype(np.int32),
            n_jobs=table.n_threads,
        )  # fmt: skip
        return GrownForest(forest, rows, table, self.rules.monotone)


@dataclass(frozen=True, eq=False)
class BestGrowth:
    """Growth of trees of best splits.

    With a bootstrap each tree grows on a bag of rows (`draw_bag`).
    """

    rules: C45
    bootstrap: bool

    def grow(
        self,
        table: TrainingTable,
        seeds: NDArray[np.uint64],
        weight: NDArray[np.float64] | None = None,
    ) -> GrownForest:
        """Return the forest of a table, as `RandomGrowth.grow` does."""
        sorted_columns, columns = table.sorted_columns, table.feature_columns
        leaf = np.full((len(seeds), table.n_rows), -1, dtype=np.int32)
        out = np.zeros((len(seeds), table.n_rows), dtype=np.uint8)

        def grow_one(t: int) -> DecisionTree:
            drawn = table.weights if weight is None else weight
            if weight is None and self.bootstrap:
                drawn = draw_bag(table, np.random.default_rng(int(seeds[t])))
            if not drawn.any():
                drawn = table.weights
            tree, _ = self.rules.grow(
                sorted_columns, table.y, table.n_classes, grow_weight=drawn, seed=int(seeds[t])
            )
            unseen = np.flatnonzero(drawn == 0.0)
            out[t, unseen] = 1
            some = [column[unseen] for column in columns]
            leaf[t, unseen] = _core.find_forest_leaves(tree.trees, some, len(unseen), 1)[0]
            return tree

        trees = map_in_threads(grow_one, range(len(seeds)), n_jobs=table.n_threads)
        forest, counted = CountedTrees.join(trees)
        rows = GrownRows(leaf, out, table.y)
        return GrownForest(forest, rows, table, self.rules.monotone, counted)


def draw_bag(table: TrainingTable, generator: np.random.Generator) -> NDArray[np.float64]:
    """Return the weights with which the rows grow one tree, zero for rows out of its bag.

    A row of weight w is drawn as often as a Poisson variable of mean m = min(1, w / u) says, and
    counts w / m each time, with u = sum w^2 / sum w the weight of a typical row. Rows that weigh
    little are drawn less often rather than counted for little: a leaf of rows of one class is pure
    whatever they weigh. Rows of a group are drawn together, by their mean weight.
    """
    weight, group = table.weights, table.group
    mean = weight if group is None else np.bincount(group, weight) / np.bincount(group)
    typical = mean_row_weights(np.zeros(table.n_rows, dtype=np.int32), weight, 1)
    chance = np.minimum(1.0, mean / typical)
    times = generator.poisson(chance) / chance
    return np.asarray(weight * (times if group is None else times[group]))


def hold_out_some(table: TrainingTable, seed: int) -> NDArray[np.float64]:
    """Return the weights of the rows, zero for a share of `HELD_SHARE` of them."""
    drawn = draw_by_group(table.group, table.n_rows, np.random.default_rng(seed))
    held = drawn < HELD_SHARE
    weight = table.weights * ~held
    return weight if weight.any() else table.weights


def as_distributions(proba: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide rows by their sums: means of 32-bit probabilities do not sum to one exactly."""
    with np.errstate(invalid="ignore"):
        return np.asarray(proba / proba.sum(axis=1, keepdims=True))
