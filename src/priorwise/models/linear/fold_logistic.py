"""Logistic regression fitted once without each fold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.common.numeric import Trials, gen_batches, half_decades, log_loss
from priorwise.counts.draws import N_FOLDS
from priorwise.steps.linear.design import (
    BATCH_ROWS,
    Design,
)

PENALTIES = half_decades(2.0, -7.0)
"""Penalties that are tried, from the largest on. Those below 1e-5 lower the log-loss of splines on
texture by a quarter and change nothing on nine other sets of up to 5,500 rows (2026-11)."""
FEW_ROWS, MANY_ROWS = 200, 2_000
"""Numbers of rows at which tables are no longer small, and become large."""
MORE_FOLDS, MAX_CLASSES_FOR_MORE = 10, 50
"""Tables of `FEW_ROWS` to `MANY_ROWS` rows and at most 50 classes have ten folds: there, weights
learnt without a tenth of the rows are clearly better than weights learnt without a fifth."""

SEARCH_TOLERANCE, TOLERANCE = 1e-3, 3e-4
"""Relative tolerances of the loss at which a search stops: the first while a penalty is chosen, the
second for the final weights."""
MIN_TERMS_FOR_ONE = 4_000_000
"""From `MANY_ROWS` rows, or this many rows times weights, the penalty is chosen by one fold instead
of all."""


def count_folds(n_folds: int | str, n_rows: int, n_classes: int) -> int:
    """Return how many folds to deal rows into: `n_folds`, or a number of our choice if "auto".

    >>> [count_folds("auto", n_rows, n_classes=3) for n_rows in (100, 1_000, 10_000)]
    [5, 10, 5]
    """
    if not isinstance(n_folds, str):
        return n_folds
    has_few = FEW_ROWS <= n_rows <= MANY_ROWS
    return MORE_FOLDS if has_few and n_classes <= MAX_CLASSES_FOR_MORE else N_FOLDS


def count_searched_folds(n_rows: int, n_weights: int) -> int:
    """Return how many folds choose a penalty."""
    is_large = n_rows >= MANY_ROWS or n_rows * n_weights >= MIN_TERMS_FOR_ONE
    return 1 if is_large else N_FOLDS


@dataclass(frozen=True)
class PenaltyChoice:
    """A penalty, its mean out-of-fold log-loss, and the weights of the folds it was tried on."""

    penalty: float
    loss: float
    weights: NDArray[np.float64]


@dataclass(eq=False)
class WeightPath:
    """Weights by penalty, with whose logarithm they change evenly."""

    last: NDArray[np.float64]
    penalty: float = 0.0
    """The last penalty; zero before the first."""
    slope: NDArray[np.float64] | float = 0.0
    """Change of the weights from the penalty before to the last one, by its logarithm."""

    def extend_to(self, penalty: float) -> NDArray[np.float64]:
        """Return where the path would be at the next penalty: a start of the search for weights."""
        return self.last + self.slope * (np.log(penalty / self.penalty) if self.penalty else 0.0)

    def add(self, penalty: float, weights: NDArray[np.float64]) -> None:
        """Add weights that were found."""
        if self.penalty:
            self.slope = (weights - self.last) / np.log(penalty / self.penalty)
        self.last, self.penalty = weights, penalty


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

    def search(
        self, penalties: tuple[float, ...], first: int = 0, n_searched: int | None = None
    ) -> PenaltyChoice:
        """Choose a penalty, the largest first, by the out-of-fold loss, from the one at `first` on.

        The loss is that of the rows of the first `n_searched` folds: by default five, or one if
        there are many rows or weights. Each search for weights starts where those before lead to.
        """
        n_weights = 1 + self.n_indicators + self.design.value.shape[1]
        if n_searched is None:
            n_searched = count_searched_folds(len(self.y), n_weights * self.n_classes)
        path = WeightPath(np.zeros((n_searched, self.n_classes, n_weights)))
        fold = self.fold % N_FOLDS

        trials = Trials[float, NDArray[np.float64]](penalties, first=first)
        for penalty in trials:
            weights = path.extend_to(penalty)
            self._fit(penalty, weights, fold, SEARCH_TOLERANCE)
            path.add(penalty, weights)
            loss = log_loss(self.predict(weights, fold), self.y, self.weight)
            trials.tell(loss, weights)
        best = trials.best
        return PenaltyChoice(best.setting, best.loss, best.model)

    def finish(
        self, chosen: PenaltyChoice, n_folds: int, tolerance: float = TOLERANCE
    ) -> NDArray[np.float64]:
        """Return the weights of all folds with the penalty chosen.

        The search for them starts at weights that have not seen the rows of the fold either, or at
        zero. It ends before the minimum: a start that has seen these rows would still show.
        """
        n_searched = len(chosen.weights)
        if n_searched < N_FOLDS:
            tolerance = max(tolerance, SEARCH_TOLERANCE)
        if n_searched == n_folds and tolerance >= SEARCH_TOLERANCE:
            return chosen.weights
        weights = np.zeros((n_folds, *chosen.weights.shape[1:]))
        for fold in range(n_folds):
            if fold % N_FOLDS < n_searched:
                weights[fold] = chosen.weights[fold % N_FOLDS]
        self._fit(chosen.penalty, weights, self.fold, tolerance)
        return weights

    def fit_all(
        self, chosen: PenaltyChoice, start: NDArray[np.float64], tolerance: float = TOLERANCE
    ) -> NDArray[np.float64]:
        """Return weights (n_classes, n_weights) learnt from all rows, from others on."""
        weights = start[None].copy()
        self._fit(chosen.penalty, weights, np.full_like(self.fold, -1), tolerance)
        return np.asarray(weights[0])

    def predict(self, weights: NDArray[np.float64], fold: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return probabilities of rows by the weights of their folds; NaN without such weights."""
        return _core.predict_logistic(
            self.design.index, self.design.value, self.n_indicators, fold, weights, self.n_threads
        )

    def _fit(
        self,
        penalty: float,
        weights: NDArray[np.float64],
        fold: NDArray[np.int32],
        tolerance: float = TOLERANCE,
    ) -> None:
        _core.fit_logistic(
            self.design.index, self.design.value, self.n_indicators, self.y, self.weight, fold,
            penalty, tolerance, weights, self.n_threads,
        )  # fmt: skip


MIN_EIGENVALUE = 1e-6
"""Axes along which the squares of rows add up to less, as a share of the longest, are left out."""


@dataclass(frozen=True, eq=False)
class PrincipalAxes:
    """The axes along which the values of a design are uncorrelated.

    A turn does not change the sum of squares of the weights, so a regression on the turned values
    has the same minimum; with splines, which are much correlated, it is found in fewer steps.
    """

    mean: NDArray[np.float64]
    axes: NDArray[np.float64]
    """Of shape (n_values, n_axes), orthonormal."""

    @classmethod
    def find(cls, value: NDArray[np.float32], weight: NDArray[np.float64] | None) -> PrincipalAxes:
        """Find the axes of rows of values."""
        mean = np.average(value, axis=0, weights=weight).astype(np.float64)
        squares = np.zeros((len(mean), len(mean)))
        for batch in gen_batches(len(value), BATCH_ROWS):
            x = value[batch] - mean
            squares += x.T @ (x if weight is None else x * weight[batch, None])
        length, axes = np.linalg.eigh(squares)
        return cls(mean, axes[:, length > MIN_EIGENVALUE * length.max(initial=0.0)])

    def turn(self, design: Design) -> Design:
        """Return the design with the places of rows along the axes as values."""
        value = np.empty((len(design.value), self.axes.shape[1]), dtype=np.float32)
        for batch in gen_batches(len(value), BATCH_ROWS):
            value[batch] = (design.value[batch] - self.mean) @ self.axes
        return Design(design.index, value)

    def turn_back(self, weights: NDArray[np.float64], n_indicators: int) -> NDArray[np.float64]:
        """Return the weights of the values from those of the axes; other weights come first."""
        others, along = np.split(weights, [1 + n_indicators], axis=-1)
        own = along @ self.axes.T
        intercept = others[..., :1] - own @ self.mean[:, None]
        return np.concatenate([intercept, others[..., 1:], own], axis=-1)


def split_weights(
    weights: NDArray[np.float64], n_indicators: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Split weights (n_classes, n_weights) into those of intercept, indicators and values.

    The classes are last in each. The indicators have a row of zeros at the end, which index -1,
    no indicator, refers to.
    """
    padded = np.zeros((n_indicators + 1, len(weights)))
    padded[:-1] = weights[:, 1 : 1 + n_indicators].T
    return weights[:, 0], padded, weights[:, 1 + n_indicators :].T
