"""What logistic regressions on tables share, and how they learn what they see of a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from priorwise.common.numeric import power_of_two
from priorwise.common.validation import check_choice, check_number
from priorwise.data.tables import Columns
from priorwise.models.base import TableClassifier
from priorwise.models.fitted import from_step
from priorwise.models.training_table import TrainingTable
from priorwise.steps.linear.design import DEGREE, N_KNOTS, LinearDesign, Logarithms

MAX_VALUES = 2**20
"""Numbers whose moments are found at a time, so that few copies of them are in memory."""
MAX_SPLINED = 40
"""With more numeric features there are no splines."""
MIN_LESS_SKEW = 0.5
"""Logarithms are taken where they lower the skewness by this much at least."""
MIN_KNOT_GAP = 2.0**-30
"""Knots closer to each other, in deviations, are made one: splines between them would overflow."""


def learn_design(
    columns: Columns,
    n_labels: NDArray[np.int64],
    weight: NDArray[np.float64] | None = None,
    *,
    max_splined: int = MAX_SPLINED,
    takes_logs: bool = False,
) -> LinearDesign:
    """Learn the design of training rows; `n_labels` are those of each nominal feature.

    There are no splines beyond `max_splined` numeric features.
    """
    known = ~np.isnan(columns.values)
    n_features, n_rows = known.shape
    logs = [np.empty((3, 0))]
    moments = [np.empty((2, 0))]
    n_together = max(1, MAX_VALUES // max(1, n_rows))
    for first in range(0, n_features, n_together):
        part = slice(first, first + n_together)
        values = columns.values[part]
        if takes_logs:
            own = learn_logarithms(values, known[part], weight)
            logs.append(np.stack([own.sign, own.shift, own.least]))
            values = own.apply(values)
        moments.append(np.stack(_find_moments(values, known[part], weight)))
    mean, scale = np.concatenate(moments, axis=1)
    joined = Logarithms(*np.concatenate(logs, axis=1)) if takes_logs else None
    missing = np.flatnonzero(~known.all(axis=1))
    design = LinearDesign(n_labels, missing, mean, scale, None, joined)
    if not 0 < len(mean) <= max_splined:
        return design
    return replace(design, knots=learn_knots(design.standardise(columns.values), weight))


def learn_logarithms(
    values: NDArray[np.float64],
    known: NDArray[np.bool_],
    weight: NDArray[np.float64] | None,
) -> Logarithms:
    """Learn which features (n_features, n_rows) to take logarithms of, and how."""
    counted = known if weight is None else known & (weight > 0.0)
    moments = _find_moments(values, known, weight)
    skewness = np.abs(signed := _find_skewness(values, known, weight, *moments))
    low = np.where(counted, values, np.inf).min(axis=1, initial=np.inf)
    high = np.where(counted, values, -np.inf).max(axis=1, initial=-np.inf)
    is_right = signed > 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        shift = np.where(is_right, moments[0] - 2.0 * low, 2.0 * high - moments[0])
        shift[is_right & (low > 0.0)] = 0.0
        least = np.where(is_right, shift + low, shift - high)
        most = np.where(is_right, shift + high, shift - low)
    usable = np.isfinite(shift) & (least > 0.0) & np.isfinite(most)
    logs = Logarithms(
        np.where(usable, np.where(is_right, 1.0, -1.0), 0.0),
        np.where(usable, shift, 0.0),
        np.where(usable, least, 1.0),
    )
    logged = logs.apply(values)
    less = skewness - np.abs(
        _find_skewness(logged, known, weight, *_find_moments(logged, known, weight))
    )
    kept = less >= MIN_LESS_SKEW
    return Logarithms(
        np.where(kept, logs.sign, 0.0),
        np.where(kept, logs.shift, 0.0),
        np.where(kept, logs.least, 1.0),
    )


def learn_knots(
    values: NDArray[np.float64], weight: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return knots at the quartiles, least and largest of each row of values."""
    inner = _find_quantiles(values, weight)
    gaps = np.diff(inner, axis=1)
    close = np.any((gaps > 0.0) & (gaps < MIN_KNOT_GAP), axis=1, keepdims=True)
    if close.any():
        rounded = np.round(values / MIN_KNOT_GAP) * MIN_KNOT_GAP
        inner = _find_quantiles(np.where(close, rounded, values), weight)
        gaps = np.diff(inner, axis=1)
    steps = np.arange(1, DEGREE + 1)
    below = inner[:, :1] - steps[::-1] * gaps[:, :1]
    above = inner[:, -1:] + steps * gaps[:, -1:]
    return np.concatenate([below, inner, above], axis=1)


def _find_moments(
    values: NDArray[np.float64],
    known: NDArray[np.bool_],
    weight: NDArray[np.float64] | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and standard deviation of each row of values; 1 where that is zero."""
    counted = np.asarray(known, dtype=np.float64)
    if weight is not None:
        counted = counted * (weight / power_of_two(weight.max()))
    n_known = counted.sum(axis=1)
    n_known[n_known == 0.0] = 1.0
    values = np.where(known, values, 0.0)
    size = power_of_two(np.abs(values).max(axis=1))
    values = values / size[:, None]
    mean = (values * counted).sum(axis=1) / n_known
    # The spread has a unit of its own: its square may underflow where the mean is large.
    deviation = np.where(known, values - mean[:, None], 0.0)
    spread = power_of_two(np.abs(deviation).max(axis=1))
    square = ((deviation / spread[:, None]) ** 2 * counted).sum(axis=1) / n_known
    scale = np.sqrt(square) * spread * size
    return mean * size, np.where(scale > 0.0, scale, 1.0)


def _find_skewness(
    values: NDArray[np.float64],
    known: NDArray[np.bool_],
    weight: NDArray[np.float64] | None,
    mean: NDArray[np.float64],
    scale: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the mean of the cubed deviations of each row of values."""
    with np.errstate(over="ignore"):
        deviation = np.where(known, (values - mean[:, None]) / scale[:, None], 0.0)
    # A difference that overflows is as good as the largest deviation of so many rows.
    cubes = np.clip(deviation, -known.shape[1], known.shape[1]) ** 3
    counted = np.asarray(known, dtype=np.float64)
    if weight is not None:
        counted = counted * (weight / power_of_two(weight.max()))
    total = np.maximum(counted.sum(axis=1), np.finfo(float).tiny)
    return np.asarray((cubes * counted).sum(axis=1) / total)


def _find_quantiles(
    values: NDArray[np.float64], weight: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return quantiles of each row of values at even distances, from the least to the largest."""
    shares = np.linspace(0.0, 1.0, N_KNOTS)
    if weight is None:
        return np.quantile(values, shares, axis=1).T
    order = np.argsort(values, axis=1, kind="stable")
    total = np.cumsum(weight[order], axis=1)
    place = (total[:, None, :] < shares[:, None] * total[:, None, -1:]).sum(axis=2)
    return np.take_along_axis(values, np.take_along_axis(order, place, axis=1), axis=1)


TAILS = (1.0, 0.0)
"""Intervals of logistic regressions are those of normal scores."""


class BaseLogisticClassifier(TableClassifier):
    """A multinomial logistic regression, with the mean of the weights learnt without each fold.

    Parameters
    ----------
    n_folds : int or "auto"
        Folds of the rows; weights are learnt without each of them and averaged. "auto" is ten
        between 200 and 2,000 rows of at most 50 classes, and five otherwise.
    tol : float
        The search for weights ends when a step is expected to lower the loss by less than this
        share of it.

    Attributes
    ----------
    design_ : LinearDesign
        What the regression sees of a table.
    penalty_ : float
        The ridge penalty chosen.
    oof_proba_ : array of shape (n_rows, n_classes)
        Probabilities of each training row from weights that have not seen it; NaN for rows of
        weight zero.
    """

    learnt: ClassVar[Mapping[str, Any]] = {
        **TableClassifier.learnt,
        "penalty_": float,
    }
    n_folds: int | str
    tol: float
    penalty_: float
    oof_proba_: NDArray[np.float64]

    def check_parameters(self) -> None:
        if isinstance(self.n_folds, str):
            check_choice("n_folds", self.n_folds, ("auto",))
        else:
            check_number("n_folds", self.n_folds, least=2, whole=True)
        check_number("tol", self.tol, above=0.0)

    design_ = from_step("design", "What the regression sees of a table.")


@cache
def _blas() -> ThreadpoolController:
    """The libraries of linear algebra; looking for them takes milliseconds."""
    return ThreadpoolController().select(user_api="blas")


def one_blas_thread() -> AbstractContextManager[Any]:
    """Use one thread of BLAS.

    The same bits on every machine, and no wait for threads that have no processor to run on.
    """
    limits: AbstractContextManager[Any] = _blas().limit(limits=1)
    return limits


def join_out_of_fold(
    drawn: TrainingTable,
    held_out: NDArray[np.float64],
    predict_all: Callable[[], NDArray[np.float64]],
) -> NDArray[np.float64]:
    """Return out-of-fold probabilities of all rows of the table that rows were drawn from.

    Rows that were not drawn have been seen by no weights: they get the probabilities that
    `predict_all` returns for all rows.
    """
    if drawn.n_rows == drawn.n_given:
        return held_out
    proba = predict_all()
    proba[drawn.given] = held_out
    return proba
