"""Logistic regression on indicators, numbers and splines, cross-fitted."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from priorwise.common.numeric import softmax
from priorwise.data.tables import Columns
from priorwise.models.linear.base import BaseLogisticClassifier
from priorwise.models.linear.design import LinearDesign
from priorwise.models.linear.fold_logistic import FoldLogistic, score, split_weights
from priorwise.models.linear.piecewise_score import PiecewiseScore
from priorwise.models.training_table import TrainingTable

PENALTIES = (100.0, 31.6, 10.0, 3.16, 1.0, 0.316, 0.1)
MAX_ROWS = 20_000
MAX_TERMS = 10_000_000
"""Weights see so many rows, and so many rows x weights but at least 2,000 rows; the others are out
of fold for all of them."""


class SplineLogisticClassifier(BaseLogisticClassifier):
    """Multinomial logistic regression whose numeric features may bend.

    The score of a class is linear in indicators of labels and of missing values, in standardised
    numbers, and in quadratic splines of them where there are no more than 40. A ridge penalty,
    chosen from 100 down to 0.1 by out-of-fold log-loss, draws all weights but the intercepts
    towards zero. The weights are the mean of those of five folds.

    Parameters
    ----------
    categorical_features : "from_dtype", mask, indices or names
        Numeric columns to take as nominal.
    missing : "value" or "impute"
    unseen : "backoff" or "error"
        A label that training did not have adds nothing to any score, or is an error.
    n_jobs : int or None
        Threads; -1 for all processors. The result does not depend on it.
    random_state : int, RandomState or None

    Attributes
    ----------
    coef_ : array (classes, 1 + indicators + values)
        Weights; the intercept comes first.
    penalty_ : float
    oof_probabilities_ : array (rows, classes)
        Each training row's probabilities from weights that have not seen it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SplineLogisticClassifier(random_state=0).fit(X, y)
    >>> model.predict(X[[0, 60, 120]])
    array([0, 1, 2])
    """

    def __init__(
        self,
        categorical_features: Any = "from_dtype",
        missing: str = "value",
        unseen: str = "backoff",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.categorical_features = categorical_features
        self.missing = missing
        self.unseen = unseen
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit_table(self, table: TrainingTable) -> Self:
        """`fit` to a table that has been read."""
        training = self._adopt_table(table)
        self.design_ = LinearDesign.learn(training.columns, training.n_labels, training.weight)
        design, n_classes = self.design_.apply(training.columns), len(self.classes_)
        n_indicators = self.design_.n_indicators
        n_weights = n_classes * (1 + n_indicators + design.value.shape[1])
        rows, fold = training.draw(min(MAX_ROWS, max(2_000, MAX_TERMS // n_weights)))
        regression = FoldLogistic(
            design.take(rows), n_indicators, n_classes, training.y[rows], training.weights_of(rows),
            fold, self._n_threads,
        )  # fmt: skip
        found = regression.search(PENALTIES)
        weights = regression.finish(found)
        self.penalty_, self.coef_ = found.penalty, weights.mean(axis=0)
        self.oof_probabilities_ = training.out_of_fold(
            rows,
            regression.held_out(weights),
            lambda: softmax(score(design, self.coef_, n_indicators)),
        )
        self._scores = PiecewiseScore.fold(self.design_, self.coef_)
        return self

    def _predict_columns(self, columns: Columns) -> NDArray[np.float64]:
        """`predict_proba` of rows that the encoder has read."""
        return self._scores.proba(columns, self._n_threads)

    def decision_contributions(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What each feature adds to the scores, whose softmax are the probabilities.

        Returns
        -------
        bias : array of shape (n_classes,)
        contributions : array of shape (n_rows, n_features, n_classes)
        """
        check_is_fitted(self)
        design = self.design_.apply(self.encoder_.read(X))
        intercept, indicators, values = split_weights(self.coef_, self.design_.n_indicators)
        terms = np.zeros((len(design.value), self.n_features_in_, len(self.classes_)))
        nominal_first = self._nominal_first()
        for feature, column in zip(self.design_.index_feature, design.index.T, strict=True):
            terms[:, nominal_first[feature]] += indicators[column]
        for feature, column, w in zip(
            self.design_.value_feature, design.value.T, values, strict=True
        ):
            terms[:, nominal_first[feature]] += np.outer(column, w)
        return intercept, terms
