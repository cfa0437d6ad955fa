"""Logistic regression on indicators, numbers and splines, cross-fitted."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from priorwise import _core
from priorwise.data import Columns, TableEncoder, encode_labels
from priorwise.data.design import Design, LinearDesign
from priorwise.models.base import check_weight, softmax
from priorwise.models.folds import deal_into_folds
from priorwise.models.piecewise_score import PiecewiseScore
from priorwise.models.table_classifier import TableClassifier
from priorwise.models.tree_rows import WholeRange

N_FOLDS = 5
PENALTIES = (100.0, 31.6, 10.0, 3.16, 1.0, 0.316, 0.1)
TOLERANCE = 1e-4
MIN_ROWS_FOR_ONE = 2_000
"""With so many rows one fold can tell which penalty is best."""
MAX_ROWS = 20_000
MAX_TERMS = 10_000_000
"""Weights see so many rows, and so many rows x weights but at least 2,000 rows; the others are out
of fold for all of them."""


class SplineLogisticClassifier(TableClassifier):
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows X with class labels y."""
        codes, self.classes_ = encode_labels(y, min_classes=2)
        weight = check_weight(sample_weight, codes)
        encoder = TableEncoder(
            categorical_features=self.categorical_features,
            missing=self.missing,
            unseen=self.unseen,
            discretizer=WholeRange(),
        )
        columns = encoder.fit_read(X, codes, weight)
        self._adopt_features(encoder)
        self.encoder_ = encoder
        n_labels = np.array([len(c.labels) for c in encoder.categories_], dtype=np.int64)
        self.design_ = LinearDesign.learn(columns, n_labels, weight)
        design = self.design_.apply(columns)
        generator = np.random.default_rng(int(check_random_state(self.random_state).randint(2**31)))
        drawn = np.arange(len(codes))
        n_seen = min(MAX_ROWS, max(2_000, MAX_TERMS // self._shape(design)[1:].prod()))
        if len(codes) > n_seen:
            drawn = np.sort(generator.choice(len(codes), n_seen, replace=False))
        fold = deal_into_folds(codes[drawn], N_FOLDS, generator).astype(np.int32)
        held_out = self._fit_folds(
            design.take(drawn), codes[drawn], None if weight is None else weight[drawn], fold
        )
        if len(drawn) == len(codes):
            self.oof_probabilities_ = held_out
        else:
            self.oof_probabilities_ = softmax(self._score(design, self.coef_))
            self.oof_probabilities_[drawn] = held_out
        self._scores = PiecewiseScore.fold(self.design_, self.coef_)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities; columns as in `classes_`."""
        check_is_fitted(self)
        return self._predict_columns(self.encoder_.read(X))

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
        intercept, indicators, values = self._split(self.coef_)
        terms = np.zeros((len(design.value), self.n_features_in_, len(self.classes_)))
        nominal_first = np.argsort(~self.encoder_.is_nominal_, kind="stable")
        for feature, column in zip(self.design_.index_feature, design.index.T, strict=True):
            terms[:, nominal_first[feature]] += indicators[column]
        for feature, column, w in zip(
            self.design_.value_feature, design.value.T, values, strict=True
        ):
            terms[:, nominal_first[feature]] += np.outer(column, w)
        return intercept, terms

    def _fit_folds(
        self,
        design: Design,
        y: NDArray[np.int32],
        weight: NDArray[np.float64] | None,
        fold: NDArray[np.int32],
    ) -> NDArray[np.float64]:
        """Choose the penalty, fit all folds with it; returns the rows' out-of-fold probabilities.

        The path goes from strong to weak penalties while the out-of-fold loss falls, each from
        where the last one ended. With many rows one fold alone chooses.
        """
        weights = np.zeros(self._shape(design))
        chosen_by = weights if len(y) < MIN_ROWS_FOR_ONE else weights[:1]

        def fit(penalty: float, part: NDArray[np.float64], tolerance: float) -> None:
            _core.fit_logistic(
                design.index, design.value, self.design_.n_indicators, y, weight, fold, penalty,
                tolerance, part, self._n_threads,
            )  # fmt: skip

        best_loss, best, self.penalty_ = np.inf, chosen_by.copy(), PENALTIES[0]
        for penalty in PENALTIES:
            fit(penalty, chosen_by, 10.0 * TOLERANCE)
            loss = self._held_out_loss(design, y, weight, fold, chosen_by)
            if loss >= best_loss:
                break
            best_loss, self.penalty_, best = loss, penalty, chosen_by.copy()
        weights[:] = best if len(best) == N_FOLDS else best[:1]
        fit(self.penalty_, weights, TOLERANCE)
        self.coef_ = weights.mean(axis=0)
        return self._held_out(design, fold, weights)

    def _shape(self, design: Design) -> NDArray[np.intp]:
        """Of all folds' weights: folds, classes, weights of a class."""
        n_weights = 1 + self.design_.n_indicators + design.value.shape[1]
        return np.array([N_FOLDS, len(self.classes_), n_weights])

    def _held_out_loss(
        self,
        design: Design,
        y: NDArray[np.int32],
        weight: NDArray[np.float64] | None,
        fold: NDArray[np.int32],
        weights: NDArray[np.float64],
    ) -> float:
        held = np.flatnonzero(fold < len(weights))
        proba = self._held_out(design.take(held), fold[held], weights)
        p = np.maximum(proba[np.arange(len(held)), y[held]], np.finfo(float).tiny)
        part = None if weight is None else weight[held]
        if part is not None and not part.any():
            return np.inf
        return float(np.average(-np.log(p), weights=part))

    def _held_out(
        self, design: Design, fold: NDArray[np.int32], weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Probabilities of rows by the weights of their folds."""
        proba = np.empty((len(fold), len(self.classes_)))
        for f, fold_weights in enumerate(weights):
            held = np.flatnonzero(fold == f)
            proba[held] = softmax(self._score(design.take(held), fold_weights))
        return proba

    def _score(self, design: Design, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        intercept, indicators, values = self._split(weights)
        score = design.value @ values.astype(np.float32) + intercept
        for column in design.index.T:
            score += indicators[column]
        return np.asarray(score)

    def _split(
        self, weights: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Weights of the intercept, of indicators and of values, the classes last."""
        intercept, indicators, values = np.split(weights.T, [1, 1 + self.design_.n_indicators])
        # Index -1, no indicator, finds the zeros at the end.
        padded = np.concatenate([indicators, np.zeros((1, len(weights)))])
        return intercept[0], padded, values
