"""What logistic regressions on tables share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from priorwise.common.validation import check_choice, check_number
from priorwise.models.base import TableClassifier
from priorwise.models.fitted import from_step
from priorwise.models.training_table import TrainingTable

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
