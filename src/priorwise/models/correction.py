"""Boosted trees that start from given probabilities and correct them, on bins of the features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.common.numeric import pick, safe_log, softmax
from priorwise.common.runtime import Deadline
from priorwise.counts.draws import deal_into_folds
from priorwise.steps.pool import Boosted, Pool
from priorwise.steps.trees import Trees
from priorwise.structure.trees import PackedTrees

MAX_CUTS = 63
"""Cuts of a numeric feature at most."""


@dataclass(frozen=True, eq=False)
class BoostingBins:
    """Edges of the bins of every feature, learnt from some rows, for the codes of others.

    A number is in bin b if it is at most edge b and above edge b - 1; those above all edges have a
    bin of their own, and so have missing ones, the last. Of a nominal feature edges are codes with
    a bin of their own; all other codes share the last.
    """

    edges: list[NDArray[np.float64]]
    is_nominal: NDArray[np.int32]

    @classmethod
    def choose(cls, columns: Sequence[NDArray[Any]], n_threads: int) -> BoostingBins:
        """Choose edges for columns of numbers or int32 codes; bins have about equally many rows."""
        n_rows = len(columns[0])
        edges = _core.choose_boost_bins(list(columns), n_rows, MAX_CUTS, n_threads)
        is_nominal = [column.dtype == np.int32 for column in columns]
        return cls(edges, np.array(is_nominal, dtype=np.int32))

    def code(self, columns: Sequence[NDArray[Any]]) -> NDArray[np.uint8]:
        """Return the bins of rows, (n_rows, n_features).

        >>> bins = BoostingBins([np.array([0.5, 1.5]), np.array([0.0, 2.0])], np.array([0, 1]))
        >>> number, code = np.array([0.5, 9.0, np.nan]), np.array([2, 0, 1], dtype=np.int32)
        >>> bins.code([number, code]).tolist()
        [[0, 1], [2, 0], [3, 2]]
        """
        result = np.empty((len(columns[0]), len(columns)), dtype=np.uint8)
        for f, (column, edges) in enumerate(zip(columns, self.edges, strict=True)):
            if not self.is_nominal[f]:
                # Missing numbers are behind all others, where one bin more is theirs.
                result[:, f] = np.searchsorted(edges, column) + np.isnan(column)
                continue
            codes = edges.astype(np.intp)
            last = int(codes.max(initial=-1)) + 1
            bin_of = np.full(last + 2, len(codes), dtype=np.uint8)
            bin_of[codes] = np.arange(len(codes))
            # The place behind the last code is that of negative and of larger codes.
            result[:, f] = bin_of[np.clip(column, -1, last)]
        return result


MIN_PATIENCE = 10
L2, MIN_HESSIAN = 1.0, 0.1


@dataclass(frozen=True)
class BoostingPlan:
    """Settings of boosting."""

    depth: int
    """Most levels of a tree below its root."""
    rate: float
    """Share of a Newton step that a tree takes."""
    max_rounds: int
    """Most trees of a booster."""
    n_boosters: int
    """Number of boosters, each fitted without one of the folds."""
    n_folds: int = 5
    """Number of folds."""
    scales: tuple[float, ...] = (0.25, 0.5, 0.75, 1.0)
    """Factors of the sum of the trees to choose from."""
    row_share: float = 1.0
    """Share of the rows that a tree is grown from."""
    column_share: float = 1.0
    """Share of the columns that a tree is grown from."""
    whole_share: float = 0.0
    """Share of F of one more booster, which learns from all rows; 0 for none."""
    max_leaves: int = 0
    """Most leaves of a tree; 0 for any number."""
    symmetric: bool = False
    """Whether all nodes of a level of a tree have the same split."""

    @property
    def patience(self) -> int:
        """Rounds without a lower loss after which to stop: more, the less a tree adds."""
        return max(MIN_PATIENCE, round(2.0 / self.rate))

    def make_rules(
        self, deadline: Deadline, seed: int, monotone: tuple[int, ...]
    ) -> _core.BoostingRules:
        """Return the rules of boosting as the kernels take them."""
        return _core.BoostingRules(
            max_depth=self.depth,
            max_leaves=self.max_leaves,
            symmetric=self.symmetric,
            rate=self.rate,
            l2=L2,
            min_hessian=MIN_HESSIAN,
            max_rounds=self.max_rounds,
            patience=self.patience,
            max_seconds=deadline.left,
            row_share=self.row_share,
            column_share=self.column_share,
            seed=seed,
            scales=np.array(self.scales),
            monotone=np.array(monotone, dtype=np.int32),
        )


RIVAL = BoostingPlan(5, 0.1, 60, 3, 3, scales=(1.0,), max_leaves=12)
"""The model that shows what others miss (`learn_rival`). It takes 0.1 s for 1,000 rows. Others, as
random trees, explain less of the true errors of models; the better of two explains no more."""


@dataclass(frozen=True, eq=False)
class CodedOffsets:
    """Rows in bins (n_rows, n_features), their classes and weights, and scores to start from.

    `score` (n_rows, n_classes) are log probabilities; of two classes their difference, one column.
    """

    bins: NDArray[np.uint8]
    y: NDArray[np.int32]
    weight: NDArray[np.float64] | None
    score: NDArray[np.float32]

    @staticmethod
    def score_of(probabilities: NDArray[np.float64]) -> NDArray[np.float32]:
        """Return the scores of rows with these probabilities to start from."""
        logs = safe_log(probabilities)
        if logs.shape[1] == 2:
            logs = logs[:, 1:] - logs[:, :1]
        return logs.astype(np.float32)


@dataclass(frozen=True, eq=False)
class JudgedRounds:
    """How good boosters were after each round and with each scale, up to the round of the choice.

    `loss` (n_rounds + 1, n_scales, n_boosters) are summed losses of the rows that each booster
    has not seen; `chosen` is the scale of the choice.
    """

    loss: NDArray[np.float64]
    scales: tuple[float, ...]
    chosen: float

    def choose_without(self, booster: int) -> tuple[int, float]:
        """Return the rounds, and the scale as a share of `chosen`, that other boosters choose.

        The rows of the booster have no part in the choice, so they can judge it. A single booster
        has no others, and gets what its own rows choose.
        """
        others = self.loss
        if self.loss.shape[2] > 1:
            others = np.delete(self.loss, booster, axis=2)
        total = others.sum(axis=2)
        n_rounds, scale = np.unravel_index(pick(total.ravel()), total.shape)
        return int(n_rounds), self.scales[scale] / self.chosen


@dataclass(frozen=True, eq=False)
class OffsetBoosting:
    """p(y | x) proportional to exp(log P(y | x) + F_y(x)), with F the mean of some boosters::

        F = whole_share F_all + (1 - whole_share) mean over folds b of F_b

    A booster is a sum of trees that all classes share: a leaf has a value for each class, a Newton
    step on the log-loss of its rows, which starts from out-of-fold probabilities P. Booster b
    learns from all rows but those of fold b. The number of rounds and the scale, a share of the sum
    that is taken, are those of the least log-loss on the rows held out. If `whole_share`
    is not zero, one more booster learns from all rows, for as many rounds.

    `trees` are those of the first booster, then of the second and so on, `n_rounds` each, last
    those of the booster of all rows. `values` (n_nodes, n_classes) are scaled so that F is
    `n_rounds` times the mean of all trees; those of inner nodes serve to explain.
    """

    trees: PackedTrees
    values: NDArray[np.float32]
    n_rounds: int
    depth: int
    whole_share: float = 0.0

    @classmethod
    def fit(
        cls,
        columns: Sequence[NDArray[Any]],
        y: NDArray[np.int32],
        weight: NDArray[np.float64] | None,
        probabilities: NDArray[np.float64],
        plan: BoostingPlan,
        *,
        monotone: tuple[int, ...] = (),
        group: NDArray[np.intp] | None = None,
        seed: int,
        n_threads: int,
        deadline: Deadline,
    ) -> tuple[OffsetBoosting | None, NDArray[np.float64]]:
        """Learn from rows whose probabilities come from models that have not seen them.

        Rows with a NaN are left out. Returns None for the boosting if trees do not lower the loss
        of held-out rows; and the corrected probabilities of each row by the booster that has not
        seen it, NaN for rows that all have seen. Of two classes, F_1 - F_0 does not fall with
        features whose entry in `monotone` is 1, and does not rise with those whose entry is -1.
        Rows of a `group` are held out together.
        """
        held_out = np.full(probabilities.shape, np.nan)
        rows = np.flatnonzero(~np.isnan(probabilities).any(axis=1))
        if len(rows) < len(y):
            columns = [np.ascontiguousarray(column[rows]) for column in columns]
        y, offset = np.ascontiguousarray(y[rows]), safe_log(probabilities[rows])
        weight = None if weight is None else weight[rows]
        group = None if group is None else group[rows]
        generator = np.random.default_rng(seed)
        folds = deal_into_folds(y, plan.n_folds, generator, group).astype(np.int32)
        n_whole = int(plan.whole_share > 0.0)
        folds[folds >= plan.n_boosters] = plan.n_boosters + n_whole
        boosted = _core.boost(
            columns, y, weight, offset, folds, plan.n_boosters + n_whole,
            plan.make_rules(deadline, seed, monotone), n_threads,
        )  # fmt: skip
        best = cls._choose_rounds(plan, *boosted)
        if best is None:
            return None, held_out
        boosting, judged = best
        for fold in range(plan.n_boosters):
            held = np.flatnonzero(folds == fold)
            own = [column[held] for column in columns]
            held_out[rows[held]] = boosting._take_booster(
                fold, *judged.choose_without(fold)
            ).predict_proba(own, probabilities[rows[held]], n_threads)
        return boosting._share_out(plan.whole_share), held_out

    @classmethod
    def fit_coded(
        cls,
        bins: BoostingBins,
        rows: CodedOffsets,
        n_held: int,
        plan: BoostingPlan,
        *,
        monotone: tuple[int, ...] = (),
        seed: int,
        n_threads: int,
        deadline: Deadline,
    ) -> OffsetBoosting | None:
        """Learn one booster from rows in bins, all but the last `n_held`, which judge it.

        Returns None if trees do not lower the loss of these.
        """
        boosted = _core.boost_coded(
            rows.bins, bins.edges, bins.is_nominal, rows.y, rows.weight, rows.score, n_held,
            plan.make_rules(deadline, seed, monotone), n_threads,
        )  # fmt: skip
        best = cls._choose_rounds(plan, *boosted)
        return None if best is None else best[0]

    @classmethod
    def _choose_rounds(
        cls,
        plan: BoostingPlan,
        tree_start: NDArray[np.int64],
        nodes: NDArray[Any],
        values: NDArray[np.float64],
        loss: NDArray[np.float64],
        booster_loss: NDArray[np.float64],
    ) -> tuple[OffsetBoosting, JudgedRounds] | None:
        """Return the boosting of the rounds and the scale of the least held-out loss.

        None if that is the loss without trees.
        """
        n_rounds, scale = np.unravel_index(pick(loss.ravel()), loss.shape)
        if n_rounds == 0:
            return None
        trees = PackedTrees.from_nodes(tree_start, nodes)
        scaled = (plan.scales[scale] * values).astype(np.float32)
        own_loss = booster_loss[: n_rounds + 1, :, : plan.n_boosters]
        judged = JudgedRounds(own_loss, plan.scales, plan.scales[scale])
        return cls(trees, scaled, int(n_rounds), plan.depth), judged

    def predict_proba(
        self,
        columns: Sequence[NDArray[Any]],
        probabilities: NDArray[np.float64],
        n_threads: int,
    ) -> NDArray[np.float64]:
        """Correct the probabilities of rows, given the columns of their features."""
        n_rows = len(probabilities)
        mean = _core.average_forest(self.trees, columns, n_rows, self.values, n_threads)
        return softmax(safe_log(probabilities) + self.n_rounds * mean)

    def as_step(self, base: Pool) -> Boosted:
        """Return the step that corrects what a pool predicts."""
        none = np.empty(0)
        trees = Trees(
            self.trees, self.values, float(self.n_rounds), False,
            np.empty(0, dtype=np.int32), none, none,
        )  # fmt: skip
        return Boosted(base, trees, self.n_rounds, self.whole_share)

    def _share_out(self, whole_share: float) -> OffsetBoosting:
        """Return the boosting whose last booster has this share of F, if it is not zero."""
        if whole_share == 0.0:
            return self
        values, n_boosters = self.values.copy(), self.trees.n_trees // self.n_rounds
        whole = self.trees.tree_start[-1 - self.n_rounds]
        values[:whole] *= (1.0 - whole_share) * n_boosters / (n_boosters - 1)
        values[whole:] *= whole_share * n_boosters
        return replace(self, values=values, whole_share=whole_share)

    def _take_booster(
        self, booster: int, n_rounds: int | None = None, scale: float = 1.0
    ) -> OffsetBoosting:
        """Return the boosting by one booster alone: its first trees, times a scale."""
        n_rounds = self.n_rounds if n_rounds is None else n_rounds
        first = booster * self.n_rounds
        last = first + max(1, n_rounds)
        nodes = slice(self.trees.tree_start[first], self.trees.tree_start[last])
        trees = self.trees.take(first, last)
        values = self.values[nodes] if scale == 1.0 else np.float32(scale) * self.values[nodes]
        return OffsetBoosting(trees, values, n_rounds, self.depth)


def learn_rival(
    columns: Sequence[NDArray[Any]],
    y: NDArray[np.int32],
    weight: NDArray[np.float64] | None,
    shares: NDArray[np.float64],
    *,
    group: NDArray[np.intp] | None,
    n_threads: int,
) -> NDArray[np.float64]:
    """Return out-of-fold probabilities of boosted trees that start from the shares of the classes.

    They show what another model misses.
    """
    start = np.tile(shares, (len(y), 1))
    # Codes of unknown values are -1.
    known = [c + np.int32(1) if c.dtype == np.int32 else c for c in columns]
    _, proba = OffsetBoosting.fit(
        known, y, weight, start, RIVAL,
        group=group, seed=0, n_threads=n_threads, deadline=Deadline.after(None),
    )  # fmt: skip
    return np.where(np.isnan(proba), start, proba)
