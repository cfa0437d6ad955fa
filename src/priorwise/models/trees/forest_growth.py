"""Growing and smoothing the trees of a forest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priorwise.common.threads import map_in_threads
from priorwise.models.candidates import squared_error
from priorwise.models.row_groups import RowGroups
from priorwise.models.trees.tree_choice import smooth_nodes
from priorwise.models.trees.tree_list import TreeList
from priorwise.models.trees.tree_rows import TreeRows
from priorwise.smoothing import ParentEstimate, Smoother
from priorwise.structure.trees import C45, DecisionTree, GrownRows, PackedForest, RandomSplits

HELD_SHARE = 0.2
MAX_JUDGED_ROWS = 10_000

Forest = PackedForest | TreeList


@dataclass(frozen=True, eq=False)
class GrownForest:
    """The trees of a forest, and where the rows that were there to grow them are.

    `rows` knows the node of each row in each tree, and how much of it did not grow the tree; of
    a tree list, the nodes of those alone that did not. `counted` says whether they count too.
    """

    forest: Forest
    rows: GrownRows
    table: TreeRows
    counted: bool

    def smooth(self, smoother: Smoother) -> NDArray[np.float64]:
        """What every node answers, the trees one after the other."""
        if isinstance(self.forest, PackedForest) and isinstance(smoother, ParentEstimate):
            return self.forest.smooth(float(smoother.m), self.table.n_jobs)
        return np.concatenate(
            map_in_threads(
                lambda tree: smooth_nodes(tree, smoother, None)[1],
                self.forest.trees,
                self.table.n_jobs,
            )
        )

    def out_of_bag(
        self, smoother: Smoother, node_proba: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Probabilities of each row by the trees it did not grow; NaN where there are none."""
        n_jobs = self.table.n_jobs
        if self.counted and isinstance(self.forest, PackedForest):
            strength = float(smoother.get_params()["m"])
            return self.rows.out_of_bag(self.forest, strength, self._own_weight(), n_jobs)
        proba = self.smooth(smoother) if node_proba is None else node_proba
        if isinstance(self.forest, PackedForest):
            return self.rows.leaf_rows(self.forest, proba, n_jobs)
        total = np.zeros((self.table.n_rows, self.table.n_classes))
        for leaf, out, start in zip(
            self.rows.leaf, self.rows.out, self.forest.tree_start[:-1], strict=True
        ):
            rows = np.flatnonzero(out)
            total[rows] += out[rows, None] * proba[start + leaf[rows]]
        with np.errstate(invalid="ignore"):
            return np.asarray(total / self.rows.out.sum(axis=0, dtype=np.float64)[:, None])

    def choose(self, smoothers: list[Smoother], seed: int) -> Smoother:
        """The smoother that is best out of bag; the first of equals, the last if there is none.

        Strengths of the shrinkage towards the parent by log-loss, on at most 10,000 rows; other
        smoothers by squared error.
        """
        if not self.rows.out.any():
            return smoothers[-1]
        strengths = [one.m for one in smoothers if isinstance(one, ParentEstimate)]
        if isinstance(self.forest, PackedForest) and len(strengths) == len(smoothers):
            losses = self._log_losses(self.forest, [float(m) for m in strengths], seed)
        else:
            losses = np.array([self._squared_error(smoother) for smoother in smoothers])
        return smoothers[int(np.argmin(losses))]

    def _own_weight(self) -> NDArray[np.float64]:
        """What a row has added to the counts: one of the rows of its group, if they count."""
        if not self.counted:
            return np.zeros(self.table.n_rows)
        return np.minimum(self.table.weights, 1.0)

    def _log_losses(
        self, forest: PackedForest, strengths: list[float], seed: int
    ) -> NDArray[np.float64]:
        some = np.arange(self.table.n_rows, dtype=np.int64)
        if len(some) > MAX_JUDGED_ROWS:
            some = np.random.default_rng(seed).choice(some, MAX_JUDGED_ROWS, replace=False)
            some.sort()
        proba = self.rows.outcome_proba(
            forest, strengths, self._own_weight(), some, self.table.n_jobs
        )
        known = ~np.isnan(proba[:, 0])
        return np.asarray(-self.table.weights[some][known] @ np.log(proba[known]))

    def _squared_error(self, smoother: Smoother) -> float:
        proba = self.out_of_bag(smoother)
        known = ~np.isnan(proba[:, 0])
        error = squared_error(proba[known], self.table.y[known])
        return float(self.table.weights[known] @ error)


@dataclass(frozen=True, eq=False)
class ForestGrowth:
    """How the trees of a forest grow: on which rows, by which splits, counting which rows.

    Rows of equal content are drawn together, so that a row of weight two is the same as two
    rows: for trees of best splits as often as a Poisson of their number says, for trees of
    random splits each with probability `share`. With a share of 1 all rows grow every tree.
    """

    rules: C45 | RandomSplits
    share: float
    counts: str

    def grow(self, rows: TreeRows, groups: RowGroups, seeds: NDArray[np.uint64]) -> GrownForest:
        """A tree for each seed."""
        if isinstance(self.rules, RandomSplits):
            return self._grow_random(self.rules, rows, rows.weight, self.share, seeds)
        if self.share < 1.0:
            drawn = [groups.bootstrap(int(seed)) for seed in seeds]
        else:
            drawn = [rows.weights] * len(seeds)
        return self._grow_best(self.rules, rows, drawn, seeds)

    def grow_without_some(self, rows: TreeRows, seeds: NDArray[np.uint64]) -> GrownForest:
        """The same without a fifth of the rows, the same one for every tree."""
        held = np.random.default_rng(int(seeds[0])).random(rows.n_rows) < HELD_SHARE
        weight = rows.weights * ~held
        if not weight.any():
            weight = rows.weights
        if isinstance(self.rules, RandomSplits):
            return self._grow_random(self.rules, rows, weight, 1.0, seeds)
        return self._grow_best(self.rules, rows, [weight] * len(seeds), seeds)

    def _grow_random(
        self,
        rules: RandomSplits,
        rows: TreeRows,
        weight: NDArray[np.float64] | None,
        share: float,
        seeds: NDArray[np.uint64],
    ) -> GrownForest:
        forest, where = rules.grow_forest(
            rows.columns, rows.y, rows.n_classes, seeds, share=share, counts=self.counts,
            grow_weight=weight, count_weight=None if weight is None else rows.weights,
            n_jobs=rows.n_jobs,
        )  # fmt: skip
        return GrownForest(forest, where, rows, counted=self.counts == "all")

    def _grow_best(
        self,
        rules: C45,
        rows: TreeRows,
        drawn: list[NDArray[np.float64]],
        seeds: NDArray[np.uint64],
    ) -> GrownForest:
        table, n_rows = rows.table, rows.n_rows
        leaf = np.full((len(seeds), n_rows), -1, dtype=np.int32)
        out = np.zeros((len(seeds), n_rows), dtype=np.float32)

        def grow_one(t: int) -> DecisionTree:
            weight = drawn[t] if drawn[t].any() else rows.weights
            tree, _ = rules.grow(
                table, rows.y, rows.n_classes, grow_weight=weight, seed=int(seeds[t])
            )
            unseen = np.flatnonzero(weight == 0.0)
            columns = [column[unseen] for column in rows.columns]
            out[t, unseen] = 1.0
            leaf[t, unseen] = tree.find(columns, len(unseen))
            return tree

        forest = TreeList(map_in_threads(grow_one, range(len(seeds)), rows.n_jobs))
        return GrownForest(forest, GrownRows(leaf, out, rows.y), rows, counted=False)
