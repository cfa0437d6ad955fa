"""From class probabilities to decisions: other class shares, costs, saying nothing, and sets.

Adaptive sets (Romano, Sesia and Candes 2020): classes are taken from the most probable on, until
their probabilities exceed a threshold. The score of a row with a known class y is the threshold
from which on its set contains y::

    s(x, y) = sum of p_k over the classes more probable than y + u p_y,   u uniform in [0, 1)

The threshold for sets that miss the class of a share alpha of the rows is the quantile of the
scores of rows that the model has not seen; with a threshold for each class, that of the scores of
its own rows. The random u makes that share exact; without it sets would be too large. It is random
for rows that are predicted only: the scores of rows with a known class are spread evenly over u,
since random ones would move the quantile of few rows by points.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy.constants import golden
from sklearn.utils.validation import check_is_fitted

from priorwise.common.costs import check_cost_matrix
from priorwise.common.docstrings import describe
from priorwise.common.registered import of_one_fit
from priorwise.common.validation import check_number, check_weight, take_target
from priorwise.counts import hash_rows
from priorwise.data.columns import Columns, encode_labels
from priorwise.models.descriptions import ROWS

MAX_SCORES, MAX_CLASS_SCORES = 2_000, 400
"""Largest numbers of scores that a model keeps: of all rows, and of those of each class."""
MIN_SPREAD_SCORES = 10_000
"""Fewest scores, rows times values of u, that a quantile is found from."""
ALL_CLASSES = -1.0
M = TypeVar("M", bound=Any)


def check_class_prior(class_prior: Any, classes: NDArray[Any]) -> NDArray[np.float64]:
    """Return the share of each class, or raise an error that names the rule.

    >>> check_class_prior({"no": 0.9, "yes": 0.1}, np.array(["no", "yes"]))
    array([0.9, 0.1])
    """
    labels = classes.tolist()
    if isinstance(class_prior, Mapping):
        if set(class_prior) != set(labels):
            raise ValueError(
                f"class_prior must have a share for each of the classes {labels}, got the classes "
                f"{list(class_prior)}"
            )
        class_prior = [class_prior[label] for label in labels]
    prior = np.asarray(class_prior, dtype=np.float64)
    if prior.shape != (len(labels),):
        raise ValueError(
            f"class_prior must have a share for each of {len(labels)} classes, got the shape "
            f"{prior.shape}"
        )
    if not (np.isfinite(prior).all() and (prior >= 0.0).all() and abs(prior.sum() - 1.0) < 1e-6):
        raise ValueError(
            f"class_prior must hold shares from 0 to 1 with the sum 1, got {prior.tolist()}"
        )
    return prior


def change_prior(
    proba: NDArray[np.float64], class_count: NDArray[np.float64], prior: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return class probabilities where classes are as frequent as `prior` says.

    With q the shares of the training rows, ``p'(y | x)`` is in proportion to
    ``p(y | x) prior(y) / q(y)`` (Saerens, Latinne and Decaestecker 2002): the features of each
    class are taken to be distributed as in training. A class without rows counts as having
    1 / n_classes.

    >>> change_prior(np.array([[0.5, 0.5]]), np.array([1.0, 1.0]), np.array([0.2, 0.8]))
    array([[0.2, 0.8]])
    """
    trained = np.where(class_count > 0.0, class_count, 1.0 / len(class_count))
    changed = proba * (prior / trained)
    total = changed.sum(axis=1, keepdims=True)
    # A row whose classes all have the share zero keeps to the shares.
    return np.where(total > 0.0, changed / np.where(total > 0.0, total, 1.0), prior)


def expected_costs(
    proba: NDArray[np.float64], cost_matrix: Any, classes: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the expected cost of predicting each class: sum_i p_i cost_ij for class j.

    A cost matrix for each row may be given; without any, each error costs one.

    >>> expected_costs(np.array([[0.75, 0.25]]), [[0, 1], [5, 0]], np.array(["no", "yes"]))
    array([[1.25, 0.75]])
    """
    if cost_matrix is None:
        return 1.0 - proba
    cost = check_cost_matrix(cost_matrix, classes, len(proba))
    return np.einsum("ri,rij->rj" if cost.ndim == 3 else "ri,ij->rj", proba, cost)


def decide(
    classes: NDArray[Any], costs: NDArray[np.float64], reject_above: float | None
) -> NDArray[Any]:
    """Return the class of the least expected cost, the first of several.

    With `reject_above` the labels are objects, and None where even the least cost is above it.

    >>> decide(np.array(["no", "yes"]), np.array([[0.1, 0.9], [0.5, 0.5]]), 0.3)
    array(['no', None], dtype=object)
    """
    labels: NDArray[Any] = np.asarray(classes[costs.argmin(axis=1)])
    if reject_above is None:
        return labels
    is_number = isinstance(reject_above, int | float | np.number)
    if not is_number or isinstance(reject_above, bool) or np.isnan(reject_above):
        raise ValueError(f"reject_above must be a number, got {reject_above!r}")
    labels = labels.astype(object)
    labels[costs.min(axis=1) > reject_above] = None
    return labels


def summarise_scores(
    proba: NDArray[np.float64], y: NDArray[np.int32], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return rising scores of all rows, then of each class, of shape (n, 3).

    The columns are the class, `ALL_CLASSES` for all rows; the score; and the weight up to it.
    `proba` are probabilities that have not seen these rows, `y` their class codes. Rows without
    probabilities (NaN) are left out. Each row has scores for several values of u, which share its
    weight.
    """
    known = np.flatnonzero(~np.isnan(proba).any(axis=1))
    # Arrays of one shape and type: NumPy casts and spreads others in a buffer, and crashes where
    # there is no memory for it.
    n_known, codes = len(known), y[known].astype(np.intp)
    columns = [np.array(proba[known, k], dtype=np.float64) for k in range(proba.shape[1])]
    true = proba[known, codes].astype(np.float64)
    least = np.zeros(n_known)
    for k, column in enumerate(columns):
        # Classes that are more probable than the true one, or as probable and before it.
        ahead = (column > true) | ((column == true) & (codes > k))
        least += np.where(ahead, column, np.zeros(n_known))
    # Rows of near scores get values of u that are far from each other; so do those of a class.
    order = np.lexsort((least + true, least, codes))
    n_values = -(-MIN_SPREAD_SCORES // max(n_known, 1))
    # The fractions of the multiples of the golden ratio are spread evenly, those of each stretch of
    # multiples too.
    u = np.repeat((golden - 1.0) * np.arange(n_known, dtype=np.float64), n_values)
    u += np.tile(np.arange(n_values, dtype=np.float64) / float(n_values), n_known)
    u -= np.floor(u)
    scores = np.repeat(least[order], n_values) + u * np.repeat(true[order], n_values)
    shares = np.repeat(weight[known][order] / float(n_values), n_values)
    ends = n_values * np.cumsum(np.bincount(codes, minlength=proba.shape[1]))
    parts = [_summarise(scores, shares, ALL_CLASSES, MAX_SCORES)]
    for k, (first, last) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        own = slice(first, last)
        parts.append(_summarise(scores[own], shares[own], float(k), MAX_CLASS_SCORES))
    return np.concatenate(parts)


def _summarise(
    scores: NDArray[np.float64], shares: NDArray[np.float64], label: float, most: int
) -> NDArray[np.float64]:
    """Return at most `most` of the scores in rising order, with a label and the weight so far."""
    order = np.argsort(scores, kind="stable")
    weight = np.cumsum(shares[order])
    if len(order) > most:
        kept = np.linspace(0, len(order) - 1, most).round().astype(int)
        order, weight = order[kept], weight[kept]
    return np.column_stack([np.full(len(order), label), scores[order], weight])


def draw_uniform(columns: Columns, summary: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a number in [0, 1) for each row, by its features and the scores of the model alone.

    So a row has the same set each time it is asked for, and rows of equal probabilities, such as
    those of a model that is never wrong, have sets of their own. The rows that one model misses are
    not those that all models miss.
    """
    features = [*columns.nominal_codes, *columns.values]
    of_model = crc32(np.ascontiguousarray(summary).data) % 2**31
    hashes = hash_rows(features, np.full(columns.n_rows, of_model, dtype=np.int32))
    return (hashes >> np.uint64(11)).astype(np.float64) * 2.0**-53


def class_scores(proba: NDArray[np.float64], u: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return s(x, y) of every row x and class y.

    >>> class_scores(np.array([[0.5, 0.125, 0.375]]), np.array([0.5]))
    array([[0.25  , 0.9375, 0.6875]])
    """
    order = np.argsort(-proba, axis=1, kind="stable")
    ordered = np.take_along_axis(proba, order, axis=1)
    before = np.cumsum(ordered, axis=1) - ordered
    scores = np.empty_like(proba)
    np.put_along_axis(scores, order, before + u[:, None] * ordered, axis=1)
    return scores


def find_threshold(summary: NDArray[np.float64], alpha: float, label: float) -> float:
    """Return the score that a share 1 - alpha of the rows of a class and one more do not exceed."""
    own = summary[summary[:, 0] == label]
    if len(own) == 0:
        return np.inf
    needed = (1.0 - alpha) * (own[-1, 2] + 1.0)
    place = int(np.searchsorted(own[:, 2], needed * (1.0 - 1e-12)))
    return float(own[place, 1]) if place < len(own) else np.inf


@of_one_fit
@describe(ROWS)
def prediction_set(
    model: Any, X: Any, alpha: float = 0.1, *, by_class: bool = False
) -> NDArray[np.bool_]:
    """Predict sets of classes of which a share 1 - alpha contain the true class.

    The sets are as large as the model's errors on rows it had not seen demand, however wrong
    the probabilities are (adaptive sets of Romano, Sesia and Candes 2020). A set may be empty.
    The model must know its errors on such rows. With `calibrate_sets` the share is guaranteed,
    as a mean over rows like those. The out-of-fold probabilities of `fit` are those of slightly
    weaker models, so sets may contain the class more often, by up to 1.5 points as measured.

    Parameters
    ----------
    alpha : float
        Share of the sets that may miss the true class, between 0 and 1.
    by_class : bool
        Whether a share 1 - alpha of the rows of each class have it in their sets, instead of that
        share of all rows. Without it, sets of rows of a rare class contain it much less often.
        Sets are larger with it; a class with fewer than 1 / alpha rows is in all of them.

    Returns
    -------
    array of bool of shape (n_rows, n_classes)
        Whether each class, in the order of `classes_`, is in the set.
    """
    check_number("alpha", alpha, above=0.0, below=1.0)
    check_is_fitted(model)
    if not hasattr(model, "set_scores_"):
        raise ValueError(
            f"prediction_set needs errors on rows that {type(model).__name__} has not learnt "
            "from, and it has no out-of-fold probabilities: call calibrate_sets(X, y) with "
            "such rows first"
        )
    u = draw_uniform(model.read_rows(X), model.set_scores_)
    labels = np.arange(len(model.classes_)) if by_class else [ALL_CLASSES]
    threshold = [find_threshold(model.set_scores_, alpha, float(label)) for label in labels]
    return class_scores(model.predict_proba(X), u) <= np.array(threshold)


@describe(ROWS)
def calibrate_sets(model: M, X: Any, y: Any, sample_weight: Any = None) -> M:
    """Measure errors for `prediction_set` on rows that the model has not learnt from.

    The intervals of `predict_interval` stay as they are.

    Parameters
    ----------
    y : array-like of shape (n_rows,) or str
        Class label of each row, one of `classes_`, or the name of the column of X that has them.
    sample_weight : array-like of shape (n_rows,), optional
        Weight of each row.

    Returns
    -------
    Self
        The classifier; its probabilities stay as they are.
    """
    check_is_fitted(model)
    X, y = take_target(X, y)
    codes, _ = encode_labels(y, min_classes=1, classes=model.classes_)
    weight = check_weight(sample_weight, len(codes))
    proba = model.predict_proba(X)
    model.set_scores_ = summarise_scores(
        proba, codes, np.ones(len(codes)) if weight is None else weight
    )
    return model
