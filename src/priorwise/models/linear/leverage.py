"""Learning how sure a logistic regression is of its scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import gen_batches

from priorwise.common.numeric import softmax
from priorwise.models.linear.base import one_blas_thread
from priorwise.models.linear.fold_logistic import score
from priorwise.steps.linear.design import Design
from priorwise.steps.linear.leverage import BATCH_ROWS, KernelLeverage, Leverage, expand_columns

MAX_DENSE = 256
"""Most columns of a design whose covariances are kept; of other indicators only variances are."""
MAX_DIRECTIONS = 96
"""Most directions of a kernel's features of which it is kept how well they are known."""
INTERCEPT_PENALTY = 1e-6


def learn_leverage(
    design: Design,
    n_indicators: int,
    coef: NDArray[np.float64],
    penalty: float,
    weight: NDArray[np.float64] | None,
) -> Leverage:
    """Learn from the rows that the weights `coef` (n_classes, n_weights) were fitted to."""
    n_classes, n_weights = coef.shape
    ridge = np.full(n_weights, penalty * (1.0 - 1.0 / n_classes))
    ridge[0] = INTERCEPT_PENALTY
    proba = np.empty((len(design.value), n_classes))
    for batch in gen_batches(len(proba), BATCH_ROWS):
        rows = Design(design.index[batch], design.value[batch])
        proba[batch] = softmax(score(rows, coef, n_indicators))
    curvature, class_scale = _find_curvature(proba, weight)
    known = np.zeros(n_weights)
    known[0] = curvature.sum()
    for column in design.index.T:
        seen = column >= 0
        known[1 : 1 + n_indicators] += np.bincount(
            column[seen], curvature[seen], minlength=n_indicators
        )
    known[1 + n_indicators :] = np.inf
    dense = np.sort(np.argsort(-known, kind="stable")[:MAX_DENSE]).astype(np.int32)
    information = np.diag(ridge[dense])
    with one_blas_thread():
        for batch in gen_batches(len(design.value), BATCH_ROWS):
            x = expand_columns(design.index[batch], design.value[batch], n_indicators, dense)
            information += (x * curvature[batch, None]).T @ x
        values, vectors = np.linalg.eigh(information)
    root = vectors / np.sqrt(np.maximum(values, INTERCEPT_PENALTY))
    variance = 1.0 / (np.where(np.isfinite(known), known, 0.0) + ridge)
    variance[dense] = 0.0
    return Leverage(dense, root.astype(np.float32), variance.astype(np.float32), class_scale)


def learn_kernel_leverage(
    features: Design,
    vectors: NDArray[np.float64],
    coef: NDArray[np.float64],
    penalty: float,
    weight: NDArray[np.float64] | None,
) -> KernelLeverage:
    """Learn from rows of features, which are k(x, landmarks) @ vectors."""
    proba = softmax(score(features, coef, 0))
    curvature, class_scale = _find_curvature(proba, weight)
    # The last features have the largest eigenvalues, and most of what the rows tell.
    vectors = vectors[:, -2 * MAX_DIRECTIONS :]
    information = np.zeros((vectors.shape[1], vectors.shape[1]))
    ridge = penalty * (1.0 - 1.0 / len(coef))
    with one_blas_thread():
        for batch in gen_batches(len(proba), BATCH_ROWS):
            x = features.value[batch, -2 * MAX_DIRECTIONS :].astype(np.float64)
            information += (x * curvature[batch, None]).T @ x
        values, directions = np.linalg.eigh(information)
    values, directions = values[-MAX_DIRECTIONS:], directions[:, -MAX_DIRECTIONS:]
    values = np.maximum(values, 0.0)
    scaled = (vectors @ directions) * np.sqrt(values / (values + ridge))
    return KernelLeverage(scaled.astype(np.float32), ridge, class_scale)


def _find_curvature(
    proba: NDArray[np.float64], weight: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return h of each row, and its mean over the mean of p (1 - p) of each class."""
    by_class = proba * (1.0 - proba)
    if weight is not None:
        by_class *= weight[:, None]
    total = by_class.sum(axis=0)
    return by_class.mean(axis=1), total.mean() / np.maximum(total, 1e-3 * total.max() + 1e-300)
