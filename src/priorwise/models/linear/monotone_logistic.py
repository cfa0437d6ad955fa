"""Logistic regression of two classes whose score rises or falls with some features."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from priorwise.data.tables import Columns
from priorwise.models.linear.fold_logistic import TOLERANCE, FoldLogistic, split_weights
from priorwise.steps.linear.design import DEGREE, MAX_DEVIATION
from priorwise.steps.linear.logistic import Pieces

INTERCEPT_PENALTY = 1e-8
MAX_STEPS = 200
MAX_ROUNDING = 1e-9
"""Largest step of a score in a wrong direction, as a share of it, that is taken as rounding."""


@dataclass(frozen=True, eq=False)
class MonotoneFoldLogistic(FoldLogistic):
    """`FoldLogistic` of two classes with monotone features.

    `direction` is that of each value of the design, 0 if it is free; the values of a feature are
    its number and, next to each other, its splines, whose `n_splines` weights must rise or fall
    from one to the next: a sum of splines with rising weights rises. With d the weights of the
    second class less those of the first, which are -d / 2, this is

        d = d_0, d_0 + s e_1, d_0 + s (e_1 + e_2), ...   with e >= 0 and s the direction

    so bounds on e are all that the search for weights has to keep.
    """

    direction: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    n_splines: int = 0

    def _fit(
        self,
        penalty: float,
        weights: NDArray[np.float64],
        fold: NDArray[np.int32],
        tolerance: float = TOLERANCE,
    ) -> None:
        for place, fold_weights in enumerate(weights):
            rows = np.flatnonzero(fold != place)
            fold_weights[1] = 0.5 * self._fit_rows(
                rows, penalty, fold_weights[1] - fold_weights[0], tolerance
            )
            fold_weights[0] = -fold_weights[1]

    def _fit_rows(
        self,
        rows: NDArray[np.intp],
        penalty: float,
        start: NDArray[np.float64],
        tolerance: float,
    ) -> NDArray[np.float64]:
        design = self.design.take(rows)
        index, value = design.index, design.value.astype(np.float64)
        sign = 2.0 * self.y[rows] - 1.0
        row_weight = np.ones(len(rows)) if self.weight is None else self.weight[rows]
        penalties = np.full(len(start), 0.5 * penalty)
        penalties[0] = 0.5 * INTERCEPT_PENALTY
        first = 1 + self.n_indicators

        def cost(steps: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            d = self._to_weights(steps)
            intercept, indicators, values = split_weights(d[None], self.n_indicators)
            score = value @ values[:, 0] + intercept[0]
            for column in index.T:
                score += indicators[column, 0]
            slope = -row_weight * sign * expit(-sign * score)
            gradient = penalties * d
            gradient[0] += slope.sum()
            for column in index.T:
                known = column >= 0
                gradient[1:first] += np.bincount(column[known], slope[known], self.n_indicators)
            gradient[first:] += slope @ value
            loss = row_weight @ np.logaddexp(0.0, -sign * score)
            return float(loss + 0.5 * penalties @ d**2), self._to_slopes(gradient)

        bounds = [(None, None)] * first + [
            (0.0 if least else None, None) for least in self._is_bounded()
        ]
        result = minimize(
            cost, self._to_steps(start), jac=True, method="L-BFGS-B", bounds=bounds,
            options={"maxiter": MAX_STEPS, "ftol": 1e-4 * tolerance, "maxcor": 20},
        )  # fmt: skip
        return self._to_weights(result.x)

    def _is_bounded(self) -> NDArray[np.bool_]:
        """Return whether each value has a step that must not be negative."""
        bounded = self.direction != 0
        for splines in self._monotone_splines():
            bounded[splines.start] = False
        return bounded

    def _monotone_splines(self) -> list[slice]:
        """Return the places of the splines of each monotone feature among the values."""
        if self.n_splines == 0:
            return []
        n_numbers = len(self.direction) // (1 + self.n_splines)
        starts = n_numbers + self.n_splines * np.flatnonzero(self.direction[:n_numbers])
        return [slice(int(start), int(start) + self.n_splines) for start in starts]

    def _to_weights(self, steps: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the differences d of the weights from their steps."""
        d = steps.copy()
        values = d[1 + self.n_indicators :]
        bounded = self._is_bounded()
        values[bounded] *= self.direction[bounded]
        for splines in self._monotone_splines():
            values[splines] = np.cumsum(values[splines])
        return d

    def _to_steps(self, d: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the steps of differences, the nearest to zero that bounds allow."""
        steps = d.copy()
        values = steps[1 + self.n_indicators :]
        for splines in self._monotone_splines():
            values[splines] = np.diff(values[splines], prepend=0.0)
        bounded = self._is_bounded()
        values[bounded] = np.maximum(values[bounded] * self.direction[bounded], 0.0)
        return steps

    def _to_slopes(self, gradient: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the slopes by steps, from those by differences, which are overwritten."""
        values = gradient[1 + self.n_indicators :]
        for splines in self._monotone_splines():
            values[splines] = np.cumsum(values[splines][::-1])[::-1]
        bounded = self._is_bounded()
        values[bounded] *= self.direction[bounded]
        return gradient


def check_directions(step: Pieces, direction: NDArray[np.intp]) -> None:
    """Raise AssertionError unless the score follows the directions of the numeric features.

    It is looked at on both sides of each knot, between knots and on an even grid beyond them.
    """
    design, n_numeric = step.design, len(direction)
    even = np.linspace(-2.0 * MAX_DEVIATION, 2.0 * MAX_DEVIATION, 65)
    z = np.tile(even, (n_numeric, 1))
    if design.knots is not None:
        inner = design.knots[:, DEGREE:-DEGREE]
        near = [np.nextafter(inner, -np.inf), inner, np.nextafter(inner, np.inf)]
        z = np.concatenate([z, *near, 0.5 * (inner[:, 1:] + inner[:, :-1])], axis=1)
    with np.errstate(over="ignore"):
        values = design.mean[:, None] + design.scale[:, None] * np.sort(z, axis=1)
    codes = np.full((len(design.n_labels), values.shape[1]), -1, dtype=np.int32)
    is_nominal = np.arange(len(codes) + n_numeric) < len(codes)
    terms = step.score.terms(Columns(codes, values, is_nominal))[:, len(codes) :]
    change = direction * np.diff(terms[:, :, 1] - terms[:, :, 0], axis=0)
    if change.min(initial=0.0) < -MAX_ROUNDING * max(1.0, np.abs(terms).max(initial=0.0)):
        raise AssertionError(
            "the regression does not keep monotonic_cst, which is a fault of priorwise: "
            "please report it with the table"
        )
