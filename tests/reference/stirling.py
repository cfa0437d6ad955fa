"""Unsigned Stirling numbers of the first kind, exactly."""

from __future__ import annotations

from collections.abc import Iterator
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


def ratio_rows(n_rows: int, n_columns: int) -> Iterator[tuple[int, np.ndarray]]:
    """V(n, 1) ... V(n, n_columns) for n = 1, 2, ..., n_rows by rolling one row along.

    V(n + 1, t) = V(n, t) (n + V(n, t - 1)) / (n + V(n, t)). Places t > n hold no meaning.
    Each step has a relative rounding error near 1e-16, so after n steps the row has at worst
    n times that.
    """
    v = np.zeros(n_columns + 1)
    yield 1, v[1:]
    for n in range(1, n_rows):
        grown = n + v
        following = v.copy()
        following[2:] = v[2:] * grown[1:-1] / grown[2:]
        if n + 1 <= n_columns:
            following[n + 1] = n + v[n]
        v = following
        yield n + 1, v[1:]
