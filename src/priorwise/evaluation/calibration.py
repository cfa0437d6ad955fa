"""Calibration: CORP reliability curves and the parts of a score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import isotonic_regression

from priorwise.common.docstrings import describe
from priorwise.common.documents import describe_fields
from priorwise.common.registered import with_registered_methods
from priorwise.common.validation import check_choice, check_number
from priorwise.evaluation.predictions import PREDICTIONS, Predictions, check_predictions

_SCORE_NAMES = ("brier", "log_loss")


@with_registered_methods
@dataclass(frozen=True, repr=False)
class ReliabilityCurve:
    """Frequency of an event at each predicted probability, made monotone.

    Predictions are calibrated where `predicted` and `observed` agree.

    Parameters
    ----------
    predicted : array of shape (n_points,)
        Distinct predicted probabilities in increasing order.
    observed : array of shape (n_points,)
        Frequency of the event at each, made monotone by isotonic regression.
    weight : array of shape (n_points,)
        Total weight of the rows at each.
    event : class label
        The class whose probability was predicted.

    Examples
    --------
    >>> curve = reliability_curve([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.9])
    >>> curve.observed
    array([0. , 0.5, 0.5, 1. ])
    """

    predicted: NDArray[np.float64]
    observed: NDArray[np.float64]
    weight: NDArray[np.float64]
    event: Any

    def __repr__(self) -> str:
        return describe_fields(self)


@dataclass(frozen=True)
class ScoreDecomposition:
    """Parts of a score: ``score = miscalibration - discrimination + uncertainty``.

    Parameters
    ----------
    score : float
        Mean score of the predictions.
    miscalibration : float
        How much recalibration would lower it, at least zero.
    discrimination : float
        How much lower the recalibrated score is than that of the base rate, at least zero.
    uncertainty : float
        Score of the base rate.

    Examples
    --------
    >>> parts = decompose([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.9])
    >>> round(parts.miscalibration - parts.discrimination + parts.uncertainty - parts.score, 12)
    0.0
    """

    score: float
    miscalibration: float
    discrimination: float
    uncertainty: float


@describe(PREDICTIONS)
def reliability_curve(
    y_true: ArrayLike,
    proba: ArrayLike,
    *,
    event: Any = None,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> ReliabilityCurve:
    """CORP reliability curve of the probability of one class.

    Frequencies are those of isotonic regression (pool adjacent violators) of the event on its
    predicted probability: consistent, reproducible, and without a choice of bins. Source:
    Dimitriadis, Gneiting and Jordan (2021).

    Parameters
    ----------
    event : class label, optional
        The class whose probability is judged; by default the second of two classes.

    Returns
    -------
    ReliabilityCurve
        Predicted probabilities and observed frequencies.

    Examples
    --------
    >>> curve = reliability_curve([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.9])
    >>> curve.predicted.tolist(), curve.observed.tolist()
    ([0.1, 0.4, 0.6, 0.9], [0.0, 0.5, 0.5, 1.0])
    """
    given = check_predictions(y_true, proba, labels, sample_weight)
    column = _event_column(given, event)
    return _calibrate(given, column)


def consistency_band(
    curve: ReliabilityCurve,
    *,
    level: float = 0.9,
    n_resamples: int = 200,
    random_state: int | None = 0,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Band in which the curve of calibrated predictions lies with a given probability.

    Outcomes are drawn from the predicted probabilities, and the curve of each draw is computed.
    The weights of the curve must be whole numbers of rows.

    Parameters
    ----------
    curve : ReliabilityCurve
        The curve whose predictions are assumed to be calibrated.
    level : float
        Share of the draws inside the band at each point.
    n_resamples : int
        Number of draws.
    random_state : int or None
        Seed of the draws.

    Returns
    -------
    low : array of shape (n_points,)
        Lower bound at each predicted probability.
    high : array of shape (n_points,)
        Upper bound at each predicted probability.

    Examples
    --------
    >>> curve = reliability_curve([0, 1] * 20, [0.2, 0.7] * 20)
    >>> low, high = consistency_band(curve)
    >>> bool(low[0] <= 0.2 <= high[0])
    True
    """
    check_number("level", level, above=0, below=1)
    check_number("n_resamples", n_resamples, least=1)
    n_rows = np.round(curve.weight).astype(np.int64)
    if not np.allclose(n_rows, curve.weight):
        raise ValueError("weights of the curve must be whole numbers of rows")
    rng = np.random.default_rng(random_state)
    p = np.clip(curve.predicted, 0.0, 1.0)
    draws = rng.binomial(n_rows, p, size=(n_resamples, len(p))) / n_rows
    curves = [isotonic_regression(draw, weights=curve.weight).x for draw in draws]
    tail = (1 - level) / 2
    low, high = np.quantile(np.array(curves), [tail, 1 - tail], axis=0)
    return low, high


@describe(PREDICTIONS)
def decompose(
    y_true: ArrayLike,
    proba: ArrayLike,
    *,
    score: str = "brier",
    event: Any = None,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> ScoreDecomposition:
    """Split a score into miscalibration, discrimination and uncertainty (CORP).

    With S the mean score of the prediction, S_c of its isotonic recalibration and S_r of the
    base rate::

        miscalibration = S - S_c >= 0,  discrimination = S_r - S_c >= 0,  uncertainty = S_r

    An event of predicted probability zero makes the log-loss and its miscalibration infinite.
    Source: Dimitriadis, Gneiting and Jordan (2021).

    Parameters
    ----------
    score : {"brier", "log_loss"}
        The score, in nats for "log_loss".
    event : class label, optional
        The class whose probability is judged; by default the second of two classes. Of more
        classes, the parts of "brier" are summed by default, so that the score is that of
        :func:`~priorwise.evaluation.brier`; "log_loss" needs an event there.

    Returns
    -------
    ScoreDecomposition
        The score and its parts.

    Examples
    --------
    >>> parts = decompose([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.9], score="log_loss", event=1)
    >>> round(parts.score, 4), round(parts.miscalibration, 4), round(parts.discrimination, 4)
    (0.5108, 0.1643, 0.3466)
    """
    check_choice("score", score, _SCORE_NAMES)
    given = check_predictions(y_true, proba, labels, sample_weight)
    if event is None and score == "brier" and given.n_classes != 2:
        parts = [_decompose_event(given, column, score) for column in range(given.n_classes)]
        return ScoreDecomposition(*(sum(values) for values in zip(*parts, strict=True)))
    return ScoreDecomposition(*_decompose_event(given, _event_column(given, event), score))


def _event_column(given: Predictions, event: Any) -> int:
    if event is None:
        if given.n_classes != 2:
            raise ValueError(
                f"event must name one of the {given.n_classes} classes {given.labels.tolist()}"
            )
        return 1
    matches = [k for k, label in enumerate(given.labels.tolist()) if label == event]
    if not matches:
        raise ValueError(f"event must be one of {given.labels.tolist()}, got {event!r}")
    return matches[0]


def _calibrate(given: Predictions, column: int) -> ReliabilityCurve:
    counted = given.weight > 0
    happened = (given.codes == column)[counted].astype(np.float64)
    predicted, place = np.unique(given.proba[counted, column], return_inverse=True)
    weight = np.bincount(place, weights=given.weight[counted]).astype(np.float64)
    frequency = np.bincount(place, weights=given.weight[counted] * happened) / weight
    # Rounding may put the mean of zeros and ones slightly outside [0, 1].
    observed = np.clip(isotonic_regression(frequency, weights=weight).x, 0.0, 1.0)
    return ReliabilityCurve(predicted, observed, weight, given.labels[column])


def _decompose_event(
    given: Predictions, column: int, score: str
) -> tuple[float, float, float, float]:
    curve = _calibrate(given, column)
    happened = (given.codes == column).astype(np.float64)
    base_rate = np.full(len(happened), given.mean(happened))
    p = given.proba[:, column]
    # With two classes the other column has digits that 1 - p has lost.
    q = given.proba[:, 1 - column] if given.n_classes == 2 else 1.0 - p
    recalibrated = np.interp(p, curve.predicted, curve.observed)
    mean, calibrated, base = (
        _mean_score(given, happened, a, b, score)
        for a, b in ((p, q), (recalibrated, 1 - recalibrated), (base_rate, 1 - base_rate))
    )
    return mean, mean - calibrated, base - calibrated, base


def _mean_score(
    given: Predictions,
    happened: NDArray[np.float64],
    p: NDArray[np.float64],
    q: NDArray[np.float64],
    score: str,
) -> float:
    if score == "brier":
        per_row = (p - happened) ** 2
    else:
        with np.errstate(divide="ignore"):
            per_row = -np.log(np.where(happened == 1, p, q))
    return given.mean(per_row)
