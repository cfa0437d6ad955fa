"""Generalised Stirling numbers and the seating of rows in a Pitman-Yor process, slowly."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np


@cache
def discounted_row(n: int, discount: Fraction) -> tuple[Fraction, ...]:
    """S_a(n, 0) ... S_a(n, n): S_a(n + 1, t) = S_a(n, t - 1) + (n - a t) S_a(n, t)."""
    row = [Fraction(0), Fraction(1)]
    for m in range(1, n):
        row = [
            (row[t - 1] if t else Fraction(0)) + (m - discount * t) * (row[t] if t <= m else 0)
            for t in range(m + 2)
        ]
    return tuple(row) if n else (Fraction(1),)


def discounted_ratio(n: int, t: int, discount: float) -> float:
    """V(n, t) = S_a(n, t - 1) / S_a(n, t), rounded once."""
    row = discounted_row(n, Fraction(discount))
    return float(row[t - 1] / row[t])


def mean_tables(x: float, n: int, discount: float) -> float:
    """The mean of t under S_a(n, t) x^t / Z."""
    weights = [s * Fraction(x) ** t for t, s in enumerate(discounted_row(n, Fraction(discount)))]
    return float(sum(t * w for t, w in enumerate(weights)) / sum(weights))


def seat_rows(x: float, n: float, discount: float) -> float:
    """The same mean for real n, row by row, with the third cumulant of 1 + a binomial number."""
    if n <= 1.0:
        return n
    mean, variance = 1.0, 0.0
    for i in range(1, int(np.ceil(n))):
        part = min(1.0, n - i)
        weight = x + i - discount * mean
        others = mean - 1.0
        third = variance * (2.0 * variance / others - 1.0) if others > 1e-12 else 0.0
        opening = (x - discount * variance) / weight
        bend = (x - discount * third) / weight - opening**2
        mean, variance = mean + part * opening, max(0.0, variance + part * bend)
    return mean
