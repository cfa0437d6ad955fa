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
