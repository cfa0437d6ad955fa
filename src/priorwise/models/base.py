"""Decisions: what every classifier does with its probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _check_sample_weight


class DecisionMixin:
    """Classes and log probabilities from `predict_proba`, for any classifier with `classes_`."""

    classes_: NDArray[Any]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        raise NotImplementedError

    def predict(self, X: Any, cost_matrix: ArrayLike | None = None) -> NDArray[Any]:
        """The most probable class, or the class of the least expected cost.

        Parameters
        ----------
        X : table of rows
        cost_matrix : array of shape (n_classes, n_classes), optional
            Row i, column j: the cost of answering class j where class i is true, in the order
            of `classes_`. The answer minimises sum_i p_i cost_ij (Elkan 2001; thesis 6.2.2);
            the first of equals.
        """
        proba = self.predict_proba(X)
        if cost_matrix is None:
            return np.asarray(self.classes_[proba.argmax(axis=1)])
        cost = check_cost_matrix(cost_matrix, len(self.classes_))
        return np.asarray(self.classes_[(proba @ cost).argmin(axis=1)])

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithm of the class probabilities."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


def softmax(scores: NDArray[Any]) -> NDArray[np.float64]:
    """Rows of scores as probabilities, in proportion to their exponentials.

    >>> softmax(np.log([[1.0, 3.0]]))
    array([[0.25, 0.75]])
    """
    proba = np.exp(scores - scores.max(axis=1, keepdims=True), dtype=np.float64)
    proba /= proba.sum(axis=1, keepdims=True)
    return np.asarray(proba)


def check_cost_matrix(cost_matrix: ArrayLike, n_classes: int) -> NDArray[np.float64]:
    """The costs as an array, or an error that names the rule.

    >>> check_cost_matrix([[0, 1], [5, 0]], n_classes=2)
    array([[0., 1.],
           [5., 0.]])
    """
    cost = np.asarray(cost_matrix, dtype=np.float64)
    if cost.shape != (n_classes, n_classes):
        raise ValueError(
            f"cost_matrix must have a row and a column for each of {n_classes} classes, "
            f"got shape {cost.shape}"
        )
    if not np.isfinite(cost).all():
        raise ValueError("cost_matrix must be finite, got NaN or infinity")
    return cost


def check_weight(sample_weight: Any, y: NDArray[np.int32]) -> NDArray[np.float64] | None:
    """Weights of the rows, one for each of y, or an error that names the rule; None stays None."""
    if sample_weight is None:
        return None
    weight = _check_sample_weight(
        sample_weight, y[:, None], dtype=np.float64, ensure_non_negative=True
    )
    if not weight.any():
        raise ValueError("sample_weight must not be zero for every row")
    return np.ascontiguousarray(weight)
