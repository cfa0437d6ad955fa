"""How much one column alone tells of the class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.data.survey.numbers import ValueSummary

LEAK_STRENGTH = 0.97
"""Least strength of a column that gives the class away: of the public data sets of the tests, the
strongest honest column has .94 (the odour of mushrooms)."""
MIN_OTHER_ROWS = 10
"""Fewest rows outside of the commonest class for a column to be called a leak."""


def measure_labels(counts: NDArray[Any]) -> float:
    """Return the strength of a column of labels, given the rows of each label and class.

    It is the share of the disagreement of two rows drawn at random that is gone if both have the
    same label (Goodman and Kruskal's tau, where no row is drawn twice): 0 for noise, 1 if the label
    decides the class. A label with a single row says nothing.

    >>> measure_labels(np.array([[30, 0], [0, 20]])), measure_labels(np.eye(9))
    (1.0, 0.0)
    """
    cells = np.asarray(counts, dtype=np.float64)
    totals = cells.sum(axis=1)
    pairs = totals * totals - (cells * cells).sum(axis=1)
    many = totals > 1.0
    disagreement = float((pairs[many] / (totals[many] - 1.0)).sum())
    return _relate(disagreement, cells[~many], cells.sum(axis=0))


def measure_numbers(summary: ValueSummary) -> float:
    """Return the strength of a column of numbers, given the rows of each value and class.

    As for labels, of rows that follow one another when they are sorted by value; missing values
    are a label.

    >>> y = np.repeat([0, 1], 50).astype(np.int32)
    >>> round(measure_numbers(ValueSummary.of(np.arange(100.0), y, n_classes=2)), 3)
    0.98
    """
    cells = summary.counts().astype(np.float64)
    totals = cells.sum(axis=1)
    disagreement = 0.0
    if len(cells):
        within = totals * totals - (cells * cells).sum(axis=1)
        # Of the t rows of a value, t - 1 are followed by another one of it.
        disagreement = float((within / np.maximum(totals, 1.0)).sum())
        shares = cells / np.maximum(totals, 1e-300)[:, None]
        disagreement += float((1.0 - (shares[1:] * shares[:-1]).sum(axis=1)).sum())
    missing = summary.missing.astype(np.float64)
    n_missing = missing.sum()
    if n_missing > 1:
        disagreement += float((n_missing**2 - (missing**2).sum()) / (n_missing - 1.0))
    return _relate(disagreement, np.zeros((0, summary.n_classes)), cells.sum(axis=0) + missing)


def is_leak(strength: float, totals: NDArray[Any]) -> bool:
    """Whether a column of some strength gives the class away; `totals` are the rows by class."""
    return strength >= LEAK_STRENGTH and totals.sum() - totals.max() >= MIN_OTHER_ROWS


def _relate(disagreement: float, alone: NDArray[np.float64], totals: NDArray[np.float64]) -> float:
    """Relate disagreements to those without the column; rows that are alone have the latter."""
    n = float(totals.sum())
    if n < 2.0:
        return 0.0
    shares = totals / n
    usual = n * float(1.0 - (shares * shares).sum())
    disagreement += float((alone.sum(axis=0) * (1.0 - shares)).sum())
    return 0.0 if usual <= 0.0 else 1.0 - disagreement / usual
