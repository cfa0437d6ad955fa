"""Checks of arguments: each error names the parameter, the value and the rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _check_sample_weight


def check_number(
    name: str, value: float, *, above: float | None = None, least: float | None = None
) -> float:
    """Return value if it is a finite number in range, or raise naming the parameter."""
    rule = f"above {above}" if above is not None else f"at least {least}"
    fits = (
        isinstance(value, int | float | np.number)
        and not isinstance(value, bool)
        and np.isfinite(value)
        and (above is None or value > above)
        and (least is None or value >= least)
    )
    if not fits:
        raise ValueError(f"{name} must be a number {rule}, got {value!r}")
    return value


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    if value not in choices:
        words = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {words}, got {value!r}")


def check_cost_matrix(cost_matrix: ArrayLike, n_classes: int) -> NDArray[np.float64]:
    """The costs as an array, or an error that names the rule.

    >>> check_cost_matrix([[0, 1], [5, 0]], n_classes=2)
    array([[0., 1.],
           [5., 0.]])
    """
    cost = np.asarray(cost_matrix, dtype=np.float64)
    if cost.shape != (n_classes, n_classes):
        raise ValueError(
            f"cost_matrix must have a row and a column for each of {n_classes} classes, "
            f"got shape {cost.shape}"
        )
    if not np.isfinite(cost).all():
        raise ValueError("cost_matrix must be finite, got NaN or infinity")
    return cost


def check_weight(sample_weight: Any, y: NDArray[np.int32]) -> NDArray[np.float64] | None:
    """Weights of the rows, one for each of y, or an error that names the rule; None stays None."""
    if sample_weight is None:
        return None
    weight = _check_sample_weight(
        sample_weight, y[:, None], dtype=np.float64, ensure_non_negative=True
    )
    if not weight.any():
        raise ValueError("sample_weight must not be zero for every row")
    return np.ascontiguousarray(weight)
