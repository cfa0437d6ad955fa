"""Scores of predicted class probabilities, and scorers of scikit-learn that give them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy
from sklearn.metrics import make_scorer

from priorwise.common.docstrings import describe
from priorwise.common.validation import check_choice
from priorwise.evaluation.predictions import (
    PREDICTIONS,
    Predictions,
    check_predictions,
    check_proba,
    check_weight,
    weighted_sum,
)

_BASES = {"nats": math.e, "bits": 2.0}
_SCORE = f"""{PREDICTIONS}
base : {{"nats", "bits"}}
    Unit of logarithms: natural or to base two.

Returns
-------
float
    The score.
"""


@describe(_SCORE)
def brier(
    y_true: ArrayLike,
    proba: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Brier score: squared distance between prediction and outcome, as in scikit-learn.

    For N rows and K classes::

        brier = 1/N * sum_i sum_k (p_ik - [y_i = k])^2,  half of it for two classes

    With p the probability of the second of two classes, it is the mean of (p - [y = 1])^2. It lies
    in [0, 1] for two classes and in [0, 2] for more; lower is better. Source: Brier (1950), and
    `sklearn.metrics.brier_score_loss` with its default scale.

    Examples
    --------
    >>> round(brier(["a", "b"], [[0.8, 0.2], [0.6, 0.4]]), 4)
    0.2
    """
    given = check_predictions(y_true, proba, labels, sample_weight)
    return brier_scale(given.n_classes) * given.mean(_squared_error(given))


def brier_scale(n_classes: int) -> float:
    """Return what sums of squares over the classes are multiplied by."""
    return 0.5 if n_classes == 2 else 1.0


@describe(_SCORE)
def rmse(
    y_true: ArrayLike,
    proba: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Root mean squared error over rows **and** classes.

    For N rows and K classes::

        rmse = sqrt(1/(N K) * sum_i sum_k (p_ik - [y_i = k])^2)

    which is ``sqrt(brier)`` for two classes and ``sqrt(brier / K)`` for more. It lies in
    [0, sqrt(2 / K)]; lower is better. A class of `labels` without rows counts in K. Source: the
    convention of Petitjean et al. (2018).

    Examples
    --------
    >>> round(rmse([0, 1, 1], [[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]]), 4)
    0.3162
    """
    given = check_predictions(y_true, proba, labels, sample_weight)
    return float(np.sqrt(given.mean(_squared_error(given)) / given.n_classes))


@describe(_SCORE)
def cross_entropy(
    y_true: ArrayLike,
    proba: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    base: str = "nats",
) -> float:
    """Cross-entropy or log-loss: mean of minus the log probability of the true class.

    For N rows and K classes::

        cross_entropy = -1/N * sum_i sum_k t_ik log p_ik

    With a label for each row, t_ik is 1 for the true class and 0 for others. Lower is better. A
    true class of probability zero makes the score infinite: probabilities are not clipped.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,) or (n_rows, n_classes)
        Class label of each row, or its true distribution over the classes.

    Examples
    --------
    >>> round(cross_entropy(["no", "yes"], [[0.5, 0.5], [0.75, 0.25]], base="bits"), 4)
    1.5
    """
    target, table, weight = _true_distribution(y_true, proba, labels, sample_weight)
    per_row = -xlogy(target, table).sum(axis=1)
    return float(weighted_sum(per_row, weight) / weight.sum() / _nats(base)) + 0.0


@describe(_SCORE)
def kl_divergence(
    y_true: ArrayLike,
    proba: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    base: str = "nats",
) -> float:
    """Mean Kullback-Leibler divergence of the prediction from the truth.

    For N rows and K classes::

        kl_divergence = 1/N * sum_i sum_k t_ik log(t_ik / p_ik)

    that is cross-entropy minus the entropy of the true distribution. It is zero if and only if
    prediction and truth agree. With a label for each row it equals cross-entropy; with true
    distributions, which are known for generated data, it is smaller.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,) or (n_rows, n_classes)
        Class label of each row, or its true distribution over the classes.

    Examples
    --------
    >>> round(kl_divergence([[0.5, 0.5]], [[0.25, 0.75]], base="bits"), 4)
    0.2075
    >>> kl_divergence([[0.3, 0.7]], [[0.3, 0.7]])
    0.0
    """
    target, table, weight = _true_distribution(y_true, proba, labels, sample_weight)
    per_row = (xlogy(target, target) - xlogy(target, table)).sum(axis=1)
    return float(weighted_sum(per_row, weight) / weight.sum() / _nats(base))


@describe(_SCORE)
def conditional_log_likelihood(
    y_true: ArrayLike,
    proba: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    base: str = "bits",
) -> float:
    """Sum over the rows of the log probability of the true class.

    It is a sum, not a mean, and in bits by default, as in the SuperParent tables of Qiu et al.::

        conditional_log_likelihood = sum_i log p(y_i | x_i)

    Higher is better and zero is perfect. Each row's term is multiplied by its weight.

    Examples
    --------
    >>> conditional_log_likelihood([0, 1], [[0.5, 0.5], [0.75, 0.25]])
    -3.0
    """
    given = check_predictions(y_true, proba, labels, sample_weight)
    with np.errstate(divide="ignore"):
        return weighted_sum(np.log(given.true_proba), given.weight) / _nats(base)


@describe(_SCORE)
def zero_one_loss(
    y_true: ArrayLike,
    proba: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Error rate: share of the rows whose most probable class is not the true one.

    Of equally probable classes the first is predicted, as `predict` does.

    Examples
    --------
    >>> zero_one_loss([0, 1], [[0.9, 0.1], [0.5, 0.5]])
    0.5
    """
    given = check_predictions(y_true, proba, labels, sample_weight)
    return given.mean((given.proba.argmax(axis=1) != given.codes).astype(np.float64))


@describe(_SCORE)
def hand_till_auc(
    y_true: ArrayLike,
    proba: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Hand and Till's M measure: mean area under the ROC curve over pairs of classes.

    For classes i and j::

        A(i|j) = chance that a row of class i has a larger p_i than a row of class j (ties half)
        M      = mean over pairs i < j of (A(i|j) + A(j|i)) / 2

    Higher is better. With two classes it is the ordinary area. Pairs with a class that has no
    rows of positive weight are left out of the mean. If only one class has such rows, the result
    is NaN. Source: Hand and Till (2001).

    Examples
    --------
    >>> hand_till_auc([0, 0, 1, 1], [[0.9, 0.1], [0.6, 0.4], [0.7, 0.3], [0.2, 0.8]])
    0.75
    """
    given = check_predictions(y_true, proba, labels, sample_weight)
    total = np.bincount(given.codes, given.weight, given.n_classes)
    present = np.flatnonzero(total)
    if len(present) < 2:
        return float("nan")
    areas = []
    for k in present:
        _, place = np.unique(given.proba[:, k], return_inverse=True)
        of_class = np.bincount(place, given.weight * (given.codes == k))
        above = of_class.sum() - np.cumsum(of_class) + of_class / 2  # weight of k, ties half
        beaten = np.bincount(given.codes, given.weight * above[place], given.n_classes)
        areas += [beaten[j] / (total[j] * total[k]) for j in present if j != k]
    return float(np.mean(areas))


SCORES: Mapping[str, Callable[..., float]] = MappingProxyType(
    {
        "rmse": rmse,
        "brier": brier,
        "cross_entropy": cross_entropy,
        "kl_divergence": kl_divergence,
        "conditional_log_likelihood": conditional_log_likelihood,
        "zero_one_loss": zero_one_loss,
        "hand_till_auc": hand_till_auc,
    }
)
"""Every score by name.

>>> round(SCORES["rmse"]([0, 1], [[0.9, 0.1], [0.2, 0.8]]), 4)
0.1581
"""

HIGHER_IS_BETTER = frozenset({"conditional_log_likelihood", "hand_till_auc"})
"""Names of the scores for which higher is better; for all others lower is better.

>>> sorted(HIGHER_IS_BETTER)
['conditional_log_likelihood', 'hand_till_auc']
"""


def _squared_error(given: Predictions) -> NDArray[np.float64]:
    return np.asarray(((given.proba - given.one_hot()) ** 2).sum(axis=1))


def _true_distribution(
    y_true: ArrayLike,
    proba: ArrayLike,
    labels: ArrayLike | None,
    sample_weight: ArrayLike | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    truth = np.asarray(y_true)
    if truth.ndim != 2:
        given = check_predictions(truth, proba, labels, sample_weight)
        return given.one_hot(), given.proba, given.weight
    target = check_proba(truth, len(truth), name="y_true")
    table = check_proba(proba, len(truth))
    if target.shape != table.shape:
        raise ValueError(
            f"y_true and proba must have the same shape, got {target.shape} and {table.shape}"
        )
    return target, table, check_weight(sample_weight, len(truth))


def _nats(base: str) -> float:
    check_choice("base", base, tuple(_BASES))
    return math.log(_BASES[base])


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
