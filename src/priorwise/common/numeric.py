"""What several layers compute with: probabilities, their log-loss, and choices by a loss."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from priorwise import _core

MAX_WHOLE_NUMBER = 2**sys.float_info.mant_dig
"""Largest whole number up to which doubles tell all of them apart, and sums of whole weights are
exact."""

LEAST_PROBABILITY = float(np.finfo(float).tiny)
"""Smallest normal number: the least probability that is not zero, where logarithms are taken."""


def gen_batches(n_rows: int, n_together: int) -> Iterator[slice]:
    """Yield slices of rows, `n_together` in each but the last.

    >>> list(gen_batches(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    for first in range(0, n_rows, n_together):
        yield slice(first, min(first + n_together, n_rows))


def softmax(scores: NDArray[Any]) -> NDArray[np.float64]:
    """Rows of scores as probabilities, in proportion to their exponentials.

    No probability becomes zero by underflow: a class of a finite score has at least
    `LEAST_PROBABILITY` times the probability of the most probable one.

    >>> softmax(np.log([[1.0, 3.0]]))
    array([[0.25, 0.75]])
    >>> softmax(np.array([[0.0, -1e6, -np.inf]]))
    array([[1.00000000e+000, 2.22507386e-308, 0.00000000e+000]])
    """
    return _core.softmax(np.ascontiguousarray(scores, dtype=np.float64))


def safe_log(probabilities: NDArray[Any]) -> NDArray[np.float64]:
    """Return log p; a probability p below `LEAST_PROBABILITY` is taken as that.

    >>> safe_log(np.array([1.0, 0.5, 0.0])).round(2).tolist()
    [0.0, -0.69, -708.4]
    """
    return np.asarray(np.log(np.maximum(probabilities, LEAST_PROBABILITY)))


def log_loss(
    proba: NDArray[np.float64], y: NDArray[Any], weight: NDArray[np.float64] | None = None
) -> float:
    """Return the mean log-loss of rows; rows of NaN, which have no probabilities, are left out.

    Infinite if no row of a positive weight has any.
    """
    known = np.flatnonzero(~np.isnan(proba[:, 0]))
    losses = -safe_log(proba[known, y[known]])
    weights = np.ones(len(known)) if weight is None else weight[known]
    return float(np.average(losses, weights=weights)) if weights.any() else np.inf


def sum_of_others(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each number of a row the sum of the others, without a difference.

    >>> sum_of_others(np.array([[1.0, 2.0, 4.0]]))
    array([[6., 5., 3.]])
    """
    before, after = np.zeros_like(values), np.zeros_like(values)
    np.cumsum(values[:, :-1], axis=1, out=before[:, 1:])
    np.cumsum(values[:, :0:-1], axis=1, out=after[:, -2::-1])
    return before + after


def power_of_two(sizes: Any) -> NDArray[np.float64]:
    """Return the power of two above each size, at least 2**-1020 and at most 2**1020; 1 for zero.

    Sums and squares of numbers divided by it neither overflow nor lose bits, and have the same
    digits: the division is exact.
    """
    numbers = np.asarray(sizes, dtype=np.float64)
    exponent = np.clip(np.frexp(numbers)[1], -1020, 1020)
    return np.where(numbers > 0.0, np.ldexp(1.0, exponent), 1.0)


def draw_seed(random_state: Any) -> int:
    """Return a seed drawn from a parameter `random_state`, the same each time if it is an int."""
    if isinstance(random_state, int):
        return _draw_seed_of_int(random_state)
    return int(check_random_state(random_state).randint(2**31))


@lru_cache
def _draw_seed_of_int(random_state: int) -> int:
    return int(check_random_state(random_state).randint(2**31))


def draw_dirichlet(
    alpha: NDArray[np.float64], generator: np.random.Generator
) -> NDArray[np.float64]:
    """Draw a distribution over the last axis for each row of parameters, which may be tiny.

    A gamma variate of shape a is one of shape a + 1 times u^(1/a), u uniform: its logarithm stays
    finite where the variate would be zero.
    """
    shape = np.maximum(alpha, 1e-300)
    with np.errstate(divide="ignore"):
        log_gamma = np.log(generator.standard_gamma(shape + 1.0))
        log_gamma += np.log1p(-generator.random(shape.shape)) / shape
    log_gamma = np.maximum(log_gamma, -1e300)
    weight = np.exp(log_gamma - log_gamma.max(axis=-1, keepdims=True))
    return np.asarray(weight / weight.sum(axis=-1, keepdims=True))


def count_shares(class_count: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the shares of the classes, each counted once more than it occurs."""
    shares: NDArray[np.float64] = (class_count + 1.0) / (class_count + 1.0).sum()
    return shares


Setting = TypeVar("Setting")
Model = TypeVar("Model")


def half_decades(first: float, last: float) -> tuple[float, ...]:
    """Return powers of ten, half a decade apart, from 10^first to 10^last.

    >>> [round(one, 3) for one in half_decades(1.0, -0.5)]
    [10.0, 3.162, 1.0, 0.316]
    """
    n_steps = round(2.0 * abs(last - first))
    step = 0.5 if first < last else -0.5
    return tuple(10.0 ** (first + step * i) for i in range(n_steps + 1))


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
        # Only place and loss: what was learnt with the first setting need not be kept.
        start, start_loss, last = self.best.place, self.best.loss, len(self.settings)
        for places in (range(self.first + 1, last), range(self.first - 1, -1, -1)):
            for self._place in places:
                yield self.settings[self._place]
                is_flat = self.best.place == start and self._loss <= self.patience * start_loss
                if self.best.place != self._place and not is_flat:
                    break
            if self.best.place != start:
                break


TOLERANCE = 1e-3
"""Share of the least loss by which that of a much smaller model may be above it."""


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
