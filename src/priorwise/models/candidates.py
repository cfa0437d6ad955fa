"""Choosing among a smoother's candidates, on rows the counts have not seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from priorwise.smoothing import Smoother

Rows = NDArray[np.intp]
Evaluate = Callable[[Rows, Rows, Sequence[Smoother]], Sequence[float]]
"""(training rows, held-back rows, candidates) -> summed loss of the held-back rows for each."""

MAX_HELD_ROWS = 5000


def choose_smoother(
    smoother: Smoother,
    n_rows: int,
    evaluate: Evaluate,
    *,
    n_folds: int | None = None,
    seed: int = 0,
) -> Smoother:
    """The candidate with the least loss on held-back rows; the first of equals.

    Without `n_folds` one sample of min(rows / 10, 5000) rows is held back (Petitjean et al.
    2018, section 6.1); with it, every row is held back once. A single candidate is returned
    as it is, and where nothing can be held back, the last, which smooths most.
    """
    candidates = smoother.candidates()
    if len(candidates) == 1:
        return candidates[0]
    if n_rows < 2:
        return candidates[-1]
    losses = np.zeros(len(candidates))
    for training, held in _split(n_rows, n_folds, seed):
        losses += evaluate(training, held, candidates)
    return candidates[int(np.argmin(losses))]


def _split(n_rows: int, n_folds: int | None, seed: int) -> Iterator[tuple[Rows, Rows]]:
    if n_folds is None:
        held = hold_back(n_rows, seed)
        yield np.delete(np.arange(n_rows), held), held
        return
    order = np.random.default_rng(seed).permutation(n_rows)
    for fold in np.array_split(order, min(n_folds, n_rows)):
        yield np.setdiff1d(order, fold), np.sort(fold)


def hold_back(n_rows: int, seed: int) -> Rows:
    """One sample of min(rows / 10, 5000) rows, at least one, in ascending order.

    >>> len(hold_back(100, seed=0))
    10
    """
    n_held = max(1, min(n_rows // 10, MAX_HELD_ROWS))
    drawn = np.random.default_rng(seed).choice(n_rows, n_held, replace=False, shuffle=False)
    return np.sort(drawn)


def squared_error(proba: NDArray[np.float64], outcome: NDArray[np.int32]) -> NDArray[np.float64]:
    """Of each row: sum over k of (p_k - [outcome = k])^2.

    >>> squared_error(np.array([[0.5, 0.5]]), np.array([0], dtype=np.int32))
    array([0.5])
    """
    of_outcome = proba[np.arange(len(outcome)), outcome]
    return np.asarray((proba**2).sum(axis=1) - 2.0 * of_outcome + 1.0)
