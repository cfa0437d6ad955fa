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

from priorwise.common.records import Record, number, numbers
from priorwise.steps.linear.design import LARGEST, TINY, Design

BATCH_ROWS = 512
"""Rows that are multiplied at a time: libraries of linear algebra keep the memory of large ones."""


@dataclass(frozen=True, eq=False)
class Leverage(Record):
    """x' A^-1 x of the rows of a `Design`.

    `dense` lists the columns (intercept, indicators, values) of `root`, of which the squared norm
    of x @ root is taken; other columns add x^2 times their `variance`. `class_scale` is what the
    variance of each class is multiplied by.
    """

    dense: NDArray[np.int32] = numbers("n_dense", dtype=np.int32, least=0)
    root: NDArray[np.float32] = numbers("n_dense", "n_dense", dtype=np.float32)
    variance: NDArray[np.float32] = numbers("n_weights", dtype=np.float32, least=0.0)
    class_scale: NDArray[np.float64] = numbers("n_classes", least=0.0, most=LARGEST)

    def check_rules(self) -> None:
        rises = bool((np.diff(self.dense) > 0).all())
        if not rises or len(self.dense) == 0 or self.dense[-1] >= len(self.variance):
            raise ValueError("dense must list columns of the design")

    def spread(
        self, design: Design, n_indicators: int, proba: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the variances of the scores of rows, of shape (n_rows, n_classes)."""
        lever = np.empty(len(proba))
        rare = np.append(self.variance[1 : 1 + n_indicators], 0.0).astype(np.float64)
        for batch in gen_batches(len(proba), BATCH_ROWS):
            index = design.index[batch]
            x = expand_columns(index, design.value[batch], n_indicators, self.dense)
            lever[batch] = np.square(x @ self.root.astype(np.float64)).sum(axis=1)
            lever[batch] += rare[index].sum(axis=1)
        return lever[:, None] * self.class_scale * (1.0 - proba)


@dataclass(frozen=True, eq=False)
class KernelLeverage(Record):
    """The same for the features of a kernel, whose squared norm is one, at a row x.

    (1 - sum over directions of (k(x, landmarks) @ directions)^2) / penalty.
    """

    directions: NDArray[np.float32] = numbers("n_landmarks", None, dtype=np.float32)
    penalty: float = number(least=TINY)
    class_scale: NDArray[np.float64] = numbers("n_classes", least=0.0, most=LARGEST)

    def spread(
        self, kernel: NDArray[np.float64], proba: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the variances of the scores of rows, given k(x, landmarks)."""
        known = np.square(kernel @ self.directions.astype(np.float64)).sum(axis=1)
        lever = np.maximum(1.0 - known, 1e-6) / self.penalty
        return lever[:, None] * self.class_scale * (1.0 - proba)


def expand_columns(
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
