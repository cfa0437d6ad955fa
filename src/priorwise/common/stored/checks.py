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
    if not is_array(array, dtype, *shape):
        raise ValueError(f"{name} must be an array of {np.dtype(dtype)} of shape {shape}")
    if array.size:
        low, high = array.min(), array.max()
        # Comparisons with NaN are false.
        if not (least <= low and high <= most and -np.inf < low and high < np.inf):
            raise ValueError(f"{name} must be finite numbers from {least} to {most}")


def check_distributions(name: str, array: Any, *shape: int | None, dtype: Any = np.float64) -> None:
    """Raise a ValueError unless the rows of a matrix are distributions, up to rounding."""
    if not is_array(array, dtype, *shape):
        raise ValueError(f"{name} must be an array of {np.dtype(dtype)} of shape {shape}")
    if array.size:
        # Sums along short rows are slow.
        sums = sum(array.T) if array.shape[1] <= 8 else array.sum(axis=1)
        # Comparisons with NaN are false.
        if not (array.min() >= 0.0 and sums.min() > 1.0 - 1e-3 and sums.max() < 1.0 + 1e-3):
            raise ValueError(f"rows of {name} must be probabilities that sum to one")
