"""The numbers that the flagship is planned by.

Each names another value and what that value costs. `docs/pool_numbers.md` is written from here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


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


SETS = "66 sets of 60 to 1,590 rows"
"""Half of each was learnt, by the effort "balanced"."""

FEW = "6 to 40 rows of 45 sets, tested on the others"
"""The effort "balanced", on two draws of 6, 10, 16, 24 and 40 rows. Without both numbers, as the
pool was before, the log-loss is 1.02, 1.02, 1.09, 1.03 and 1.003 times as large."""
NOISE = "200 tables of 4 to 20 rows of noise"
"""Numbers and labels, and classes that are independent of them and equally frequent."""

LARGER_SETS = "8 sets of 5,000 to 20,000 rows"
"""adult, connect-4, covtype, kr-vs-k, letter, magic, pendigits and sign: half of the rows of each,
of at most 20,000 that were drawn."""


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
        "Fewest trees for each class, however many rows: with more classes a forest takes little "
        "more time, and boosting much more",
        0, 1.0100, 0.0104, "20,000 rows of connect-4 and covtype", "2026-11-18",
    )
    grown_share: float = chosen(
        0.7, "Share of the rows that a tree is grown from", 0.5,
        1.0023, 0.0018, SETS, "2026-11-19",
    )
    grown_rows: int = chosen(
        140_000, "Most rows that a tree is grown from", 40_000,
        1.0741, 0.0708, "120,000 rows of covtype and census-income-kdd", "2026-11-19",
    )
    network_rows: int = chosen(
        125_000, "Most rows times networks", 60_000,
        1.0081, 0.0029, "magic, letter and kr-vs-k", "2026-11-18",
    )
    network_classes: int = chosen(
        500, "Most classes times networks", 10_000,
        0.9885, 0.0105, "plant-species-leaves-margin and -shape, in 1.3 times the time",
        "2026-11-19",
    )
    min_networks: int = chosen(5, "Fewest networks", 3, 1.0025, None, "connect-4", "2026-11-18")
    max_parents: int = chosen(
        2, "Most parents of a feature in a network, beside the class", 4,
        0.9997, 0.0026, f"{SETS}, in 1.1 times the time", "2026-11-19",
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
        6_000, 1.0236, None, "cnae-9", "2026-11-19",
    )
    few_rows: int = chosen(
        2_000,
        "Most rows times networks up to which there are more than `n_networks`, at most "
        "`max_networks`",
        1_000, 1.0044, 0.0048, f"15 of the {SETS}", "2026-11-19",
    )
    kernel_rows: int = chosen(
        5_000, "Most rows of a table with a kernel member", 1_000,
        1.0394, 0.0434,
        "3,000 rows of letter, kr-vs-k, pendigits, covtype and artificial-characters", "2026-11-19",
    )
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
        1, 1.1687, 0.0864, f"3 of the {SETS}", "2026-11-19",
    )
    booster_rows: int = chosen(
        750, "Fewest rows of a table with a booster as a member", 5_000,
        1.0296, 0.0279, "14 sets of 2,050 to 5,500 rows", "2026-11-19",
    )
    booster_classes: int = chosen(
        10, "Most classes of a table with a booster as a member", 5,
        1.0164, 0.0127, "satellite and pendigits", "2026-11-18",
    )
    booster_scores: int = chosen(
        500_000, "Most rows times classes of a table with a booster as a member", 250_000,
        1.0139, None, "60,000 rows of covtype", "2026-11-19",
    )
    symmetric_scores: int = chosen(
        100_000,
        "Most rows times classes of a table where the booster tries symmetric trees, of which it "
        "needs many; it tries them from 5,000 rows on",
        0, 1.0278, 0.0237, "satellite, pendigits, magic and adult", "2026-11-18",
    )
    booster_folds: int = chosen(
        4, "Most folds of the booster", 2,
        1.0071, 0.0084, f"6 of the {LARGER_SETS}", "2026-11-19",
    )
    fold_rows: int = chosen(
        400_000, "Most rows times folds of the booster; there are at least two folds", 200_000,
        1.0017, None, "120,000 rows of census-income-kdd", "2026-11-19",
    )
    boosted_rows: int = chosen(
        500, "Fewest rows to boost the pool: fewer say too little of what is left to learn", 1_000,
        1.0016, 0.001, f"11 of the {SETS}", "2026-11-19",
    )
    boosted_rows_per_class: int = chosen(
        20, "Fewest rows for each class to boost the pool", 1,
        1.0, 0.0, "plant-species-leaves-margin and -shape, in 3.4 times the time", "2026-11-19",
    )
    boosters_rows: int = chosen(
        80_000, "Most rows times boosters of the pool", 40_000,
        1.0041, 0.0028, "magic, letter, kr-vs-k, adult and connect-4", "2026-11-18",
    )
    column_share: float = chosen(
        0.7, "Share of the features that a boosted tree is grown from", 1.0,
        1.0005, 0.0049, f"{LARGER_SETS}, in 1.3 times the time", "2026-11-19",
    )
    floor: float = chosen(
        1e-3, "Least probability of a member: smaller ones are raised to it", 1e-4,
        1.0044, 0.0025, SETS, "2026-11-19",
    )
    floor_rows: float = chosen(
        4.0,
        "Rows below which members say nothing: after n rows, probabilities below (4 / n)^3 are "
        "raised to it, if that is more than `floor`",
        0.0, 1.0167, 0.0031, f"{NOISE}; 0.968 ± 0.010 on {FEW}", "2026-11-19",
    )
    half_weight_rows: float = chosen(
        18.0,
        "Rows by which weights are drawn towards half as much as by many: towards a share of "
        "1 / (1 + (18 / n)^3) by n rows, since members are too sure of themselves there",
        0.0, 1.0643, 0.0086, f"{NOISE}; 0.955 ± 0.021 on {FEW}", "2026-11-19",
    )
    total_weight: float = chosen(
        1.75,
        "Most that the weights add up to towards which a ridge penalty draws those of members, "
        "else 1 / 2 each",
        2.5, 1.0073, 0.0048, SETS, "2026-11-19",
    )
    penalty: float = chosen(
        5.0, "Ridge penalty that draws the weights of members there, in large tables", 10.0,
        1.0074, 0.0031, SETS, "2026-11-19",
    )
    penalty_rows: int = chosen(
        100, "Rows of a table that has twice this penalty: n rows have 1 + 100 / n times it", 0,
        1.0072, 0.0031, "31 sets of 20 to 400 rows, three dealings, the pool without boosting",
        "2026-11-19",
    )
    intercept_penalty: float = chosen(
        5.0, "Ridge penalty that draws the intercepts of classes towards zero", 20.0,
        1.0051, 0.0013, "74 sets of 20 to 2,000 rows, the pool without boosting", "2026-11-19",
    )
    shares: tuple[float, ...] = chosen(
        (1.0, 0.5, 0.1),
        "Parts of the score that the pool may have; the shares of the classes have the rest. The "
        "last is not zero, so that intervals still see how far members differ",
        (1.0,), 1.0045, 0.0025,
        "29 generated tables of noise; 0.9970 ± 0.0024 on 74 sets of 20 to 2,000 rows",
        "2026-11-19",
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

    # fmt: off
    n_networks: int = compared(
        "Networks, apart from the tables named next", 5,
        1.0031, 0.0013, f"38 of the {SETS}", "2026-11-19",
    )
    max_networks: int = compared(
        "Networks where classes are nearly a function of the features (`max_estimators`)", 10,
        1.0039, 0.0030, SETS, "2026-11-19",
    )
    n_dealings: int = compared(
        "Dealings of the rows into folds, for networks to take turns",
        1, 1.0125, 0.0053, SETS, "2026-11-19",
    )
    recount: bool = compared(
        "Whether tables of networks count all rows to predict new ones", False,
        1.0091, 0.0023, SETS, "2026-11-19",
    )
    n_trees: int = compared("Trees", 40, 1.0023, 0.0012, SETS, "2026-11-19")
    n_landmarks: int = compared(
        "Most landmarks of the kernel", 200, 1.0067, 0.0036, SETS, "2026-11-19",
    )
    bandwidths: tuple[float, ...] = compared(
        "Bandwidths of the kernel to choose from", (1.0,), 1.0045, 0.0051, SETS, "2026-11-19",
    )
    n_folds: int | str = compared(
        "Folds of the logistic regressions", 5, 1.0035, 0.0014, SETS, "2026-11-19",
    )
    tol: float = compared(
        "How closely their weights are found", 1e-3, 1.0009, 0.0010, SETS, "2026-11-19",
    )
    has_linear: bool = compared(
        "Whether there is a linear member beside the kernel; there is one without a kernel", False,
        1.0024, 0.0038, SETS, "2026-11-19",
    )
    has_booster: bool = compared(
        "Whether boosted trees are a member too", False,
        1.0179, 0.0098, f"6 of the {LARGER_SETS}", "2026-11-19",
    )
    depth: int = compared(
        "Most levels of a tree, below its root, of a booster of the pool", 6,
        1.0043, 0.0063, LARGER_SETS, "2026-11-19",
    )
    max_leaves: int = compared(
        "Most leaves of such a tree; 0 for any number", 31, 1.0070, 0.0076, LARGER_SETS,
        "2026-11-19",
    )
    rate: float = compared(
        "Share of a Newton step that such a tree takes", 0.1, 1.0109, 0.0075, LARGER_SETS,
        "2026-11-19",
    )
    max_rounds: int = compared(
        "Most trees of a booster of the pool", 75, 1.0106, 0.0074, LARGER_SETS, "2026-11-19",
    )
    n_boosters: int = compared(
        "Boosters of the pool, each fitted without one of five folds", 2,
        1.0074, 0.0053, LARGER_SETS, "2026-11-19",
    )
    # fmt: on


EFFORTS = {
    "fast": Effort(
        n_networks=5, max_networks=5, n_dealings=1, recount=False, n_trees=32,
        n_landmarks=64, bandwidths=(1.0,), n_folds=5, tol=1e-3, has_linear=False,
        has_booster=False, depth=6, max_leaves=0, rate=0.3, max_rounds=100, n_boosters=2,
    ),
    "balanced": Effort(
        n_networks=10, max_networks=20, n_dealings=4, recount=True, n_trees=80,
        n_landmarks=1_000, bandwidths=(0.5, 1.0, 2.0, 4.0), n_folds="auto", tol=3e-4,
        has_linear=True, has_booster=True, depth=12, max_leaves=63, rate=0.2, max_rounds=150,
        n_boosters=5,
    ),
}  # fmt: skip
