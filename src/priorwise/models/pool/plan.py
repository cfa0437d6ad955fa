"""The plan of a pool: members with their settings, and boosting; and the numbers behind it.

`NUMBERS` holds the numbers that limit members, weights and boosting. Each names another value and,
where it has been measured, what that value costs. `docs/pool_numbers.md` is written from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
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
from priorwise.models.trees.boosting import BoostingClassifier
from priorwise.models.trees.forest import ProbabilityForestClassifier

BOOSTER = "booster"
"""Name of the member that boosting the pool without it may replace."""

Members = Sequence[tuple[str, Any]]
"""Names and classifiers."""


@dataclass(frozen=True)
class Origin:
    """What a number means, and how it compares with another value."""

    meaning: str
    instead: Any
    """The other value."""
    loss: float | None = None
    """Geometric mean of log-loss with the other value / log-loss with this one; None if it has not
    been measured."""
    error: float | None = None
    """Standard error of the mean; None for one data set."""
    data: str = ""
    """The data sets whose plan the other value changes."""
    date: str = ""


def chosen(value: Any, meaning: str, instead: Any, *measured: Any) -> Any:
    """Return a field of `PoolNumbers` with its value and origin."""
    return field(default=value, metadata={"origin": Origin(meaning, instead, *measured)})


def compared(meaning: str, instead: Any, *measured: Any) -> Any:
    """Return a field of `Effort`; `instead` is another value for "balanced"."""
    return field(metadata={"origin": Origin(meaning, instead, *measured)})


SMALL_SETS = "30 sets of 100 to 1,000 rows"
"""What numbers of small tables were measured on, by the effort "balanced"."""


MORE_SETS = "72 sets of 60 to 2,500 rows"
"""What sizes of members were measured on: one half of each set was learnt, without boosting
the pool."""


LARGER_SETS = "8 sets of 5,000 to 20,000 rows"
"""adult, connect-4, covtype, kr-vs-k, letter, magic, pendigits and sign."""


@dataclass(frozen=True)
class PoolNumbers:
    """The numbers that pools are planned by, apart from those of the efforts."""

    # fmt: off
    tree_rows: int = chosen(
        1_000_000, "Most rows times trees: of many rows, fewer trees have to be averaged", 500_000,
        1.0033, None, "magic", "2026-11-18",
    )
    tree_classes: int = chosen(
        10_000, "Most classes times trees: more take too much time and too large a file", 5_000,
        1.0021, None, "plant-species-leaves-shape", "2026-11-18",
    )
    trees_per_class: int = chosen(
        20,
        "Fewest trees for each class, up to `max_fewest_trees` in all: with more classes a "
        "forest takes little more time, and boosting much more",
        0, 1.0100, 0.0104, "20,000 rows of connect-4 and covtype", "2026-11-18",
    )
    max_fewest_trees: int = chosen(80, "Most trees that `trees_per_class` asks for", 40)
    grown_share: float = chosen(
        0.7, "Share of the rows that a tree is grown from", 0.5,
        1.017, 0.0165, SMALL_SETS, "2026-11-18",
    )
    grown_rows: int = chosen(140_000, "Most rows that a tree is grown from", 70_000)
    network_rows: int = chosen(
        125_000, "Most rows times networks", 60_000,
        1.0081, 0.0029, "magic, letter and kr-vs-k", "2026-11-18",
    )
    network_classes: int = chosen(
        500, "Most classes times networks", 250,
        0.9999, None, "letter", "2026-11-18",
    )
    min_networks: int = chosen(5, "Fewest networks", 3, 1.0025, None, "connect-4", "2026-11-18")
    max_parents: int = chosen(
        2, "Most parents of a feature in a network, beside the class", 4,
        1.0055, 0.0031, MORE_SETS, "2026-11-18",
    )
    deep_rows: int = chosen(
        5_000, "Fewest rows of a table whose networks have more parents", 100_000_000,
        1.0045, 0.0035, LARGER_SETS, "2026-11-18",
    )
    max_deep_parents: int = chosen(
        4, "Most parents of a feature there", 2,
        1.0045, 0.0035, LARGER_SETS, "2026-11-18",
    )
    network_features: int = chosen(
        12_000,
        "Most features times networks in tables with more features than rows, where networks are "
        "large and much alike",
        6_000,
    )
    few_rows: int = chosen(
        2_000,
        "Most rows times networks up to which there are more than `n_networks`, at most "
        "`max_networks`",
        1_000, 1.012, 0.0086, f"7 of the {SMALL_SETS}", "2026-11-18",
    )
    kernel_rows: int = chosen(5_000, "Most rows of a table with a kernel member", 1_000)
    kernel_scores: int = chosen(
        20_000, "Rows times classes up to which there is a kernel member beyond `kernel_rows`",
        1_000, 1.0156, None, "magic", "2026-11-18",
    )
    linear_classes: int = chosen(
        50,
        "Most classes of a table with both a linear and a kernel member, if it has more numeric "
        "features than splines are made for: the two predict much the same there",
        10_000, 0.9995, None, "plant-species-leaves-shape, in 1.7 times the time", "2026-11-18",
    )
    gaussian_features: int = chosen(
        2,
        "Fewest numeric features of a table with a Gaussian member: of one feature, splines say "
        "the same",
        1, 1.131, 0.1228, f"2 of the {SMALL_SETS}", "2026-11-18",
    )
    booster_rows: int = chosen(
        750, "Fewest rows of a table with a booster as a member", 2_000,
        1.003, 0.0009, f"2 of the {SMALL_SETS}", "2026-11-18",
    )
    booster_classes: int = chosen(
        10, "Most classes of a table with a booster as a member", 5,
        1.0164, 0.0127, "satellite and pendigits", "2026-11-18",
    )
    booster_scores: int = chosen(
        500_000, "Most rows times classes of a table with a booster as a member", 250_000,
    )
    symmetric_scores: int = chosen(
        100_000,
        "Most rows times classes of a table where the booster tries symmetric trees, of which it "
        "needs many; it tries them from 5,000 rows on",
        0, 1.0278, 0.0237, "satellite, pendigits, magic and adult", "2026-11-18",
    )
    booster_folds: int = chosen(
        4, "Most folds of the booster", 2,
        1.0021, 0.0002, f"2 of the {SMALL_SETS}", "2026-11-18",
    )
    fold_rows: int = chosen(
        400_000, "Most rows times folds of the booster; there are at least two folds", 200_000,
    )
    booster_rounds: int = chosen(
        400, "Most trees of a booster that is a member", 200,
        1.0, 0.0, f"2 of the {SMALL_SETS}", "2026-11-18",
    )
    boosted_rows: int = chosen(
        500, "Fewest rows to boost the pool: fewer say too little of what is left to learn", 1_000,
        1.0012, 0.0005, f"2 of the {SMALL_SETS}", "2026-11-18",
    )
    boosted_rows_per_class: int = chosen(20, "Fewest rows for each class to boost the pool", 40)
    boosters_rows: int = chosen(
        80_000, "Most rows times boosters of the pool", 40_000,
        1.0041, 0.0028, "magic, letter, kr-vs-k, adult and connect-4", "2026-11-18",
    )
    column_share: float = chosen(
        0.7, "Share of the features that a boosted tree is grown from", 1.0,
        1.0014, 0.0001, f"2 of the {SMALL_SETS}", "2026-11-18",
    )
    floor: float = chosen(
        1e-3, "Least probability of a member: smaller ones are raised to it", 1e-4,
        1.0057, 0.0119, SMALL_SETS, "2026-11-18",
    )
    total_weight: float = chosen(
        1.75,
        "Most that the weights add up to towards which a ridge penalty draws those of members, "
        "else 1 / 2 each",
        2.5, 0.9982, 0.0021, SMALL_SETS, "2026-11-18",
    )
    penalty: float = chosen(
        5.0, "Ridge penalty that draws the weights of members there, in large tables", 10.0,
        1.0114, 0.0059, SMALL_SETS, "2026-11-18",
    )
    penalty_rows: int = chosen(
        100, "Rows of a table that has twice this penalty: n rows have 1 + 100 / n times it", 0,
        1.0055, None, "23 sets of 24 to 400 rows, weights alone", "2026-11-18",
    )
    intercept_penalty: float = chosen(
        5.0, "Ridge penalty that draws the intercepts of classes towards zero", 20.0,
        0.9992, 0.0011, SMALL_SETS, "2026-11-18",
    )
    n_folds: int = chosen(
        5, "Folds by which the weights of the pool are judged", 3,
        0.9981, 0.0021, SMALL_SETS, "2026-11-18",
    )
    shares: tuple[float, ...] = chosen(
        (1.0, 0.5, 0.1),
        "Parts of the score that the pool may have; the shares of the classes have the rest. The "
        "last is not zero, so that intervals still see how far members differ",
        (1.0,), 0.9979, 0.0021, SMALL_SETS, "2026-11-18",
    )
    weight_rows: int = chosen(
        300_000, "Most rows that the weights of the pool are learnt from", 30_000,
        1.0021, None, "connect-4", "2026-11-18",
    )
    # fmt: on


NUMBERS = PoolNumbers()


@dataclass(frozen=True)
class Effort:
    """How much to learn: sizes of the default members, and settings of boosting."""

    boosting: BoostingPlan
    n_networks: int = compared("Networks elsewhere", 5, 1.0116, 0.0033, MORE_SETS, "2026-11-18")
    max_networks: int = compared(
        "Networks where classes are nearly a function of the features (`max_estimators`)", 10,
        1.0348, 0.0191, "21 sets of 24 to 2,000 rows", "2026-11-18",
    )  # fmt: skip
    n_dealings: int = compared(
        "Dealings of the rows into folds, for networks to take turns; instead: one, with two "
        "networks and not one for each number of bins tried",
        1, 1.0128, 0.0064, "43 sets of 400 to 2,000 rows", "2026-11-18",
    )  # fmt: skip
    recount: bool = compared(
        "Whether tables of networks count all rows to predict new ones; measured for the pool "
        "without boosting",
        False, 1.005, 0.002, "70 sets of 60 to 2,500 rows", "2026-11-18",
    )  # fmt: skip
    n_trees: int = compared("Trees, measured with 100", 40, 1.0039, 0.0049, MORE_SETS, "2026-11-18")
    min_trees: int = compared(
        "Fewest trees, with many rows or classes; `trees_per_class` may ask for more", 20
    )
    n_landmarks: int = compared(
        "Most landmarks of the kernel", 200, 1.0040, 0.0052, MORE_SETS, "2026-11-18"
    )
    bandwidths: tuple[float, ...] = compared(
        "Bandwidths of the kernel to choose from; instead: one, with 64 landmarks and 5 folds",
        (1.0,), 1.0394, 0.0309, MORE_SETS, "2026-11-18",
    )  # fmt: skip
    n_folds: int | str = compared(
        "Folds of the logistic regressions; measured for the kernel, with 200 landmarks and the "
        "other `tol`",
        5, 1.0037, 0.0025, MORE_SETS, "2026-11-18",
    )  # fmt: skip
    tol: float = compared("How closely their weights are found, measured with their folds", 1e-3)
    has_linear: bool = compared(
        "Whether there is a linear member beside the kernel; there is one without a kernel", False
    )
    has_booster: bool = compared(
        "Whether boosted trees are a member too", False, 1.0031, 0.0034, MORE_SETS, "2026-11-18"
    )


EFFORTS = {
    "fast": Effort(
        n_networks=5, max_networks=5, n_dealings=1, recount=False, n_trees=32, min_trees=32,
        n_landmarks=64, bandwidths=(1.0,), n_folds=5, tol=1e-3, has_linear=False,
        has_booster=False,
        boosting=BoostingPlan(6, 0.3, 100, n_boosters=2),
    ),
    "balanced": Effort(
        n_networks=10, max_networks=20, n_dealings=4, recount=True, n_trees=80, min_trees=40,
        n_landmarks=1_000, bandwidths=(0.5, 1.0, 2.0, 4.0), n_folds="auto", tol=3e-4,
        has_linear=True, has_booster=True,
        boosting=BoostingPlan(12, 0.2, 150, n_boosters=5, max_leaves=63),
    ),
}  # fmt: skip


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
    most = NUMBERS.tree_classes // size.n_classes
    fewest = min(NUMBERS.max_fewest_trees, NUMBERS.trees_per_class * size.n_classes, most)
    n_trees = max(sizes.min_trees, fewest, min(NUMBERS.tree_rows // size.n_rows, most))
    return ProbabilityForestClassifier(
        min(sizes.n_trees, n_trees),
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
        NUMBERS.booster_rounds,
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
        boosting = replace(EFFORTS[effort].boosting, column_share=NUMBERS.column_share)
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
