"""Logistic regression fitted once without each of five folds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.common.numeric import softmax
from priorwise.models.linear.design import Design

N_FOLDS = 5
TOLERANCE = 1e-4
MIN_ROWS_FOR_ONE = 2_000
MIN_TERMS_FOR_ONE = 4_000_000
"""With so many rows, or rows x weights, one fold alone tells which penalty is best."""


@dataclass(frozen=True)
class FoundPenalty:
    """A penalty, the mean log-loss out of fold, and the weights of the folds that told."""

    penalty: float
    loss: float
    weights: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FoldLogistic:
    """Multinomial logistic regression with a ridge penalty, cross-fitted.

    Weights have the shape (folds, classes, 1 + indicators + values), the intercept first; a
    fold's have not seen its rows.
    """

    design: Design
    n_indicators: int
    n_classes: int
    y: NDArray[np.int32]
    weight: NDArray[np.float64] | None
    fold: NDArray[np.int32]
    n_threads: int

    def search(self, penalties: tuple[float, ...]) -> FoundPenalty:
        """From strong to weak while the out-of-fold loss falls, each from where the last ended."""
        n_weights = 1 + self.n_indicators + self.design.value.shape[1]
        shape = N_FOLDS, self.n_classes, n_weights
        n_rows = len(self.y)
        many = n_rows >= MIN_ROWS_FOR_ONE
        many |= n_rows * n_weights * self.n_classes >= MIN_TERMS_FOR_ONE
        weights = np.zeros((1, *shape[1:]) if many else shape)
        best = FoundPenalty(penalties[0], np.inf, weights.copy())
        for penalty in penalties:
            self._fit(penalty, weights, 10.0 * TOLERANCE)
            loss = self._held_out_loss(weights)
            if loss >= best.loss:
                break
            best = FoundPenalty(penalty, loss, weights.copy())
        return best

    def finish(self, found: FoundPenalty) -> NDArray[np.float64]:
        """The weights of all folds at that penalty."""
        shape = N_FOLDS, *found.weights.shape[1:]
        weights = np.array(np.broadcast_to(found.weights, shape), order="C")
        self._fit(found.penalty, weights, TOLERANCE)
        return weights

    def held_out(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities of rows by the weights of their folds; NaN where these are not given."""
        proba = np.full((len(self.fold), self.n_classes), np.nan)
        for f, own in enumerate(weights):
            held = np.flatnonzero(self.fold == f)
            proba[held] = softmax(score(self.design.take(held), own, self.n_indicators))
        return proba

    def _fit(self, penalty: float, weights: NDArray[np.float64], tolerance: float) -> None:
        _core.fit_logistic(
            self.design.index, self.design.value, self.n_indicators, self.y, self.weight, self.fold,
            penalty, tolerance, weights, self.n_threads,
        )  # fmt: skip

    def _held_out_loss(self, weights: NDArray[np.float64]) -> float:
        proba = self.held_out(weights)[np.arange(len(self.y)), self.y]
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
    """Weights (classes, n) of the intercept, of indicators and of values, the classes last."""
    intercept, indicators, values = np.split(weights.T, [1, 1 + n_indicators])
    # Index -1, no indicator, finds the zeros at the end.
    padded = np.concatenate([indicators, np.zeros((1, len(weights)))])
    return intercept[0], padded, values


def score(design: Design, weights: NDArray[np.float64], n_indicators: int) -> NDArray[np.float64]:
    """Scores of the classes, whose softmax are the probabilities."""
    intercept, indicators, values = split_weights(weights, n_indicators)
    found = design.value @ values.astype(np.float32) + intercept
    for column in design.index.T:
        found += indicators[column]
    return np.asarray(found)
