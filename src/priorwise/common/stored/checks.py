"""Checks of values that were read from a file."""

from __future__ import annotations

from typing import Any

import numpy as np

from priorwise import _core


def require(condition: Any, rule: str) -> None:
    """Raise a ValueError that states a rule, unless the condition holds."""
    if not condition:
        raise ValueError(rule)


def is_array(array: Any, dtype: Any, *shape: int | None) -> bool:
    """Return whether an array has a type and a shape, None for any length of an axis."""
    if not isinstance(array, np.ndarray) or array.ndim != len(shape):
        return False
    if array.dtype.type is not dtype and array.dtype != dtype:
        return False
    if array.shape != shape:
        for length, expected in zip(array.shape, shape, strict=True):
            if expected is not None and length != expected:
                return False
    return True


def check_numbers(
    name: str,
    array: Any,
    *shape: int | None,
    dtype: Any = np.float64,
    least: float = -np.inf,
    most: float = np.inf,
) -> None:
    """Raise a ValueError unless an array has a type and a shape, and finite numbers in a range."""
    if not is_array(array, dtype, *shape):
        raise ValueError(f"{name} must be an array of {np.dtype(dtype)} of shape {shape}")
    if not _core.are_within(array if array.ndim == 1 else array.reshape(-1), least, most):
        raise ValueError(f"{name} must be finite numbers from {least} to {most}")


def check_fitted(model: Any, *names: str) -> None:
    """Raise unless a model has all fitted attributes that it needs to predict."""
    attributes = vars(model)
    for name in names:
        if name not in attributes:
            raise ValueError(f"a {type(model).__name__} must have an attribute {name!r}")
