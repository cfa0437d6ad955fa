"""How far predictions may be from the truth: intervals and draws, and how they are calibrated."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from priorwise.common.docstrings import describe
from priorwise.common.numeric import draw_seed
from priorwise.common.registered import of_one_fit
from priorwise.common.validation import check_number
from priorwise.counts.draws import deal_into_folds
from priorwise.models.correction import learn_rival
from priorwise.models.descriptions import ROWS
from priorwise.models.training_table import TrainingTable
from priorwise.steps.intervals import Calibration, draw_noise

HELD_OUT = "held_out"
"""What a learner calls probabilities of the training rows by models that have not seen them, if it
has some that are not its own out-of-fold probabilities."""
ROWS_TO_CALIBRATE = "_rows_to_calibrate"
"""Attribute of the rows that intervals are calibrated on when they are first asked for."""
MAX_ROWS, LEAST_ROWS = 10_000, 20
"""Most and fewest training rows that intervals are calibrated on."""
MAX_CELLS, LEAST_DRAWN = 4_000_000, 2_000
"""Largest product of rows, features and classes that intervals are calibrated on, if there are more
rows than `LEAST_DRAWN`: the rival then takes about a second."""
N_FOLDS = 3


@dataclass(frozen=True, eq=False)
class RowsToCalibrate:
    """Training rows, and what a model that had not seen them predicts; None if unknown."""

    table: TrainingTable
    proba: NDArray[np.float64] | None
    are_all: bool
    """Whether they are all rows of training."""

    @classmethod
    def draw(cls, table: TrainingTable, proba: NDArray[np.float64] | None) -> Self:
        """Draw rows that a rival learns fast, of those that have probabilities if any do."""
        table = replace(table, X=None)
        if proba is not None:
            known = np.flatnonzero(~np.isnan(proba).any(axis=1))
            if len(known) < len(proba):
                table, proba = table.take(known), proba[known]
        n_cells = max(len(table.feature_columns) * table.n_classes, 1)
        n_rows = min(MAX_ROWS, max(MAX_CELLS // n_cells, LEAST_DRAWN))
        are_all = table.n_rows <= n_rows
        if not are_all:
            table = table.draw(n_rows, np.random.default_rng(0))
            proba = None if proba is None else proba[table.given]
        return cls(table, proba, are_all)

    def calibrate(self, model: Any) -> Calibration:
        """Measure the error of a fitted model."""
        table, n_rows = self.table, float(model.class_count_.sum())
        if self.proba is None:
            # Copies of a row are held out together, and folds don't depend on the order of rows.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                table = table.as_draws()
        if table.n_rows < LEAST_ROWS or table.n_classes == 1:
            return Calibration.guess(n_rows)
        proba = self._hold_out(model, table) if self.proba is None else self.proba
        shares = (table.class_count + 1.0) / (table.class_count + 1.0).sum()
        rival = learn_rival(
            table.feature_columns, table.y, table.weight, shares,
            group=table.group, n_threads=model.n_threads,
        )  # fmt: skip
        return Calibration.measure(
            proba, rival, table.y, table.weights,
            n_rows=n_rows, independence=model.step_.independence,
        )  # fmt: skip

    def _hold_out(self, model: Any, table: TrainingTable) -> NDArray[np.float64]:
        """Return what models of the same kind predict that have not seen a fold.

        Of some of more rows, it is what the model itself predicts: a row changes it by little.
        """
        n_threads = model.n_threads
        if not self.are_all:
            proba: NDArray[np.float64] = model.step_.predict(table.columns, n_threads)
            return proba
        proba = np.empty((table.n_rows, table.n_classes))
        folds = deal_into_folds(table.y, N_FOLDS, np.random.default_rng(0), table.group)
        for fold in range(N_FOLDS):
            held = np.flatnonzero(folds == fold)
            learner = clone(model).set_params(random_state=0)
            learner.fit_table(table.take(np.flatnonzero(folds != fold)))
            proba[held] = learner.step_.predict(table.columns.take(held), n_threads)
        return proba


def take_calibration(model: Any) -> Calibration:
    """Return the calibration of a fitted model, measured when it is first asked for or stored."""
    attributes = vars(model)
    # Another thread that measures it takes the rows away once the calibration is there.
    rows = attributes.get(ROWS_TO_CALIBRATE)
    if "calibration_" not in attributes:
        if rows is None:
            model.calibration_ = Calibration.guess(model.class_count_.sum())
        else:
            model.calibration_ = rows.calibrate(model)
        attributes.pop(ROWS_TO_CALIBRATE, None)
    return attributes["calibration_"]


@of_one_fit
@describe(ROWS)
def predict_interval(
    model: Any, X: Any, level: float = 0.9
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Predict intervals that contain the true class probabilities with a given chance.

    How wrong the probabilities of the model are on rows it had not seen says how wide intervals
    are; the first call measures it. docs/intervals.md says what is in an interval.

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
    proba = model.predict_proba(X)
    return take_calibration(model).find_interval(proba, level)


@of_one_fit
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
    columns = model.read_rows(X)
    proba = model.predict_columns(columns)
    generator = np.random.default_rng(draw_seed(random_state))
    calibration = take_calibration(model)
    noise = draw_noise(columns, proba, calibration, int(n_draws), generator)
    return calibration.draw(proba, noise, generator)
