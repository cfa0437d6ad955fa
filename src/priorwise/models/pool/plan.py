"""The plan of a pool: members with their settings, and boosting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from priorwise.common.validation import check_choice
from priorwise.counts.draws import N_FOLDS
from priorwise.models.base import TableClassifier
from priorwise.models.correction import BoostingPlan
from priorwise.models.linear.gaussian import GaussianNetworkClassifier
from priorwise.models.linear.kernel import KernelLogisticClassifier
from priorwise.models.linear.spline import MAX_SPLINED, SplineLogisticClassifier
from priorwise.models.memory import PoolReduction, TableSize, refuse, warn_of_reductions
from priorwise.models.networks.eskdb import ESKDBClassifier
from priorwise.models.pool.numbers import EFFORTS, NUMBERS, Effort
from priorwise.models.trees.boosting import BoostingClassifier
from priorwise.models.trees.forest import ProbabilityForestClassifier

BOOSTER = "booster"
"""Name of the member that boosting the pool without it may replace."""

Members = Sequence[tuple[str, Any]]
"""Names and classifiers."""


def plan_members(effort: str, size: TableSize, *, is_monotone: bool = False) -> Members:
    """Return the members of the flagship for a table of a size.

    With `is_monotone`, those that cannot be monotone are left out: networks, Gaussians and kernel.
    """
    check_choice("effort", effort, tuple(EFFORTS))
    sizes, n_rows, n_scores = EFFORTS[effort], size.n_rows, size.n_rows * size.n_classes
    folds: dict[str, Any] = {"n_folds": sizes.n_folds, "tol": sizes.tol}
    has_kernel = not is_monotone and (
        n_rows <= NUMBERS.kernel_rows or n_scores <= NUMBERS.kernel_scores
    )
    members: list[tuple[str, Any]] = [("forest", _plan_forest(sizes, size))]
    few_weights = size.n_numeric <= MAX_SPLINED or size.n_classes <= NUMBERS.linear_classes
    if not has_kernel or (sizes.has_linear and few_weights):
        members.append(("linear", SplineLogisticClassifier(**folds)))
    if size.n_numeric >= NUMBERS.gaussian_features and not is_monotone:
        members.append(("gaussian", GaussianNetworkClassifier(nominal="ignore")))
    if has_kernel:
        kernel = KernelLogisticClassifier(sizes.n_landmarks, bandwidths=sizes.bandwidths, **folds)
        members.append(("kernel", kernel))
    is_large = size.n_classes > NUMBERS.booster_classes or n_scores > NUMBERS.booster_scores
    if sizes.has_booster and n_rows >= NUMBERS.booster_rows and not is_large:
        members.append((BOOSTER, _plan_booster(n_rows, n_scores)))
    if not is_monotone:
        members.append(("networks", _plan_networks(sizes, size)))
    return members


def _plan_forest(sizes: Effort, size: TableSize) -> ProbabilityForestClassifier:
    n_trees = min(
        sizes.n_trees,
        NUMBERS.tree_classes // size.n_classes,
        max(NUMBERS.trees_per_class * size.n_classes, NUMBERS.tree_rows // size.n_rows),
    )
    return ProbabilityForestClassifier(
        max(1, n_trees),
        splitter="random",
        max_samples=min(NUMBERS.grown_share, NUMBERS.grown_rows / size.n_rows),
    )


def _plan_networks(sizes: Effort, size: TableSize) -> ESKDBClassifier:
    limits = [NUMBERS.network_rows // size.n_rows, NUMBERS.network_classes // size.n_classes]
    if size.n_features > size.n_rows:
        limits.append(NUMBERS.network_features // size.n_features)
    most = max(NUMBERS.min_networks, min(limits))
    is_deep = size.n_rows >= NUMBERS.deep_rows
    # As many for each fold.
    more = N_FOLDS * (NUMBERS.few_rows // (N_FOLDS * size.n_rows))
    n_networks = min(max(sizes.n_networks, more), sizes.max_networks)
    return ESKDBClassifier(
        min(n_networks, most),
        max_estimators=min(sizes.max_networks, most),
        n_dealings=sizes.n_dealings,
        recount=sizes.recount,
        max_parents=NUMBERS.max_deep_parents if is_deep else NUMBERS.max_parents,
    )


def _plan_booster(n_rows: int, n_scores: int) -> BoostingClassifier:
    return BoostingClassifier(
        learning_rate="auto",
        symmetric="auto" if n_scores <= NUMBERS.symmetric_scores else False,
        n_folds=min(NUMBERS.booster_folds, max(2, NUMBERS.fold_rows // n_rows)),
        max_features=NUMBERS.column_share,
    )


@dataclass(frozen=True)
class PoolPlan:
    """What a pool learns from a table: made once, from the size of the table."""

    members: tuple[tuple[str, Any], ...]
    penalty: float
    intercept_penalty: float
    boosting: BoostingPlan | None = None
    """Settings of boosting on top of the pool, if there are rows enough; None for none."""
    optional: str = ""
    """Name of a member that boosting the pool without it may replace."""

    @classmethod
    def with_effort(cls, effort: str, members: Members, n_rows: int) -> PoolPlan:
        """Return the plan of the flagship with these members, for a number of rows."""
        sizes = EFFORTS[effort]
        boosting = BoostingPlan(
            sizes.depth,
            sizes.rate,
            sizes.max_rounds,
            sizes.n_boosters,
            column_share=NUMBERS.column_share,
            max_leaves=sizes.max_leaves,
        )
        penalty = NUMBERS.penalty * (1.0 + NUMBERS.penalty_rows / n_rows)
        return cls(tuple(members), penalty, NUMBERS.intercept_penalty, boosting, BOOSTER)

    def plan_boosting(self, n_rows: int, n_classes: int) -> BoostingPlan | None:
        """Return the settings of boosting from a number of rows; None if it is not worth it."""
        fewest = max(NUMBERS.boosted_rows, NUMBERS.boosted_rows_per_class * n_classes)
        if self.boosting is None or n_rows < fewest:
            return None
        n_boosters = min(self.boosting.n_boosters, NUMBERS.boosters_rows // n_rows)
        return replace(self.boosting, n_boosters=max(1, n_boosters))

    def estimate(self, size: TableSize, limit: float) -> PoolReduction:
        """Return what members take, and what they learn less so that a pool keeps a limit."""
        known = {name: one for name, one in self.members if isinstance(one, TableClassifier)}
        return PoolReduction.find(known, len(self.members), size, limit)

    def keep_limit(self, pool: Any, size: TableSize, limit: float) -> PoolPlan:
        """Return the plan of a pool, or one by which it learns less, within a limit of memory."""
        reduction = self.estimate(size, limit)
        left = [(name, one) for name, one in self.members if name not in reduction.left_out]
        if not left:
            raise refuse(pool, limit, reduction.least, size)
        if not reduction.texts:
            return self
        warn_of_reductions(limit, reduction.before, reduction.texts)
        members = tuple((name, reduction.members.get(name, one)) for name, one in left)
        return replace(self, members=members)
