"""The scores as scorers of scikit-learn, for `cross_val_score` and grid searches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import make_scorer

from priorwise.common.validation import check_choice
from priorwise.evaluation.scores import HIGHER_IS_BETTER, SCORES

_ScorerType: Any = type(make_scorer(SCORES["rmse"], response_method="predict_proba"))


class _ProbabilityScorer(_ScorerType):
    """A scorer of scikit-learn that passes all columns and the estimator's classes to the score.

    scikit-learn passes one of two columns, in which a probability below 1e-16 of the other class
    cannot be distinguished from zero, and does not pass the classes of columns.
    """

    def _score(self, method_caller: Any, estimator: Any, X: Any, y_true: Any, **kwargs: Any) -> Any:
        proba, labels = cover_classes(estimator.predict_proba(X), estimator.classes_, y_true)
        options = {"labels": labels, **self._kwargs, **kwargs}
        return self._sign * self._score_func(y_true, proba, **options)


def cover_classes(
    proba: ArrayLike, classes: ArrayLike, y_true: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Add a column of zeros for every class of `y_true` that is not among `classes`.

    Returns the table and the classes of its columns.

    >>> table, labels = cover_classes([[0.4, 0.6]], ["a", "b"], ["c"])
    >>> table.tolist(), labels.tolist()
    ([[0.4, 0.6, 0.0]], ['a', 'b', 'c'])
    """
    table, known = np.asarray(proba, dtype=np.float64), np.asarray(classes)
    unseen = sorted(set(np.asarray(y_true).tolist()) - set(known.tolist()))
    if not unseen:
        return table, known
    zeros = np.zeros((len(table), len(unseen)))
    return np.hstack([table, zeros]), np.concatenate([known, np.asarray(unseen)])


def probability_scorer(name: str, **options: Any) -> Callable[..., float]:
    """Make a scikit-learn scorer of a score; losses are negated, so that higher is better.

    The columns of `predict_proba` are matched by the `classes_` of the estimator, so a test fold
    may lack a class. A class that the training fold lacked has probability zero.

    Parameters
    ----------
    name : str
        One of `SCORES`.
    **options : dict
        Options of the score, such as ``base="bits"``.

    Returns
    -------
    callable
        Scorer with the arguments estimator, X and y.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> scores = cross_val_score(GaussianNB(), X, y, scoring=probability_scorer("rmse"))
    >>> round(float(scores.mean()), 3)
    -0.147
    """
    check_choice("name", name, sorted(SCORES))
    sign = 1 if name in HIGHER_IS_BETTER else -1
    scorer: Callable[..., float] = _ProbabilityScorer(SCORES[name], sign, options, "predict_proba")
    return scorer


SCORERS: Mapping[str, Callable[..., float]] = MappingProxyType(
    {name: probability_scorer(name) for name in SCORES}
)
"""Scorers of scikit-learn by name.

>>> from sklearn.dummy import DummyClassifier
>>> from sklearn.model_selection import cross_val_score
>>> cross_val_score(DummyClassifier(), [[0]] * 4, [0, 1, 0, 1], cv=2, scoring=SCORERS["rmse"])
array([-0.5, -0.5])
"""
