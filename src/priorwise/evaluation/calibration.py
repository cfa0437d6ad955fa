"""Calibration: the CORP reliability curve and what a score is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.isotonic import isotonic_regression

from priorwise.evaluation.predictions import Predictions, check_predictions, weighted_sum

_SCORE_NAMES = ("brier", "log_loss")


@dataclass(frozen=True)
class ReliabilityCurve:
    """How often an event came true at each predicted probability, made monotone.

    ``predicted`` holds the distinct probabilities in increasing order, ``observed`` the calibrated
    frequency and ``weight`` the rows at each. The prediction is calibrated where the two agree.
    """

    predicted: NDArray[np.float64]
    observed: NDArray[np.float64]
    weight: NDArray[np.float64]
    event: Any


@dataclass(frozen=True)
class ScoreDecomposition:
    """``score = miscalibration - discrimination + uncertainty``."""

    score: float
    miscalibration: float
    discrimination: float
    uncertainty: float


def reliability_curve(
    y_true: ArrayLike,
    proba: ArrayLike,
    *,
    event: Any = None,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> ReliabilityCurve:
    """CORP reliability curve of the probability of one class.

    The frequencies are those of isotonic regression (pool adjacent violators) of the event on its
    predicted probability: consistent, reproducible, and without bins to choose. ``event`` is the
    class to look at, by default the last of two classes. Source: Dimitriadis, Gneiting and
    Jordan (2021).

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
    """Where the curve of a calibrated prediction would lie: lower and upper bounds per point.

    Outcomes are drawn from the predicted probabilities ``n_resamples`` times and the curve is
    computed again; the band holds the middle ``level`` of them, point by point. Weights must be
    whole numbers of rows.

    >>> curve = reliability_curve([0, 1] * 20, [0.2, 0.7] * 20)
    >>> low, high = consistency_band(curve)
    >>> bool(low[0] <= 0.2 <= high[0])
    True
    """
    if not 0 < level < 1:
        raise ValueError(f"level must lie in (0, 1), got {level}")
    if n_resamples < 1:
        raise ValueError(f"n_resamples must be at least 1, got {n_resamples}")
    n_rows = np.round(curve.weight).astype(np.int64)
    if not np.allclose(n_rows, curve.weight):
        raise ValueError("consistency_band needs weights that are whole numbers of rows")
    rng = np.random.default_rng(random_state)
    p = np.clip(curve.predicted, 0.0, 1.0)
    draws = rng.binomial(n_rows, p, size=(n_resamples, len(p))) / n_rows
    curves = [isotonic_regression(draw, sample_weight=curve.weight) for draw in draws]
    tail = (1 - level) / 2
    low, high = np.quantile(np.array(curves), [tail, 1 - tail], axis=0)
    return low, high


def decompose(
    y_true: ArrayLike,
    proba: ArrayLike,
    score: str = "brier",
    *,
    event: Any = None,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> ScoreDecomposition:
    """Split a score into miscalibration, discrimination and uncertainty (CORP).

    With S the mean score of the prediction, S_c of its isotonic recalibration and S_r of the
    base rate::

        miscalibration = S - S_c >= 0,  discrimination = S_r - S_c >= 0,  uncertainty = S_r

    ``score`` is "brier" or "log_loss" (in nats). With ``event`` the probability of that class
    alone is judged. Without it "brier" sums the parts of all classes, so that the total is
    :func:`~priorwise.evaluation.brier`; "log_loss" then needs two classes, and its total is
    :func:`~priorwise.evaluation.cross_entropy`. A certain prediction that fails makes the
    log-loss and its miscalibration infinite. Source: Dimitriadis, Gneiting and Jordan (2021).

    >>> parts = decompose([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.9], "log_loss", event=1)
    >>> round(parts.score, 4), round(parts.miscalibration, 4), round(parts.discrimination, 4)
    (0.5108, 0.1643, 0.3466)
    """
    if score not in _SCORE_NAMES:
        raise ValueError(f"score must be one of {_SCORE_NAMES}, got {score!r}")
    given = check_predictions(y_true, proba, labels, sample_weight)
    if event is None and score == "brier":
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
    # Rounding may take the mean of zeros and ones a hair outside [0, 1].
    observed = np.clip(isotonic_regression(frequency, sample_weight=weight), 0.0, 1.0)
    return ReliabilityCurve(predicted, observed, weight, given.labels[column])


def _decompose_event(
    given: Predictions, column: int, score: str
) -> tuple[float, float, float, float]:
    curve = _calibrate(given, column)
    happened = (given.codes == column).astype(np.float64)
    base_rate = np.full(len(happened), given.mean(happened))
    p = given.proba[:, column]
    # The other of two columns keeps digits that 1 - p has lost.
    q = given.proba[:, 1 - column] if given.n_classes == 2 else 1.0 - p
    recalibrated = np.interp(p, curve.predicted, curve.observed)
    mean_score = _mean_score(given, happened, p, q, score)
    calibrated_score = _mean_score(given, happened, recalibrated, 1 - recalibrated, score)
    base_score = _mean_score(given, happened, base_rate, 1 - base_rate, score)
    return (
        mean_score,
        mean_score - calibrated_score,
        base_score - calibrated_score,
        base_score,
    )


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
    return weighted_sum(per_row, given.weight) / given.total_weight
