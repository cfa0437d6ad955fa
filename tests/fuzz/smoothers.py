"""Fuzz target: the smoothers with extreme counts, parameters and shapes of trees.

Whatever the counts and the parameters, a smoother gives rows of finite probabilities that are not
negative and sum to one, or it refuses by name.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fuzz.outcomes import ACCEPTED
from priorwise.counts import CountTree
from priorwise.smoothing import (
    HDP,
    HGS,
    MLE,
    BestOf,
    HierarchicalShrinkage,
    Laplace,
    LevelShrinkage,
    MBranch,
    MEstimate,
    ParentEstimate,
    PitmanYor,
    PruningAverage,
    Smoother,
)
from reference.trees import without_row

COUNTS = (5e-324, 1e-300, 1e-160, 1e-15, 0.1, 1.0, 2.0, 37.0, 1e5, 3e9, 1e14)
"""Weights of rows: a tree takes all of them, some or a single one."""
WHOLE_COUNTS = (1.0, 2.0, 37.0, 1e5, 3e9, 1e14)
TOO_LARGE = (1e16, 1e200, 1e308)
"""Weights of single rows that make a tree too large."""
PARAMETERS = (5e-324, 1e-300, 1e-160, 1e-15, 1e-9, 1e-3, 1.0, 20.0, 1e9, 1e15, 1e160, 1e300, 1e308)
N_OUTCOMES = (1, 2, 3, 7, 64, 65, 300, 10_000)
TYINGS = ("level", "single", "parent", "none")
REFUSED = [
    "counts",
    "weight",
    "m",
    "lam",
    "rate",
    "pseudo_count",
    "stop",
    "prior_shape",
    "prior_rate",
    "learning_rate",
    "tolerance",
    "growth",
    "prior_sd",
    "inference",
]
"""What the message of a refusal may begin with."""


def case(seed: int, index: int) -> str:
    """Draw a tree and a smoother, and check the rows of probabilities.

    Returns "accepted" or the name of the exception. Raises AssertionError if a probability is
    wrong, and whatever the smoother raises that is no refusal by name.
    """
    rng = np.random.default_rng([seed, index])
    weights, path, outcome, n_outcomes = draw_rows(rng)
    # As models do: the candidate of a smoother, not the smoother itself.
    (smoother,) = draw_smoother(rng).candidates()
    try:
        tree = CountTree.from_rows(path, outcome, n_outcomes, weight=weights)
        tree = remove_rows(tree, path, outcome, weights, rng)
        cells = smoother.smooth(tree, int(rng.integers(2**31)))
    except ValueError as error:
        if str(error).split()[0] in REFUSED:
            return type(error).__name__
        raise
    nodes = np.unique(rng.integers(tree.n_nodes, size=20))
    rows = tree.rows(cells, nodes, rest=smoother.rest)
    for numbers in (cells, rows):
        fine = np.isfinite(numbers).all() and (numbers >= 0.0).all()
        assert fine, f"seed {seed}, index {index}: {smoother!r} gives {numbers.min()}"
    error_of_sum = float(np.abs(rows.sum(axis=1) - 1.0).max())
    assert error_of_sum <= 1e-9, f"seed {seed}, index {index}: {smoother!r} is off {error_of_sum}"
    return ACCEPTED


def draw_rows(
    rng: np.random.Generator,
) -> tuple[np.ndarray | None, list[np.ndarray], np.ndarray, int]:
    """Weights, codes of the levels, outcomes and their number."""
    n_rows = int(rng.choice([0, 1, 2, 5, 40]))
    depth = int(rng.choice([0, 1, 2, 3, 60], p=[0.1, 0.3, 0.3, 0.25, 0.05]))
    n_outcomes = int(rng.choice(N_OUTCOMES))
    arity = int(rng.choice([1, 2, 5]))
    path = [rng.integers(arity, size=n_rows).astype(np.int32) for _ in range(depth)]
    # A chain: few levels part the rows.
    if depth > 3:
        path = [np.where(rng.random(n_rows) < 0.05, column, 0).astype(np.int32) for column in path]
    outcome = rng.integers(n_outcomes, size=n_rows).astype(np.int32)
    if rng.random() < 0.1:
        return None, path, outcome, n_outcomes
    counts = WHOLE_COUNTS if rng.random() < 0.5 else COUNTS
    kinds = rng.choice(counts, size=int(rng.choice([1, 2, 3, len(counts)])), replace=False)
    weights = rng.choice(kinds, size=n_rows)
    if rng.random() < 0.3:
        weights = np.where(rng.random(n_rows) < 0.3, 0.0, weights)
    if n_rows > 0 and rng.random() < 0.03:
        weights[0] = rng.choice(TOO_LARGE)
    return weights, path, outcome, n_outcomes


def remove_rows(
    tree: CountTree,
    path: list[np.ndarray],
    outcome: np.ndarray,
    weights: np.ndarray | None,
    rng: np.random.Generator,
) -> CountTree:
    """Take some rows out of the tree again: none, half of them or all."""
    share = rng.choice([0.0, 0.5, 1.0], p=[0.5, 0.25, 0.25])
    for row in np.flatnonzero(rng.random(len(outcome)) < share):
        weight = 1.0 if weights is None else float(weights[row])
        if weight > 0.0:
            codes = [int(column[row]) for column in path]
            # Where large weights have swallowed a small one, it cannot be taken out.
            if row_is_in(tree, codes, int(outcome[row]), weight):
                tree = without_row(tree, codes, int(outcome[row]), weight)
    return tree


def row_is_in(tree: CountTree, codes: list[int], outcome: int, weight: float) -> bool:
    """Whether the tree's leaf has at least this weight of the outcome."""
    node = int(tree.find([np.array([code]) for code in codes], n_rows=1)[0])
    first, last = (int(cell) for cell in tree.row_start[node : node + 2])
    cell = first + int(np.searchsorted(tree.outcome[first:last], outcome))
    return bool(tree.outcome[cell] == outcome and tree.counts[cell] >= weight)


def draw_smoother(rng: np.random.Generator) -> Smoother:
    """A smoother with parameters from both ends of their ranges."""

    def number() -> float:
        return float(rng.choice(PARAMETERS))

    def maybe() -> float | None:
        return None if rng.random() < 0.4 else number()

    def below_one() -> float:
        return float(rng.choice([5e-324, 1e-300, 1e-15, 0.5, 1.0 - 1e-16]))

    def hdp(inference: str) -> Smoother:
        options: dict[str, Any] = {"n_iter": 5, "n_burn_in": 2} if inference == "gibbs" else {}
        kind: Any = HDP
        if rng.random() < 0.4:
            kind = PitmanYor
            options["discount"] = [None, 0.0, 1e-12, 0.5, 0.95][int(rng.integers(5))]
        return kind(
            inference,
            tying=str(rng.choice(TYINGS)),
            prior=str(rng.choice(["diffuse", "thesis"])),
            prior_shape=maybe(),
            prior_rate=maybe(),
            **options,
        )

    makers = (
        MLE,
        lambda: Laplace(bool(rng.integers(2))),
        lambda: MEstimate(number(), backoff=bool(rng.integers(2))),
        lambda: ParentEstimate(number()),
        lambda: MBranch(number()),
        lambda: hdp("variational"),
        lambda: hdp("gibbs"),
        lambda: hdp("gibbs"),
        lambda: HGS("optimised", loss=str(rng.choice(["log", "squared"])), prior_sd=number()),
        lambda: HGS("depth", weight=number(), growth=number()),
        lambda: HGS("published", learning_rate=number(), tolerance=number()),
        LevelShrinkage,
        lambda: HierarchicalShrinkage(number()),
        lambda: PruningAverage(below_one(), pseudo_count=number(), stop=below_one()),
        lambda: BestOf([MEstimate(number())]),
    )
    return makers[int(rng.integers(len(makers)))]()
