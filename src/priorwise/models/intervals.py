"""How far predictions may be from the truth: intervals, and sets that contain the true class.

Adaptive sets (Romano, Sesia and Candes 2020): classes are taken from the most probable on, until
their probabilities exceed a threshold. The score of a row with a known class y is the threshold
from which on its set contains y::

    s(x, y) = sum of p_k over the classes more probable than y + u p_y,   u uniform in [0, 1)

The threshold for sets that miss the class of a share alpha of the rows is the quantile of the
scores of rows that the model has not seen. The random u makes that share exact; without it sets
would be too large. It is random for rows that are predicted only: the scores of rows with a known
class are spread evenly over u, since random ones would move the quantile of few rows by points.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from priorwise.common.docstrings import describe
from priorwise.common.numeric import draw_seed
from priorwise.common.validation import check_number, check_weight
from priorwise.counts import hash_rows
from priorwise.data.columns import Columns, encode_labels
from priorwise.models.descriptions import ROWS
from priorwise.steps.intervals import draw_noise, draw_proba
from priorwise.steps.step import summarise_scores


def predict_with_spread(
    model: Any, X: Any
) -> tuple[NDArray[np.float64], NDArray[np.float64], Columns]:
    """Return probabilities of rows, the variances of their scores, and the rows as read."""
    columns = model.read_rows(X)
    step, n_threads = model.step_, model.n_threads
    proba = step.predict(columns, n_threads)
    parts = step.spread_parts(columns, proba, n_threads)
    return proba, step.calibration.combine(proba, parts), columns


@describe(ROWS)
def predict_interval(
    model: Any, X: Any, level: float = 0.9
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Predict intervals that contain the true class probabilities with a given chance.

    The number of training rows behind a prediction, and how much the parts of the model
    differ, say how far it may be from the truth. docs/intervals.md says what is in the interval
    and how it was measured.

    Parameters
    ----------
    level : float
        Share of the true probabilities that are to lie in their intervals, between 0 and 1.

    Returns
    -------
    tuple of two arrays of shape (n_rows, n_classes)
        Lower and upper ends; `predict_proba` lies between them.

    Examples
    --------
    >>> from priorwise import NaiveBayesClassifier
    >>> X, y = [["sun"], ["sun"], ["rain"], ["rain"]], ["out", "out", "in", "out"]
    >>> lower, upper = NaiveBayesClassifier().fit(X * 9, y * 9).predict_interval([["rain"]])
    >>> bool(lower[0, 0] < 0.5 < upper[0, 0])
    True
    """
    check_number("level", level, above=0.0, below=1.0)
    proba, variance, _ = predict_with_spread(model, X)
    return model.step_.calibration.find_interval(proba, variance, level)


@describe(ROWS)
def sample_proba(
    model: Any, X: Any, n_draws: int = 100, *, random_state: Any = None
) -> NDArray[np.float64]:
    """Draw class probabilities that may be the true ones.

    A draw is one function of the features: rows with the same features have the same draw, and
    rows that have much in common have similar errors. So the mean of a draw over rows is a draw
    of the mean over rows. docs/intervals.md says how well that was measured to hold.

    Parameters
    ----------
    n_draws : int
        Number of draws.
    random_state : int, RandomState instance or None
        Seed of the draws.

    Returns
    -------
    array of shape (n_draws, n_rows, n_classes)
        Probabilities, which sum to one over the classes. Their mean over the draws approaches
        `predict_proba`.
    """
    check_number("n_draws", n_draws, least=1, whole=True)
    proba, variance, columns = predict_with_spread(model, X)
    generator = np.random.default_rng(draw_seed(random_state))
    noise = draw_noise(columns, int(n_draws), proba.shape[1], generator)
    return draw_proba(proba, variance, model.step_.calibration.stretch(noise))


M = TypeVar("M", bound=Any)


def draw_uniform(columns: Columns) -> NDArray[np.float64]:
    """Return a number in [0, 1) for each row that depends on the features of the row alone.

    So a row has the same set each time it is asked for, and rows of equal probabilities, such as
    those of a model that is never wrong, have sets of their own.
    """
    features = [*columns.nominal_codes, *columns.values]
    hashes = hash_rows(features, np.zeros(columns.n_rows, dtype=np.int32))
    return (hashes >> np.uint64(11)).astype(np.float64) * 2.0**-53


def class_scores(proba: NDArray[np.float64], u: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return s(x, y) of every row x and class y.

    >>> class_scores(np.array([[0.5, 0.125, 0.375]]), np.array([0.5]))
    array([[0.25  , 0.9375, 0.6875]])
    """
    order = np.argsort(-proba, axis=1, kind="stable")
    ordered = np.take_along_axis(proba, order, axis=1)
    before = np.cumsum(ordered, axis=1) - ordered
    scores = np.empty_like(proba)
    np.put_along_axis(scores, order, before + u[:, None] * ordered, axis=1)
    return scores


def find_threshold(summary: NDArray[np.float64], alpha: float) -> float:
    """Return the score that a share 1 - alpha of the rows and one more do not exceed."""
    needed = (1.0 - alpha) * (summary[-1, 1] + 1.0)
    place = int(np.searchsorted(summary[:, 1], needed * (1.0 - 1e-12)))
    return float(summary[place, 0]) if place < len(summary) else np.inf


@describe(ROWS)
def prediction_set(model: Any, X: Any, alpha: float = 0.1) -> NDArray[np.bool_]:
    """Predict sets of classes of which a share 1 - alpha contain the true class.

    The sets are as large as the model's errors on rows it had not seen demand, however wrong
    the probabilities are (adaptive sets of Romano, Sesia and Candes 2020). A set may be empty.
    The model must know its errors on such rows. With `calibrate_sets` the share is guaranteed,
    as a mean over rows like those. The out-of-fold probabilities of `fit` are those of slightly
    weaker models, so sets may contain the class more often, by up to 1.5 points as measured.

    Parameters
    ----------
    alpha : float
        Share of the sets that may miss the true class, between 0 and 1.

    Returns
    -------
    array of bool of shape (n_rows, n_classes)
        Whether each class, in the order of `classes_`, is in the set.
    """
    check_number("alpha", alpha, above=0.0, below=1.0)
    check_is_fitted(model)
    if not hasattr(model, "set_scores_"):
        raise ValueError(
            f"prediction_set needs errors on rows that {type(model).__name__} has not learnt "
            "from, and it has no out-of-fold probabilities: call calibrate_sets(X, y) with "
            "such rows first"
        )
    u = draw_uniform(model.read_rows(X))
    threshold = find_threshold(model.set_scores_, alpha)
    return class_scores(model.predict_proba(X), u) <= threshold


@describe(ROWS)
def calibrate_sets(model: M, X: Any, y: Any, sample_weight: Any = None) -> M:
    """Measure errors for `prediction_set` on rows that the model has not learnt from.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Class label of each row, one of `classes_`.
    sample_weight : array-like of shape (n_rows,), optional
        Weight of each row.

    Returns
    -------
    Self
        The classifier; its probabilities stay as they are.
    """
    check_is_fitted(model)
    codes, _ = encode_labels(y, min_classes=1, classes=model.classes_)
    weight = check_weight(sample_weight, len(codes))
    proba = model.predict_proba(X)
    model.set_scores_ = summarise_scores(
        proba, codes, np.ones(len(codes)) if weight is None else weight
    )
    return model
