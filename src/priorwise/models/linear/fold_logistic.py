"""Logistic regression fitted once without each of five folds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.common.numeric import softmax
from priorwise.models.linear.design import Design

N_FOLDS = 5
TOLERANCE = 1e-4
MIN_ROWS_FOR_ONE = 2_000
MIN_TERMS_FOR_ONE = 4_000_000
"""From this many rows, or rows times weights, the penalty is chosen by one fold instead of all."""


@dataclass(frozen=True)
class PenaltyChoice:
    """A penalty, its mean out-of-fold log-loss, and the weights of the folds it was tried on."""

    penalty: float
    loss: float
    weights: NDArray[np.float64]


class HasLoss(Protocol):
    """What has been tried, and how well it did."""

    @property
    def loss(self) -> float: ...


Tried = TypeVar("Tried", bound=HasLoss)


def descend(n_places: int, first: int, attempt: Callable[[int], Tried]) -> Tried:
    """Try the places after `first` while the loss falls; if it rises at once, those before it.

    Returns the attempt of least loss.
    """
    best = attempt(first)
    for places in (range(first + 1, n_places), range(first - 1, -1, -1)):
        start = best
        for place in places:
            tried = attempt(place)
            if tried.loss >= best.loss:
                break
            best = tried
        if best is not start:
            break
    return best


@dataclass(frozen=True, eq=False)
class FoldLogistic:
    """Multinomial logistic regression with a ridge penalty, fitted once without each fold.

    Weights have the shape (n_folds, n_classes, 1 + n_indicators + n_values), the intercept first;
    the weights of a fold have not seen its rows.
    """

    design: Design
    n_indicators: int
    n_classes: int
    y: NDArray[np.int32]
    weight: NDArray[np.float64] | None
    fold: NDArray[np.int32]
    n_threads: int

    def search(self, penalties: tuple[float, ...], first: int = 0) -> PenaltyChoice:
        """Choose a penalty by the out-of-fold loss, as `descend` does from the one at `first`.

        Each search for weights starts where the one before ended.
        """
        n_weights = 1 + self.n_indicators + self.design.value.shape[1]
        shape = N_FOLDS, self.n_classes, n_weights
        n_rows = len(self.y)
        one_fold = n_rows >= MIN_ROWS_FOR_ONE
        one_fold |= n_rows * n_weights * self.n_classes >= MIN_TERMS_FOR_ONE
        weights = np.zeros((1, *shape[1:]) if one_fold else shape)

        def attempt(place: int) -> PenaltyChoice:
            self._fit(penalties[place], weights, 10.0 * TOLERANCE)
            loss = self._held_out_loss(weights)
            return PenaltyChoice(penalties[place], loss, weights.copy())

        return descend(len(penalties), first, attempt)

    def finish(self, chosen: PenaltyChoice) -> NDArray[np.float64]:
        """Return the weights of all folds with the penalty chosen."""
        shape = N_FOLDS, *chosen.weights.shape[1:]
        weights = np.array(np.broadcast_to(chosen.weights, shape), order="C")
        self._fit(chosen.penalty, weights, TOLERANCE)
        return weights

    def predict_held_out(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return probabilities of rows by the weights of their folds; NaN without such weights."""
        proba = np.full((len(self.fold), self.n_classes), np.nan)
        for fold, fold_weights in enumerate(weights):
            held = np.flatnonzero(self.fold == fold)
            proba[held] = softmax(score(self.design.take(held), fold_weights, self.n_indicators))
        return proba

    def _fit(self, penalty: float, weights: NDArray[np.float64], tolerance: float) -> None:
        _core.fit_logistic(
            self.design.index, self.design.value, self.n_indicators, self.y, self.weight, self.fold,
            penalty, tolerance, weights, self.n_threads,
        )  # fmt: skip

    def _held_out_loss(self, weights: NDArray[np.float64]) -> float:
        proba = self.predict_held_out(weights)[np.arange(len(self.y)), self.y]
        held = np.flatnonzero(~np.isnan(proba))
        part = None if self.weight is None else self.weight[held]
        if part is not None and not part.any():
            return np.inf
        return float(
            np.average(-np.log(np.maximum(proba[held], np.finfo(float).tiny)), weights=part)
        )


def split_weights(
    weights: NDArray[np.float64], n_indicators: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Split weights (n_classes, n_weights) into those of intercept, indicators and values.

    The classes are last in each. The indicators have a row of zeros at the end, which index -1,
    no indicator, refers to.
    """
    intercept, indicators, values = np.split(weights.T, [1, 1 + n_indicators])
    padded = np.concatenate([indicators, np.zeros((1, len(weights)))])
    return intercept[0], padded, values


def score(design: Design, weights: NDArray[np.float64], n_indicators: int) -> NDArray[np.float64]:
    """Return the scores of the classes; their softmax are the probabilities."""
    intercept, indicators, values = split_weights(weights, n_indicators)
    result = design.value @ values.astype(np.float32) + intercept
    for column in design.index.T:
        result += indicators[column]
    return np.asarray(result)
