"""Decisions: what every classifier does with its probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priorwise.common.validation import check_cost_matrix


class DecisionMixin:
    """Classes and log probabilities from `predict_proba`, for any classifier with `classes_`."""

    classes_: NDArray[Any]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the probability of each class for each row.

        Parameters
        ----------
        X : frame or array of shape (n_rows, n_features)
            Rows with the columns of training.

        Returns
        -------
        array of shape (n_rows, n_classes)
            Probabilities; rows sum to one, columns are in the order of `classes_`.
        """
        raise NotImplementedError

    def predict(self, X: Any, cost_matrix: ArrayLike | None = None) -> NDArray[Any]:
        """Predict the most probable class, or the class of the least expected cost.

        Parameters
        ----------
        X : frame or array of shape (n_rows, n_features)
            Rows with the columns of training.
        cost_matrix : array of shape (n_classes, n_classes), optional
            Row i, column j: the cost of predicting class j where class i is true, in the order
            of `classes_`. The class j of the smallest sum_i p_i cost_ij is predicted, the first
            of several (Elkan 2001; thesis 6.2.2).

        Returns
        -------
        array of shape (n_rows,)
            Class labels.
        """
        proba = self.predict_proba(X)
        if cost_matrix is None:
            return np.asarray(self.classes_[proba.argmax(axis=1)])
        cost = check_cost_matrix(cost_matrix, len(self.classes_))
        return np.asarray(self.classes_[(proba @ cost).argmin(axis=1)])

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the logarithm of the probability of each class for each row.

        Parameters
        ----------
        X : frame or array of shape (n_rows, n_features)
            Rows with the columns of training.

        Returns
        -------
        array of shape (n_rows, n_classes)
            Natural logarithms of `predict_proba`; minus infinity where that is zero.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))
