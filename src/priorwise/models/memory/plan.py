"""How much memory a fit takes, and how to make it take less.

Estimates are rough: they are for rows without structure, which have most contexts and nodes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from joblib import effective_n_jobs
from sklearn.base import clone

from priorwise.common.resources import parse_bytes
from priorwise.counts.coded_rows import MAX_KEPT_FEATURES
from priorwise.models.memory.bounds import (
    DRAWN_PER_ROW,
    MAX_COPIES,
    MAX_DRAWN,
    MAX_GAUSSIAN_VALUES,
    MAX_IMITATED_ROWS,
    MAX_KERNEL_ROWS,
    MAX_NETWORK_FEATURES,
    MAX_SCORED_ROWS,
    MAX_SCORES,
    MAX_SPLINE_ROWS,
    MAX_SPLINED,
    MIN_SCORED_ROWS,
)
from priorwise.models.training_table import TrainingTable

KEPT_SHARE = 0.25
"""What a fitted member keeps, as a share of what it took above the table."""

N_BINS = 8
"""Bins of a numeric feature."""

MAX_LEAVES = 63
"""Most leaves of a boosted tree whose number of leaves depends on the rows of the table."""

MAX_DEPTH, SYMMETRIC_DEPTH = 12, 7
"""Most levels of a boosted tree, and of a symmetric one, if `max_depth` is "auto"."""

MIN_SYMMETRIC_ROWS = 5_000
"""From so many rows on symmetric boosted trees are tried too: with fewer rows they are no better,
and a trial says less."""

MIN_TREES, MIN_LANDMARKS, MAX_MIN_LEAF = 10, 50, 64
"""Members are not made smaller than this."""


@dataclass(frozen=True)
class TableSize:
    """What an estimate knows of a table: its rows, features and classes."""

    n_rows: int
    n_numeric: int
    n_labels: tuple[int, ...]
    """Number of labels of each nominal feature."""
    n_classes: int

    @classmethod
    def of(cls, table: TrainingTable) -> TableSize:
        """Return the size of a table."""
        n_labels = tuple(table.n_labels.tolist())
        n_numeric = table.encoder.n_features_in_ - len(n_labels)
        return cls(table.n_rows, n_numeric, n_labels, table.n_classes)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.n_numeric + len(self.n_labels)

    @property
    def mean_arity(self) -> float:
        """Geometric mean of the number of values of a feature, numbers cut into bins."""
        logs = sum(math.log(max(1, n)) for n in self.n_labels) + self.n_numeric * math.log(N_BINS)
        return math.exp(logs / max(1, self.n_features))

    def count_contexts(self, n_parents: int) -> float:
        """Return the number of contexts of a feature with so many parents, at all levels.

        Those that occur if rows fall into contexts at random.
        """
        total, n_cells = 1.0, float(self.n_classes)
        for _ in range(n_parents + 1):
            total += -self.n_rows * math.expm1(-n_cells / self.n_rows)
            n_cells = min(n_cells * self.mean_arity, 1e18)
        return total


def estimate_table(size: TableSize) -> float:
    """Bytes of a table that has been read and put in order, and of probabilities of rows."""
    per_row = 20.0 * size.n_numeric + 10.0 * len(size.n_labels) + 16.0 * size.n_classes + 40.0
    return size.n_rows * per_row


def estimate_forest(size: TableSize, parameters: Mapping[str, Any]) -> float:
    """Bytes at the peak of a fit of a forest."""
    is_random, least = parameters["splitter"] == "random", float(parameters["min_samples_leaf"])
    share = parameters["max_samples"] if is_random and parameters["bootstrap"] else 1.0
    n_nodes = 1.5 * share * size.n_rows / max(1.0, least)
    if parameters["max_depth"] is not None:
        n_nodes = min(n_nodes, 2.0 ** min(1 + parameters["max_depth"], 60))
    # Trees are copied when they are pruned; from 5,000 rows on, few nodes are left then.
    n_copies = 1.0 if size.n_rows < 5_000 else 0.25
    per_node = 16.0 + n_copies * (16.0 + min(4.0 * size.n_classes, 140.0))
    if not is_random:
        per_node = 40.0 + 8.0 * size.n_classes
    per_tree = 5.0 * size.n_rows + n_nodes * per_node
    # Rows that judge strengths of shrinkage, or columns sorted.
    besides = 8.0 * size.n_rows * size.n_features
    if is_random:
        besides = min(size.n_rows, 5_000) * (1152.0 if size.n_rows >= 5_000 else 144.0)
    return estimate_table(size) + besides + parameters["n_estimators"] * per_tree


def estimate_tree(size: TableSize, parameters: Mapping[str, Any]) -> float:
    """Bytes at the peak of a fit of one tree."""
    n_nodes = 1.5 * size.n_rows / max(1.0, float(parameters["min_samples_leaf"]))
    per_node = 200.0 + 100.0 * size.n_classes
    own = estimate_table(size) + 20.0 * size.n_rows * size.n_features + n_nodes * per_node
    asked, is_free = parameters["teacher"] == "forest", parameters["min_samples_leaf"] <= 2
    if asked or (parameters["teacher"] == "auto" and is_free and size.n_rows <= MAX_IMITATED_ROWS):
        return max(own, estimate_imitation(size))
    return own


def estimate_imitation(size: TableSize) -> float:
    """Bytes at the peak of a fit of a tree that imitates a forest of 100 trees."""
    n_drawn = max(size.n_rows, min(DRAWN_PER_ROW * size.n_rows, MAX_DRAWN))
    n_copies = min(n_drawn * size.n_classes, max(MAX_COPIES, size.n_rows * size.n_classes))
    drawn = n_drawn * (16.0 * size.n_features + 24.0 * size.n_classes)
    forest = 600.0 * size.n_rows
    return estimate_table(size) + drawn + 27.0 * n_copies * size.n_features + forest


def estimate_networks(
    size: TableSize, parameters: Mapping[str, Any], *, n_parents: int = 0, is_family: bool = False
) -> float:
    """Bytes at the peak of a fit of a network, or of a family with one network for each feature.

    `n_parents` is the number of parents where there is no parameter `max_parents`.
    """
    n_parents = int(parameters.get("max_parents", n_parents))
    if parameters.get("structure") is not None:
        n_parents = max(map(len, parameters["structure"].parents), default=0)
    n_trees = size.n_features * (size.n_features if is_family else 1)
    contexts = n_trees * size.count_contexts(min(n_parents, size.n_features - 1))
    pairs = 0.0 if n_parents == 0 else estimate_pairs(size)
    return estimate_table(size) + pairs + contexts * _bytes_per_context(size)


def estimate_ensemble(size: TableSize, parameters: Mapping[str, Any]) -> float:
    """Bytes at the peak of a fit of an ensemble of networks.

    A thread learns one member at a time, and counts one feature of it at a time.
    """
    n_parents = min(int(parameters["max_parents"]), size.n_features - 1)
    contexts = size.count_contexts(n_parents) * _bytes_per_context(size)
    if parameters["recipe"] == "thesis":
        contexts *= size.n_features
    per_row = size.n_classes * (n_parents + 1) * min(size.n_features, MAX_NETWORK_FEATURES)
    n_scored = min(size.n_rows, MAX_SCORED_ROWS, max(MIN_SCORED_ROWS, MAX_SCORES // per_row))
    pairs = estimate_pairs(size)
    per_member = 20.0 * size.n_rows * size.n_features + 12.0 * n_scored * per_row + pairs + contexts
    distinct_values = 76.0 * size.n_rows * size.n_numeric
    return estimate_table(size) + distinct_values + parameters["n_jobs"] * per_member


def estimate_pairs(size: TableSize) -> float:
    """Bytes of the information between features; of wide tables not all pairs are kept."""
    is_wide = size.n_features > min(size.n_rows, MAX_KEPT_FEATURES)
    return 24.0 * size.n_features * (64 if is_wide else size.n_features)


def estimate_spline(size: TableSize, parameters: Mapping[str, Any]) -> float:
    """Bytes at the peak of a fit of a logistic regression with splines."""
    per_row = (150.0 if size.n_numeric <= MAX_SPLINED else 24.0) * size.n_numeric
    per_row += 12.0 * len(size.n_labels) + 24.0 * size.n_classes
    return estimate_table(size) + min(size.n_rows, MAX_SPLINE_ROWS) * per_row


def estimate_kernel(size: TableSize, parameters: Mapping[str, Any]) -> float:
    """Bytes at the peak of a fit of a logistic regression on a kernel."""
    n_cells = min(size.n_rows, MAX_KERNEL_ROWS) * min(size.n_rows, int(parameters["n_landmarks"]))
    return estimate_table(size) + 20.0 * n_cells + 24.0 * parameters["n_landmarks"] ** 2


def may_be_symmetric(symmetric: bool | str, max_leaf_nodes: int | str | None, n_rows: int) -> bool:
    """Return whether boosted trees are symmetric, or perhaps are if `symmetric` is "auto"."""
    if symmetric != "auto":
        return bool(symmetric)
    return n_rows >= MIN_SYMMETRIC_ROWS and (max_leaf_nodes is None or max_leaf_nodes == "auto")


def estimate_boosting(size: TableSize, parameters: Mapping[str, Any]) -> float:
    """Bytes at the peak of a fit of boosting: bins, and scores and slopes of each booster."""
    width = 1 if size.n_classes == 2 else size.n_classes
    n_boosters = parameters["n_folds"] + 1
    per_row = 10.0 * size.n_features + width * (16.0 + 16.0 * n_boosters)
    depth, most = parameters["max_depth"], parameters["max_leaf_nodes"]
    n_leaves = 2.0 ** (MAX_DEPTH if depth == "auto" else depth)
    if most is not None:
        n_leaves = min(n_leaves, MAX_LEAVES if most == "auto" else most)
    if may_be_symmetric(parameters["symmetric"], most, size.n_rows):
        n_leaves = max(n_leaves, 2.0 ** (SYMMETRIC_DEPTH if depth == "auto" else depth))
    n_nodes = n_boosters * parameters["max_rounds"] * 2.0 * n_leaves
    return estimate_table(size) + size.n_rows * per_row + n_nodes * (24.0 + 12.0 * size.n_classes)


def estimate_gaussian(size: TableSize, parameters: Mapping[str, Any]) -> float:
    """Bytes at the peak of a fit of Gaussians."""
    n_values = min(size.n_numeric, MAX_GAUSSIAN_VALUES)
    matrices = 40.0 * (1 + size.n_classes * (1 + 5 * int(parameters["max_parents"] > 0)))
    per_row = 24.0 * n_values + 40.0 * size.n_classes
    return estimate_table(size) + matrices * n_values**2 + size.n_rows * per_row


def estimate_pool(size: TableSize, n_members: int) -> float:
    """Bytes that a pool takes besides its members: out-of-fold probabilities and boosting."""
    return size.n_rows * (16.0 * n_members * size.n_classes + 12.0 * size.n_features)


def estimate_unseen_row(size: TableSize, n_members: int) -> tuple[float, float]:
    """Bytes of a row that weights and boosting of a pool learn from, but no member.

    The first are taken while members learn, the second while weights and boosting do.
    """
    held = 8.0 * size.n_numeric + 4.0 * len(size.n_labels) + 12.0
    scores = 24.0 * (n_members + 3) * size.n_classes
    return held, 2.0 * held + 2.0 * size.n_features + scores + 50.0


def estimate_boosted_row(size: TableSize) -> float:
    """Bytes of a row that boosting learns from in bins: as it is held, and while trees grow."""
    width = 1 if size.n_classes == 2 else size.n_classes
    return size.n_features + 4.0 * width + 4.0 + 16.0 * width + 20.0


def _bytes_per_context(size: TableSize) -> float:
    return 40.0 + 16.0 * min(size.mean_arity, 8.0)


Smaller = Callable[[Any], Any]
"""Returns the next smaller setting of a parameter, None if there is none."""


@dataclass(frozen=True)
class MemoryFamily:
    """How the memory of some classifiers is estimated, and which parameters lower it.

    `reductions` has first what costs least accuracy.
    """

    estimate: Callable[[TableSize, Mapping[str, Any]], float]
    reductions: Mapping[str, Smaller] = field(default_factory=dict)


def _halve(least: int) -> Smaller:
    return lambda value: max(least, int(value) // 2) if value > least else None


def _halve_leaves(value: int | str | None) -> int | None:
    n_leaves = MAX_LEAVES if value is None or isinstance(value, str) else value
    return max(2, n_leaves // 2) if n_leaves > 2 else None


def _take_level(value: int | str) -> int | None:
    depth = SYMMETRIC_DEPTH if isinstance(value, str) else value
    return depth - 1 if depth > 1 else None


FEWER_THREADS = {"n_jobs": _halve(1)}
FEWER_PARENTS = {"max_parents": lambda value: value - 1 if value > 0 else None}
LARGER_LEAVES = {"min_samples_leaf": lambda n: 2 * n if n < MAX_MIN_LEAF else None}

FOREST = MemoryFamily(estimate_forest, {**LARGER_LEAVES, "n_estimators": _halve(MIN_TREES)})
TREE = MemoryFamily(estimate_tree, LARGER_LEAVES)
NAIVE = MemoryFamily(estimate_networks)
ONE_PARENT = MemoryFamily(partial(estimate_networks, n_parents=1))
AVERAGED_ONE_PARENT = MemoryFamily(partial(estimate_networks, n_parents=1, is_family=True))
NETWORK = MemoryFamily(estimate_networks, FEWER_PARENTS)
NETWORK_FAMILY = MemoryFamily(
    partial(estimate_networks, is_family=True),
    {"max_parents": lambda value: value - 1 if value > 1 else None},
)
ENSEMBLE = MemoryFamily(estimate_ensemble, {**FEWER_THREADS, **FEWER_PARENTS})
BOOSTING = MemoryFamily(
    estimate_boosting, {"max_leaf_nodes": _halve_leaves, "max_depth": _take_level}
)
SPLINE = MemoryFamily(estimate_spline)
GAUSSIAN = MemoryFamily(estimate_gaussian)
KERNEL = MemoryFamily(estimate_kernel, {"n_landmarks": _halve(MIN_LANDMARKS)})

MIN_SAVING = 0.02
"""A parameter is lowered only if that saves at least this share of the estimate."""


@dataclass(frozen=True)
class Reduction:
    """Parameters of a classifier that were lowered, and the estimates with and without."""

    before: float
    after: float
    old: Mapping[str, Any]
    new: Mapping[str, Any]

    @classmethod
    def find(
        cls, family: MemoryFamily, size: TableSize, parameters: Mapping[str, Any], limit: float
    ) -> Reduction:
        """Lower parameters until the estimate is within a limit, or nothing more can be saved."""
        n_jobs = int(effective_n_jobs(parameters["n_jobs"]))
        now = {**parameters, "n_jobs": n_jobs}
        before = estimate = family.estimate(size, now)
        new: dict[str, Any] = {}
        for name, smaller in family.reductions.items():
            while estimate > limit and (value := smaller(now[name])) is not None:
                lower = family.estimate(size, {**now, name: value})
                if lower > (1.0 - MIN_SAVING) * estimate:
                    break
                now[name] = new[name] = value
                estimate = lower
        return cls(before, estimate, {name: parameters[name] for name in new}, new)

    def __str__(self) -> str:
        pairs = ((name, new, self.old[name]) for name, new in self.new.items())
        return ", ".join(f"{name}={new!r} instead of {old!r}" for name, new, old in pairs)


@dataclass(frozen=True)
class PoolReduction:
    """What members of a pool learn less, so that all of them stay within a limit.

    `members` are clones with lowered parameters by name; `texts` says of each what was lowered.
    """

    before: float
    least: float
    """Bytes of the smallest pool that could be learnt."""
    members: Mapping[str, Any]
    left_out: frozenset[str]
    texts: Mapping[str, str]

    @classmethod
    def find(
        cls, estimators: Mapping[str, Any], n_members: int, size: TableSize, limit: float
    ) -> PoolReduction:
        """Lower the parameters of members in turn; one that still takes too much is left out.

        A member has what the limit leaves besides the pool and what members before it keep.
        Classifiers that cannot be estimated are taken as they are.
        """
        taken, members, texts, left_out = estimate_pool(size, n_members), {}, {}, set()
        before, least = taken, math.inf
        for name, estimator in estimators.items():
            if getattr(estimator, "memory_family", None) is None:
                continue
            room, own = limit - taken, estimator.memory_limit
            room = room if own is None else min(room, parse_bytes(own))
            parameters = estimator.get_params(deep=False)
            reduction = Reduction.find(estimator.memory_family, size, parameters, room)
            before = max(before, taken + reduction.before)
            least = min(least, taken + reduction.after)
            if reduction.after > room:
                left_out.add(name)
                texts[name] = "left out"
                continue
            if reduction.new:
                members[name] = clone(estimator).set_params(**reduction.new)
                texts[name] = str(reduction)
            taken += KEPT_SHARE * (reduction.after - estimate_table(size))
        return cls(before, least, members, frozenset(left_out), texts)
