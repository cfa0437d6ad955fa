"""A limit on the memory of a fit."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from copy import copy
from typing import Any, TypeVar

from sklearn.base import BaseEstimator

from priorwise.common.progress import warn_user
from priorwise.models.memory.plan import MemoryFamily, Reduction, TableSize

M = TypeVar("M", bound=Any)


def estimate(model: Any) -> Callable[[TableSize], float]:
    """Return a function that estimates the bytes of a fit of a model by the size of its table."""
    family: MemoryFamily | None = model.memory_family
    if family is None:
        return lambda size: 0.0
    parameters = model.get_params(deep=False)
    return lambda size: Reduction.find(family, size, parameters, math.inf).before


def reduce(model: M, limit: float, size: TableSize) -> M:
    """Return a model, or a copy that learns less, whose fit is estimated within a limit."""
    family: MemoryFamily | None = model.memory_family
    if family is None:
        return model
    reduction = Reduction.find(family, size, model.get_params(deep=False), limit)
    if reduction.after > limit:
        raise refuse(model, limit, reduction.after, size)
    if not reduction.new:
        return model
    warn_of_reductions(limit, reduction.before, {"": str(reduction)})
    lowered: M = copy(model)
    lowered.set_params(**reduction.new)
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
