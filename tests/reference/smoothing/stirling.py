"""Unsigned Stirling numbers of the first kind, exactly."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np


@cache
def stirling_row(n: int) -> list[int]:
    """S(n, 0) ... S(n, n): S(n + 1, t) = n S(n, t) + S(n, t - 1)."""
    if n == 0:
        return [1]
    row = [1]
    for m in range(n):
        row = [m * (row[t] if t <= m else 0) + (row[t - 1] if t else 0) for t in range(m + 2)]
    return row


def ratio(n: int, t: int) -> float:
    """V(n, t) = S(n, t - 1) / S(n, t), rounded once."""
    row = stirling_row(n)
    return float(Fraction(row[t - 1], row[t]))


def ratio_row(n: int, n_columns: int) -> np.ndarray:
    """V(n, 1) ... V(n, n_columns) for any n, from (1 + x) (1 + x / 2) ... (1 + x / (n - 1)).

    The coefficient of x^(t - 1) is S(n, t) / (n - 1)!. Factors are multiplied pair by pair and
    cut off at the degree wanted; all terms are positive, so nothing cancels.
    """
    inverse = 1.0 / np.arange(1, n)
    factors = np.stack([np.ones(n - 1), inverse], axis=1)
    while len(factors) > 1:
        if len(factors) % 2:
            one = np.zeros((1, factors.shape[1]))
            one[0, 0] = 1.0
            factors = np.concatenate([factors, one])
        left, right = factors[::2], factors[1::2]
        degree = min(2 * factors.shape[1] - 1, n_columns)
        product = np.zeros((len(left), degree))
        for i in range(min(left.shape[1], degree)):
            width = min(right.shape[1], degree - i)
            product[:, i : i + width] += left[:, i : i + 1] * right[:, :width]
        factors = product
    coefficient = factors[0]
    return np.concatenate([[0.0], coefficient[: n_columns - 1] / coefficient[1:n_columns]])
