"""A log-linear pool: classifiers joined by weights on their log probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.validation import check_is_fitted

from priorwise import _core
from priorwise.common.numeric import softmax
from priorwise.common.validation import check_number, check_weight
from priorwise.data.tables import encode_labels
from priorwise.models.base import TableClassifier
from priorwise.models.folds import deal_into_folds

FLOOR = 1e-3


@dataclass(frozen=True)
class PoolWeights:
    """p(y) proportional to exp(b_y + sum_m w_m log max(P_m(y), floor)).

    The weights may sum to more than one, and do where members are under-confident.
    """

    weight: NDArray[np.float64]
    """w, one per member."""
    intercept: NDArray[np.float64]
    """b, one per class."""

    @classmethod
    def fit(
        cls,
        probabilities: Sequence[NDArray[np.float64]],
        y: NDArray[np.int32],
        row_weight: NDArray[np.float64] | None = None,
        penalty: float = 5.0,
        intercept_penalty: float = 5.0,
    ) -> PoolWeights:
        """Maximise the conditional likelihood of rows that no member has seen.

        A row with a NaN, which some member can't judge, is left out.

        Ridge penalties draw each weight towards 1 / 2, or to 1 where there is but one, and the
        intercepts towards zero; so the fewer the rows, the plainer the pool.
        """
        n_members, n_classes = len(probabilities), probabilities[0].shape[1]
        features = np.stack([_log(p) for p in probabilities], axis=2).astype(np.float32)
        known = np.flatnonzero(~np.isnan(features).any(axis=(1, 2)))
        centre = np.concatenate(
            [np.full(n_members, 1.0 if n_members == 1 else 0.5), np.zeros(n_classes)]
        )
        penalties = np.repeat([penalty, intercept_penalty], [n_members, n_classes])
        fitted = _core.fit_conditional(
            np.ascontiguousarray(features[known]),
            np.zeros(n_classes),
            y[known],
            None if row_weight is None else row_weight[known],
            centre,
            penalties,
        )
        return cls(fitted[:n_members], fitted[n_members:])

    def pool(self, probabilities: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Join the members' probabilities of the same rows."""
        score = np.tile(self.intercept, (len(probabilities[0]), 1))
        for w, p in zip(self.weight, probabilities, strict=True):
            score += w * _log(p)
        return np.asarray(softmax(score))


def _log(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.log(np.maximum(probabilities, FLOOR)))


class LogLinearPool(TableClassifier, _BaseComposition):
    """Classifiers joined by weights on their log probabilities, learnt out of fold.

    Parameters
    ----------
    estimators : list of (name, classifier)
        Cloned and fitted by `fit`. One that has `oof_probabilities_` once it is fitted knows its
        own out-of-fold probabilities; others are fitted again on each of the folds.
    n_folds : int
        Folds for classifiers without out-of-fold probabilities of their own.
    penalty, intercept_penalty : float
        What draws the weights towards 1 / 2 and the intercepts towards zero.
    random_state : int, RandomState or None
        Deals the folds.

    Attributes
    ----------
    estimators_ : list of classifiers
    pool_weights_ : array (members,)
    intercept_ : array (classes,)
    oof_probabilities_ : list of arrays (rows, classes)
        What the weights were learnt from, one array a member.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from priorwise import NaiveBayesClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> members = [("bayes", NaiveBayesClassifier()), ("forest", RandomForestClassifier())]
    >>> pool = LogLinearPool(members, random_state=0).fit(X, y)
    >>> pool.predict(X[[0, 60, 120]])
    array([0, 1, 2])
    """

    def __init__(
        self,
        estimators: list[tuple[str, Any]],
        n_folds: int = 5,
        penalty: float = 5.0,
        intercept_penalty: float = 5.0,
        random_state: Any = None,
    ) -> None:
        self.estimators = estimators
        self.n_folds = n_folds
        self.penalty = penalty
        self.intercept_penalty = intercept_penalty
        self.random_state = random_state

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return self._get_params("estimators", deep=deep)

    def set_params(self, **params: Any) -> Self:
        self._set_params("estimators", **params)
        return self

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit every classifier on all rows, and the weights on out-of-fold probabilities."""
        self._check_parameters()
        codes, classes = encode_labels(y, min_classes=2)
        weight = check_weight(sample_weight, len(codes))
        seed = int(check_random_state(self.random_state).randint(2**31))
        folds = deal_into_folds(codes, self.n_folds, np.random.default_rng(seed))
        fitted, held_out = [], []
        for _, estimator in self.estimators:
            member = _fit(estimator, X, np.asarray(y), weight)
            found = getattr(member, "oof_proba_", None)
            if found is None:
                found = _predict_out_of_fold(estimator, X, codes, len(classes), weight, folds)
            fitted.append(member)
            held_out.append(found)
        return self._learn_weights(fitted, held_out, codes, classes, weight)

    @classmethod
    def of_fitted(
        cls,
        estimators: list[tuple[str, Any]],
        oof_probabilities: Sequence[NDArray[np.float64]],
        y: Any,
        sample_weight: Any = None,
        **parameters: Any,
    ) -> Self:
        """A pool of classifiers that are fitted already, from what they say of unseen rows.

        `oof_probabilities` holds, for each of them, the probabilities (rows, classes) of the rows
        with classes y by a model that has not seen the row, columns in the sorted order of the
        classes.
        """
        pool = cls(estimators, **parameters)
        pool._check_parameters()
        codes, classes = encode_labels(y, min_classes=2)
        if len(oof_probabilities) != len(estimators):
            raise ValueError(
                f"oof_probabilities must have one array for each of {len(estimators)} "
                f"estimators, got {len(oof_probabilities)}"
            )
        for place, proba in enumerate(oof_probabilities):
            if np.shape(proba) != (len(codes), len(classes)):
                raise ValueError(
                    f"oof_probabilities[{place}] must have a row for each of {len(codes)} labels "
                    f"and a column for each of {len(classes)} classes, got shape {np.shape(proba)}"
                )
        weight = check_weight(sample_weight, len(codes))
        members = [estimator for _, estimator in estimators]
        return pool._learn_weights(members, list(oof_probabilities), codes, classes, weight)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities; columns as in `classes_`."""
        check_is_fitted(self)
        probabilities = [member.predict_proba(X) for member in self.estimators_]
        return PoolWeights(self.pool_weights_, self.intercept_).pool(probabilities)

    def _learn_weights(
        self,
        fitted: list[Any],
        held_out: list[NDArray[np.float64]],
        y: NDArray[np.int32],
        classes: NDArray[Any],
        weight: NDArray[np.float64] | None,
    ) -> Self:
        self.estimators_, self.classes_, self.oof_probabilities_ = fitted, classes, held_out
        found = PoolWeights.fit(held_out, y, weight, self.penalty, self.intercept_penalty)
        self.pool_weights_, self.intercept_ = found.weight, found.intercept
        if hasattr(fitted[0], "n_features_in_"):
            self._adopt_features(fitted[0])
        return self

    def _check_parameters(self) -> None:
        if not self.estimators:
            raise ValueError("estimators must not be empty")
        names = [name for name, _ in self.estimators]
        if len(set(names)) < len(names):
            raise ValueError(f"estimators must have different names, got {names}")
        check_number("n_folds", self.n_folds, least=2)
        check_number("penalty", self.penalty, above=0.0)
        check_number("intercept_penalty", self.intercept_penalty, above=0.0)


def _fit(estimator: Any, X: Any, y: Any, weight: NDArray[np.float64] | None) -> Any:
    member = clone(estimator)
    return member.fit(X, y) if weight is None else member.fit(X, y, sample_weight=weight)


def _predict_out_of_fold(
    estimator: Any,
    X: Any,
    y: NDArray[np.int32],
    n_classes: int,
    weight: NDArray[np.float64] | None,
    folds: NDArray[np.intp],
) -> NDArray[np.float64]:
    """Probabilities of each row by a clone that has not seen its fold.

    A class that the other folds lack has probability zero there.
    """
    proba = np.zeros((len(y), n_classes))
    X = X if hasattr(X, "__getitem__") else np.asarray(X)
    for fold in np.unique(folds):
        seen, held = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        part = None if weight is None else weight[seen]
        if len(np.unique(y[seen])) < 2:
            proba[held] = np.bincount(y, minlength=n_classes) / len(y)
            continue
        member = _fit(estimator, _safe_indexing(X, seen), y[seen], part)
        found = np.zeros((len(held), n_classes))
        found[:, member.classes_] = member.predict_proba(_safe_indexing(X, held))
        proba[held] = found
    return proba
