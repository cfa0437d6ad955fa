"""What every classifier does with tables and with its probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
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


class TableClassifier(DecisionMixin, ClassifierMixin, BaseEstimator):
    """A classifier of tables with labels, numbers and missing values, on `n_jobs` threads."""

    n_jobs: int | None

    @property
    def _n_threads(self) -> int:
        return int(effective_n_jobs(self.n_jobs))

    def _adopt_features(self, reader: Any) -> None:
        """Know the features of `reader`, which has been fitted, and forget those of before."""
        self.n_features_in_ = reader.n_features_in_
        if hasattr(reader, "feature_names_in_"):
            self.feature_names_in_ = reader.feature_names_in_
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


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
