"""Out-of-fold probabilities of members joined by weights, and boosting on them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.counts.draws import deal_into_folds
from priorwise.models.pool.weights import PoolWeights
from priorwise.models.training_table import TrainingTable
from priorwise.models.trees.offset_boosting import BoostingPlan, OffsetBoosting

N_FOLDS = 5
"""Number of folds of the rows; the weights that pool a fold are fitted to the others."""


@dataclass(frozen=True, eq=False)
class JoinedMembers:
    """The weights of some members, boosting, and what both give for rows not seen."""

    names: tuple[str, ...]
    weights: PoolWeights
    pooled: NDArray[np.float64]
    boosting: OffsetBoosting | None
    boosted: NDArray[np.float64]
    seconds: float
    """How long boosting took."""

    @classmethod
    def choose(
        cls,
        held_out: Mapping[str, NDArray[np.float64]],
        optional: str,
        table: TrainingTable,
        penalties: tuple[float, float],
        plan_boosting: Callable[[int, int], BoostingPlan | None],
        **options: Any,
    ) -> JoinedMembers:
        """Join all members, or all but an optional one if that has the lower out-of-fold loss.

        Boosting the others is tried only if boosting all lowers the loss by more than the optional
        member does: then it may find more than that member knows.
        """
        joined = cls.fit(held_out, table, penalties, plan_boosting, **options)
        if optional not in held_out or len(held_out) == 1 or joined.boosting is None:
            return joined
        others = {name: proba for name, proba in held_out.items() if name != optional}
        alone = cls.fit(others, table, penalties, lambda *_: None, **options)
        pooled_loss = replace(joined, boosting=None).loss(table)
        if alone.loss(table) - pooled_loss > pooled_loss - joined.loss(table):
            return joined
        without = cls.fit(others, table, penalties, plan_boosting, **options)
        return without if without.loss(table) < joined.loss(table) else joined

    @classmethod
    def fit(
        cls,
        held_out: Mapping[str, NDArray[np.float64]],
        table: TrainingTable,
        penalties: tuple[float, float],
        plan_boosting: Callable[[int, int], BoostingPlan | None],
        *,
        boost: Callable[..., tuple[OffsetBoosting | None, NDArray[np.float64]]] | None = None,
        **options: Any,
    ) -> JoinedMembers:
        """Fit weights to out-of-fold probabilities, then boosting where there is time for it.

        Boosting is fitted to the rows of the table, unless `boost` finds others to learn from.
        """
        probabilities = list(held_out.values())
        generator = np.random.default_rng(options["seed"])
        folds = deal_into_folds(table.y, N_FOLDS, generator, table.group)
        weights, pooled = PoolWeights.fit_and_judge(
            probabilities, table.y, table.weight, folds, *penalties,
            keep_signs=bool(options["monotone"]),
        )  # fmt: skip
        boosting = None
        boosted, start = pooled, time.perf_counter()
        plan = plan_boosting(int(np.isfinite(pooled).all(axis=1).sum()), table.n_classes)
        if plan is not None and not options["deadline"].over:
            if boost is None:
                boosting, boosted = OffsetBoosting.fit(
                    table.feature_columns,
                    table.y,
                    table.weight,
                    pooled,
                    plan,
                    group=table.group,
                    **options,
                )
            else:
                boosting, boosted = boost(weights, table, pooled, plan, **options)
        seconds = time.perf_counter() - start
        return cls(tuple(held_out), weights, pooled, boosting, boosted, seconds)

    @property
    def oof_proba(self) -> NDArray[np.float64]:
        """Probabilities of rows by members, and boosters if any, that have not seen them."""
        if self.boosting is None:
            return self.pooled
        return np.where(np.isnan(self.boosted), self.pooled, self.boosted)

    def loss(self, table: TrainingTable) -> float:
        """Return the mean log-loss of the rows that have out-of-fold probabilities."""
        proba = self.oof_proba
        known = np.flatnonzero(np.isfinite(proba).all(axis=1))
        own = np.maximum(proba[known, table.y[known]], np.finfo(float).tiny)
        return float(-np.average(np.log(own), weights=table.weights[known]))
