"""Comparing averages that have statistical errors."""

from __future__ import annotations

import numpy as np
from scipy.stats import t as student


def least_p_value(runs: np.ndarray, expected: np.ndarray | float) -> float:
    """The probability of the largest deviation of means from their expectation, or of a larger.

    runs is (independent runs, quantities). Student's t for each quantity; the smallest p is
    multiplied by the number of quantities (Bonferroni).
    """
    runs = runs.reshape(len(runs), -1)
    error = runs.std(axis=0, ddof=1) / np.sqrt(len(runs))
    deviation = np.abs(runs.mean(axis=0) - np.ravel(expected))
    # Rounding is no deviation, also where all runs agree.
    score = np.where(deviation < 1e-12, 0.0, deviation / np.maximum(error, 1e-300))
    return float(min(1.0, (2 * student.sf(score, len(runs) - 1)).min() * runs.shape[1]))


def delong_variance(y: np.ndarray, proba: np.ndarray) -> tuple[float, float]:
    """The AUC of Hand and Till, and DeLong's variance of it, pair by pair of rows."""
    classes = sorted(set(y.tolist()))
    pairs = [(k, j) for k in classes for j in classes if k != j]
    total, variance = 0.0, 0.0
    wins = {}
    for k, j in pairs:
        for a in np.flatnonzero(y == k):
            for b in np.flatnonzero(y == j):
                first, second = proba[a, k], proba[b, k]
                wins[a, b] = 1.0 if first > second else 0.5 if first == second else 0.0
        cells = [wins[a, b] for a in np.flatnonzero(y == k) for b in np.flatnonzero(y == j)]
        total += float(np.mean(cells)) / len(pairs)
    for c in classes:
        parts = []
        for row in np.flatnonzero(y == c):
            part = 0.0
            for other in classes:
                if other != c:
                    others = np.flatnonzero(y == other)
                    part += float(np.mean([wins[row, b] for b in others]))
                    part += float(np.mean([wins[b, row] for b in others]))
            parts.append(part / len(pairs))
        variance += float(np.var(parts, ddof=1)) / len(parts)
    return total, variance
