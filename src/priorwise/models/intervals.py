"""How far predictions may be from the truth: methods of all classifiers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.docstrings import describe
from priorwise.common.numeric import draw_seed
from priorwise.common.validation import check_number
from priorwise.data.columns import Columns
from priorwise.models.descriptions import ROWS
from priorwise.steps.intervals import draw_noise, draw_proba


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
