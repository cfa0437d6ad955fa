"""Choosing settings by trial, on rows that what was learnt has not seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from priorwise.counts import CodedRows, CountTree
from priorwise.smoothing import Smoother

Setting = TypeVar("Setting")
Model = TypeVar("Model")


@dataclass(frozen=True)
class Chosen(Generic[Setting, Model]):
    """The setting of the least held-out loss, and what was learnt with it."""

    place: int
    setting: Setting
    loss: float
    model: Model


def choose(
    settings: Sequence[Setting],
    learn: Callable[[Setting], tuple[float, Model]],
    *,
    first: int = 0,
    known: tuple[float, Model] | None = None,
    patience: float = 1.0,
    may_go_on: Callable[[], bool] = lambda: True,
) -> Chosen[Setting, Model]:
    """Choose one of some settings, the simplest first, by trial.

    `learn` returns the loss of held-out rows and what was learnt; `known` is what it would return
    for the first trial, if that has been made. Settings after `first` are tried
    while the loss falls; if none of them is better than `first`, those before it. As long as none
    is better, a loss of up to `patience` times that of `first` does not end the search: where a
    setting has next to no effect, neither have its neighbours. Of equal losses the simpler setting
    is chosen. Nothing further is tried once `may_go_on` returns False.

    Examples
    --------
    >>> losses = [0.6, 0.3, 0.5, 0.7, 0.9]
    >>> choose(range(5), lambda place: (losses[place], None), first=2).setting
    1
    >>> choose(range(5), lambda place: (losses[place], None)).setting
    1
    """

    def attempt(place: int) -> Chosen[Setting, Model]:
        return Chosen(place, settings[place], *learn(settings[place]))

    start = attempt(first) if known is None else Chosen(first, settings[first], *known)
    best = start
    for places in (range(first + 1, len(settings)), range(first - 1, -1, -1)):
        for place in places:
            if not may_go_on():
                return best
            trial = attempt(place)
            is_flat = best is start and trial.loss <= patience * start.loss
            if trial.loss < best.loss or (trial.loss == best.loss and place < best.place):
                best = trial
            elif not is_flat:
                break
        if best is not start:
            break
    return best


def pick(losses: Sequence[float] | NDArray[np.float64], tolerance: float = 0.0) -> int:
    """Return the place of the simplest setting, all of which have been tried.

    Its loss is above the least by at most a share of it, the tolerance. The simplest comes first.

    Examples
    --------
    >>> pick([0.6, 0.501, 0.5]), pick([0.6, 0.501, 0.5], tolerance=0.01)
    (2, 1)
    """
    losses = np.asarray(losses, dtype=np.float64)
    return int(np.flatnonzero(losses <= (1.0 + tolerance) * losses.min())[0])


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
