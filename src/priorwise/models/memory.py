"""A limit on the memory of a fit: what it takes by an estimate, and how to make it take less.

Each learner estimates its bytes beside its constants (`estimate_bytes`). Estimates are rough,
and high for most tables: they are those of random rows, which have the most contexts and nodes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any, TypeVar

from joblib import effective_n_jobs
from sklearn.base import BaseEstimator

from priorwise.common.runtime import parse_bytes, warn_user
from priorwise.counts.information import MAX_KEPT_FEATURES
from priorwise.models.training_table import TrainingTable

M = TypeVar("M", bound=Any)

KEPT_SHARE = 0.25
"""What a fitted member keeps, as a share of what it took above the table."""

N_BINS = 8
"""Bins of a numeric feature."""

MIN_SAVING = 0.02
"""A parameter is lowered only if that saves at least this share of the estimate."""

Smaller = Callable[[Any], Any]
"""Returns the next smaller setting of a parameter, None if there is none."""


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
        n_numeric = len(table.encoder.is_nominal_) - len(n_labels)
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

    @property
    def table_bytes(self) -> float:
        """Bytes of the table, read and put in order, and of probabilities of its rows."""
        per_row = 20.0 * self.n_numeric + 10.0 * len(self.n_labels) + 16.0 * self.n_classes + 40.0
        return self.n_rows * per_row

    @property
    def pair_bytes(self) -> float:
        """Bytes of the information between features; of wide tables not all pairs are kept."""
        is_wide = self.n_features > min(self.n_rows, MAX_KEPT_FEATURES)
        return 24.0 * self.n_features * (64 if is_wide else self.n_features)

    def context_bytes(self, n_parents: int) -> float:
        """Return the bytes of the contexts of a feature with `n_parents` parents, at all levels.

        Counted are those that occur if rows fall into contexts at random.
        """
        total, n_cells = 1.0, float(self.n_classes)
        for _ in range(n_parents + 1):
            total += -self.n_rows * math.expm1(-n_cells / self.n_rows)
            n_cells = min(n_cells * self.mean_arity, 1e18)
        return total * (40.0 + 16.0 * min(self.mean_arity, 8.0))


def halve(least: int) -> Smaller:
    """Return a function that halves a setting, down to the least one."""
    return lambda value: max(least, int(value) // 2) if value > least else None


def double(most: int) -> Smaller:
    """Return a function that doubles a setting, whose models are smaller then, below `most`."""
    return lambda value: 2 * value if value < most else None


def take_one(least: int) -> Smaller:
    """Return a function that takes one from a setting, down to the least one."""
    return lambda value: value - 1 if value > least else None


FEWER_THREADS = {"n_jobs": lambda n_jobs: halve(1)(effective_n_jobs(n_jobs))}
LARGER_LEAVES = {"min_samples_leaf": double(64)}


@dataclass(frozen=True)
class Reduction:
    """Parameters of a classifier that were lowered, and the estimates with and without."""

    before: float
    after: float
    old: Mapping[str, Any]
    new: Mapping[str, Any]

    @classmethod
    def find(cls, model: Any, size: TableSize, limit: float) -> Reduction:
        """Lower parameters until the estimate is within a limit, or nothing more can be saved."""
        before = estimate = model.estimate_bytes(size)
        new: dict[str, Any] = {}
        for name, smaller in model.reductions.items():
            while estimate > limit and (value := smaller(getattr(model, name))) is not None:
                lowered = copy(model)
                setattr(lowered, name, value)
                lower = lowered.estimate_bytes(size)
                if lower > (1.0 - MIN_SAVING) * estimate:
                    break
                new.setdefault(name, getattr(model, name))
                model, estimate = lowered, lower
        return cls(before, estimate, new, {name: getattr(model, name) for name in new})

    def __str__(self) -> str:
        pairs = ((name, new, self.old[name]) for name, new in self.new.items())
        return ", ".join(f"{name}={new!r} instead of {old!r}" for name, new, old in pairs)


@dataclass(frozen=True)
class PoolReduction:
    """What members of a pool learn less, so that all of them stay within a limit.

    `members` are copies with lowered parameters by name; `texts` says of each what was lowered.
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

        A member has what the limit leaves besides the pool, its out-of-fold probabilities and
        boosting, and what members before it keep. Those that are not estimated are taken as they
        are.
        """
        taken = size.n_rows * (16.0 * n_members * size.n_classes + 12.0 * size.n_features)
        members, texts, left_out = {}, {}, set()
        before, least = taken, math.inf
        for name, estimator in estimators.items():
            room, given = limit - taken, estimator.memory_limit
            room = room if given is None else min(room, parse_bytes(given))
            reduction = Reduction.find(estimator, size, room)
            if reduction.before == 0.0:
                continue
            before = max(before, taken + reduction.before)
            least = min(least, taken + reduction.after)
            if reduction.after > room:
                left_out.add(name)
                texts[name] = "left out"
                continue
            if reduction.new:
                members[name] = copy(estimator).set_params(**reduction.new)
                texts[name] = str(reduction)
            taken += KEPT_SHARE * (reduction.after - size.table_bytes)
        return cls(before, least, members, frozenset(left_out), texts)


def reduce(model: M, limit: float, size: TableSize) -> M:
    """Return a model, or a copy that learns less, whose fit is estimated within a limit."""
    reduction = Reduction.find(model, size, limit)
    if reduction.after > limit:
        raise refuse(model, limit, reduction.after, size)
    if not reduction.new:
        return model
    warn_of_reductions(limit, reduction.before, {"": str(reduction)})
    lowered: M = copy(model).set_params(**reduction.new)
    return lowered


def refuse(model: BaseEstimator, limit: float, least: float, size: TableSize) -> MemoryError:
    """Return the error for a limit that even the smallest fit of a model does not keep."""
    return MemoryError(
        f"memory_limit must be at least {write_bytes(least)}, what the smallest fit of "
        f"{type(model).__name__} to {size.n_rows} rows, {size.n_features} features and "
        f"{size.n_classes} classes takes by an estimate, got {write_bytes(limit)}: allow more, or "
        "learn from fewer rows or features"
    )


def warn_of_reductions(limit: float, estimate: float, changes: Mapping[str, str]) -> None:
    """Warn of what was left out for want of memory: a text for each member."""
    texts = [f"{name}: {text}" if name else text for name, text in changes.items()]
    warn_user(
        f"memory_limit of {write_bytes(limit)} is less than the {write_bytes(estimate)} that the "
        f"fit would take by an estimate; it learns less: {'; '.join(texts)}"
    )


def write_bytes(n_bytes: float) -> str:
    """Write a size as text.

    >>> write_bytes(1.5e9), write_bytes(2e6)
    ('1.5 GB', '2 MB')
    """
    return f"{n_bytes / 1e9:.3g} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.3g} MB"
