"""Checks of values that were read from a file."""

from __future__ import annotations

from typing import Any

import numpy as np


def require(condition: Any, rule: str) -> None:
    """Raise a ValueError that states a rule, unless the condition holds."""
    if not condition:
        raise ValueError(rule)


def is_array(array: Any, dtype: Any, *shape: int | None) -> bool:
    """Return whether an array has a type and a shape, None for any length of an axis."""
    return (
        isinstance(array, np.ndarray)
        and array.dtype == dtype
        and array.ndim == len(shape)
        and all(n is None or n == m for n, m in zip(shape, array.shape, strict=True))
    )


def check_numbers(
    name: str,
    array: Any,
    *shape: int | None,
    dtype: Any = np.float64,
    least: float = -np.inf,
    most: float = np.inf,
) -> None:
    """Raise a ValueError unless an array has a type and a shape, and finite numbers in a range."""
    require(
        is_array(array, dtype, *shape),
        f"{name} must be an array of {np.dtype(dtype)} of shape {shape}",
    )
    if array.size:
        low, high = array.min(), array.max()
        # Comparisons with NaN are false.
        inside = low >= least and high <= most and abs(low) < np.inf and abs(high) < np.inf
        require(inside, f"{name} must be finite numbers from {least} to {most}")


def check_distributions(name: str, array: Any, *shape: int | None, dtype: Any = np.float64) -> None:
    """Raise a ValueError unless the rows of a matrix are distributions, up to rounding."""
    check_numbers(name, array, *shape, dtype=dtype, least=0.0, most=1.0 + 1e-4)
    sums = array.sum(axis=1, dtype=np.float64)
    require(sums.size == 0 or (abs(sums - 1.0) < 1e-3).all(), f"rows of {name} must sum to one")
