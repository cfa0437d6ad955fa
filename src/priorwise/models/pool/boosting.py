"""Boosted trees that start from given probabilities and mend what these get wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.common.deadline import Deadline
from priorwise.common.numeric import softmax
from priorwise.models.folds import deal_into_folds
from priorwise.models.pool.explanation import MemberTerms
from priorwise.structure.trees import NODE, PackedTrees

N_FOLDS = 5
MIN_ROWS, MIN_ROWS_PER_CLASS = 500, 20
"""With fewer rows, out-of-fold probabilities say too little of what is left to learn."""

MAX_BOOSTED_ROWS = 150_000
"""Rows times boosters at most: the more rows, the less averaging they need."""

PATIENCE = 20
L2, MIN_HESSIAN = 1.0, 0.1
SCALES = np.array([0.25, 0.5, 0.75, 1.0])


@dataclass(frozen=True)
class BoostingPlan:
    """Which boosters to try: trees of each depth, with steps of `rate`, for at most `max_rounds`.

    `n_boosters` of them, each without one fold of the rows, are averaged.
    """

    depths: tuple[int, ...]
    rate: float
    max_rounds: int
    n_boosters: int


@dataclass(frozen=True, eq=False)
class OffsetBoosting:
    """p(y | x) proportional to exp(log P(y | x) + F_y(x)), with F the mean of some boosters.

    A booster is a sum of trees that all classes share: a leaf has a value for each of them, a
    Newton step on the log-loss of its rows, which starts from the out-of-fold probabilities P.
    Each booster has learnt from all rows but those of a fold of its own; the depth, the number of
    rounds and the scale, a share of their sum that is taken, are those of the least log-loss on
    the rows so held out, together.

    Attributes
    ----------
    trees : PackedTrees
        Those of the first booster, then those of the second and so on, `n_rounds` each.
    values : array (nodes, classes)
        What a node adds to the scores, scaled; the values of inner nodes serve to explain.
    """

    trees: PackedTrees
    values: NDArray[np.float64]
    n_rounds: int
    depth: int

    @classmethod
    def fit(
        cls,
        columns: Sequence[NDArray[Any]],
        y: NDArray[np.int32],
        weight: NDArray[np.float64] | None,
        probabilities: NDArray[np.float64],
        plan: BoostingPlan,
        seed: int,
        n_threads: int,
        deadline: Deadline,
    ) -> OffsetBoosting | None:
        """Learn from rows whose probabilities come from models that have not seen them.

        Rows without probabilities or weight are left out. None if no tree is worth adding, or if
        there are fewer than 500 rows, or 20 times the classes.
        """
        known = ~np.isnan(probabilities).any(axis=1)
        if weight is not None:
            known &= weight > 0.0
        rows = np.flatnonzero(known)
        if len(rows) < max(MIN_ROWS, MIN_ROWS_PER_CLASS * probabilities.shape[1]):
            return None
        n_boosters = max(1, min(plan.n_boosters, MAX_BOOSTED_ROWS // len(rows)))
        table = [np.ascontiguousarray(column[rows]) for column in columns]
        own_y, offset = np.ascontiguousarray(y[rows]), _log(probabilities[rows])
        own_weight = None if weight is None else weight[rows]
        folds = deal_into_folds(own_y, N_FOLDS, np.random.default_rng(seed)).astype(np.int32)
        best, best_loss = None, np.inf
        for depth in plan.depths:
            if deadline.over:
                break
            start, nodes, values, loss = _core.boost(
                table, own_y, own_weight, offset, folds, n_boosters, depth, plan.rate, L2,
                MIN_HESSIAN, plan.max_rounds, PATIENCE, deadline.left, SCALES, n_threads,
            )  # fmt: skip
            n_rounds, scale = np.unravel_index(np.argmin(loss), loss.shape)
            if n_rounds > 0 and loss.min() < best_loss:
                trees = PackedTrees(start, nodes.view(NODE))
                best = cls(trees, SCALES[scale] * values, int(n_rounds), depth)
                best_loss = loss.min()
        return best

    def predict_proba(
        self,
        columns: Sequence[NDArray[Any]],
        probabilities: NDArray[np.float64],
        n_threads: int,
    ) -> NDArray[np.float64]:
        """The probabilities P of the rows, mended."""
        mean = self.trees.average(columns, len(probabilities), self.values, n_threads)
        return np.asarray(softmax(_log(probabilities) + self.n_rounds * mean))

    def explain(self, columns: Sequence[NDArray[Any]], n_rows: int, n_threads: int) -> MemberTerms:
        """What each feature adds to F on the paths of the rows, which sums to it exactly."""
        steps = self.trees.contributions(columns, n_rows, self.values, n_threads)
        bias = self.n_rounds * self.values[self.trees.tree_start[:-1]].mean(axis=0)
        return MemberTerms.of_sums(bias, self.n_rounds * steps)


def _log(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.log(np.maximum(probabilities, np.finfo(float).tiny)))
