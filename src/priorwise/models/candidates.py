"""Choosing among a smoother's candidates, on rows that the counts have not seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from priorwise.common.numeric import pick
from priorwise.counts import CodedRows, CountTree
from priorwise.smoothing import Smoother

Evaluate = Callable[[CodedRows, CodedRows, Sequence[Smoother]], Sequence[float]]
"""(rows to learn from, rows held back, candidates) -> summed loss of each candidate."""


def choose_smoother(
    smoother: Smoother, rows: CodedRows, evaluate: Evaluate, *, seed: int = 0
) -> Smoother:
    """Choose the candidate with the least loss on rows held back, the first of equals.

    `evaluate` learns from the other rows and returns the loss of each candidate. A single candidate
    is returned as it is. If no row can be held back, the last is chosen: it smooths most.
    """
    candidates = smoother.candidates()
    if len(candidates) == 1:
        return candidates[0]
    split = rows.hold_back(seed)
    if split is None:
        return candidates[-1]
    return candidates[pick(evaluate(*split, candidates))]


def squared_error(proba: NDArray[np.float64], outcome: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the squared error of each row: sum over k of (p_k - [outcome = k])^2.

    Examples
    --------
    >>> squared_error(np.array([[0.5, 0.5]]), np.array([0], dtype=np.int32))
    array([0.5])
    """
    p = proba[np.arange(len(outcome)), outcome]
    return np.asarray((proba**2).sum(axis=1) - 2.0 * p + 1.0)


def count_target(rows: CodedRows) -> CountTree:
    """Count the target in the contexts of the other columns."""
    return CountTree.from_rows(rows.columns, rows.y, rows.n_classes, weight=rows.weight)


def score_on_held(
    training: CodedRows, held: CodedRows, candidates: Sequence[Smoother]
) -> list[float]:
    """Return the summed squared error of each candidate on the rows held back."""
    tree = count_target(training)
    node = tree.find(held.columns, n_rows=held.n_rows)
    proba = (one.rows(tree, node) for one in candidates)
    return [float(held.weights @ squared_error(one, held.y)) for one in proba]
