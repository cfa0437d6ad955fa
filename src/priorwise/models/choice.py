"""Choosing settings by trial, on rows that what was learnt has not seen."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
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


class Trials(Generic[Setting, Model]):
    """Settings to try, the simplest first: the one of the least held-out loss is chosen.

    Settings after `first` are tried while the loss falls; if none of them is better than `first`,
    those before it. As long as none is better, a loss of up to `patience` times that of `first`
    does not end the search: where a setting has next to no effect, neither have its neighbours. Of
    equal losses the simpler setting is chosen. `known` are the loss and what was learnt with
    `first`, if that has been tried already.

    Examples
    --------
    >>> losses = [0.6, 0.3, 0.5, 0.7, 0.9]
    >>> trials = Trials(range(5), first=2)
    >>> for place in trials:
    ...     trials.tell(losses[place], f"model {place}")
    >>> trials.best
    Chosen(place=1, setting=1, loss=0.3, model='model 1')
    """

    def __init__(
        self,
        settings: Sequence[Setting],
        *,
        first: int = 0,
        patience: float = 1.0,
        known: tuple[float, Model] | None = None,
    ) -> None:
        self.settings = settings
        self.first = first
        self.patience = patience
        self._place = first
        self._loss = math.nan
        self._best: Chosen[Setting, Model] | None = None
        if known is not None:
            self.tell(*known)

    @property
    def best(self) -> Chosen[Setting, Model]:
        """The setting of the least loss so far."""
        if self._best is None:
            raise ValueError("a setting must have been tried")
        return self._best

    def tell(self, loss: float, model: Model) -> None:
        """Take the loss of held-out rows with the setting that was asked for last."""
        self._loss = loss
        best = self._best
        is_simpler = best is not None and loss == best.loss and self._place < best.place
        if best is None or loss < best.loss or is_simpler:
            self._best = Chosen(self._place, self.settings[self._place], loss, model)

    def __iter__(self) -> Iterator[Setting]:
        """Yield settings; `tell` is to be called for each."""
        if self._best is None:
            yield self.settings[self.first]
        start, last = self.best, len(self.settings)
        for places in (range(self.first + 1, last), range(self.first - 1, -1, -1)):
            for self._place in places:
                yield self.settings[self._place]
                is_flat = self.best is start and self._loss <= self.patience * start.loss
                if self.best.place != self._place and not is_flat:
                    break
            if self.best is not start:
                break


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
