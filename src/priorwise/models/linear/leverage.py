"""How sure a logistic regression is of its scores: Laplace's approximation, in little memory.

With h the mean over the classes of p (1 - p) of a training row, the log-odds of a class at a row x
have about the variance x' A^-1 x with A = sum of h x x' + penalty, times the mean of h over its
mean for the class alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import gen_batches

from priorwise.common.numeric import softmax
from priorwise.models.linear.base import one_blas_thread
from priorwise.models.linear.design import Design
from priorwise.models.linear.fold_logistic import score

MAX_DENSE = 256
"""Most columns of a design whose covariances are kept; of other indicators only variances are."""
MAX_DIRECTIONS = 96
"""Most directions of a kernel's features of which it is kept how well they are known."""
INTERCEPT_PENALTY = 1e-6
BATCH_ROWS = 512
"""Rows that are multiplied at a time: libraries of linear algebra keep the memory of large ones."""


@dataclass(frozen=True, eq=False)
class Leverage:
    """x' A^-1 x of the rows of a `Design`.

    `dense` lists the columns (intercept, indicators, values) of `root`, of which the squared norm
    of x @ root is taken; other columns add x^2 times their `variance`. `class_scale` is what the
    variance of each class is multiplied by.
    """

    dense: NDArray[np.int32]
    root: NDArray[np.float32]
    variance: NDArray[np.float32]
    class_scale: NDArray[np.float64]

    @classmethod
    def learn(
        cls,
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
                x = _expand(design.index[batch], design.value[batch], n_indicators, dense)
                information += (x * curvature[batch, None]).T @ x
            values, vectors = np.linalg.eigh(information)
        root = vectors / np.sqrt(np.maximum(values, INTERCEPT_PENALTY))
        variance = 1.0 / (np.where(np.isfinite(known), known, 0.0) + ridge)
        variance[dense] = 0.0
        return cls(dense, root.astype(np.float32), variance.astype(np.float32), class_scale)

    def spread(
        self, design: Design, n_indicators: int, proba: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the variances of the scores of rows, of shape (n_rows, n_classes)."""
        lever = np.empty(len(proba))
        rare = np.append(self.variance[1 : 1 + n_indicators], 0.0).astype(np.float64)
        for batch in gen_batches(len(proba), BATCH_ROWS):
            index = design.index[batch]
            x = _expand(index, design.value[batch], n_indicators, self.dense)
            lever[batch] = np.square(x @ self.root.astype(np.float64)).sum(axis=1)
            lever[batch] += rare[index].sum(axis=1)
        return lever[:, None] * self.class_scale * (1.0 - proba)


@dataclass(frozen=True, eq=False)
class KernelLeverage:
    """The same for the features of a kernel, whose squared norm is one, at a row x.

    (1 - sum over directions of (k(x, landmarks) @ directions)^2) / penalty.
    """

    directions: NDArray[np.float32]
    penalty: float
    class_scale: NDArray[np.float64]

    @classmethod
    def learn(
        cls,
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
        return cls(scaled.astype(np.float32), ridge, class_scale)

    def spread(
        self, kernel: NDArray[np.float64], proba: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the variances of the scores of rows, given k(x, landmarks)."""
        known = np.square(kernel @ self.directions.astype(np.float64)).sum(axis=1)
        lever = np.maximum(1.0 - known, 1e-6) / self.penalty
        return lever[:, None] * self.class_scale * (1.0 - proba)


def _find_curvature(
    proba: NDArray[np.float64], weight: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return h of each row, and its mean over the mean of p (1 - p) of each class."""
    by_class = proba * (1.0 - proba)
    if weight is not None:
        by_class *= weight[:, None]
    total = by_class.sum(axis=0)
    return by_class.mean(axis=1), total.mean() / np.maximum(total, 1e-3 * total.max() + 1e-300)


def _expand(
    index: NDArray[np.int32],
    value: NDArray[np.float32],
    n_indicators: int,
    dense: NDArray[np.int32],
) -> NDArray[np.float64]:
    """Return the columns `dense` of rows: intercept, indicators, values."""
    place = np.full(2 + n_indicators + value.shape[1], -1)
    place[dense] = np.arange(len(dense))
    x = np.zeros((len(value), len(dense) + 1))
    x[:, place[0]] = 1.0
    rows = np.arange(len(value))
    for column in index.T:
        # Index -1, no indicator, and columns that are not kept go to a last column.
        x[rows, place[np.where(column < 0, -1, 1 + column)]] = 1.0
    x[:, place[1 + n_indicators : -1]] = value
    return x[:, :-1]
