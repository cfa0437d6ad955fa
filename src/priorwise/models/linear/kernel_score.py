"""Scores that are weighted sums of a Gaussian kernel between a row and landmarks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import gen_batches

from priorwise import _core
from priorwise.models.explanation.probability_changes import log_mean
from priorwise.models.linear.design import Design

BATCH_ROWS = 512


@dataclass(frozen=True, eq=False)
class KernelScore:
    """Scores of the classes: intercept + sum over landmarks b of coefficient exp(-rate d(x, b)^2).

    d^2 adds up squared differences of values and 2 for each label that differs; a label or an
    indicator of a missing value that only one of the two rows has counts 1. `index` and `value`, of
    shape (n_indices or n_values, n_landmarks), hold the landmarks, rows of the training table;
    `coefficient` has the shape (n_classes, n_landmarks).
    """

    index: NDArray[np.int32]
    value: NDArray[np.float32]
    rate: float
    intercept: NDArray[np.float64]
    coefficient: NDArray[np.float64]

    @classmethod
    def of_landmarks(
        cls,
        landmarks: Design,
        rate: float,
        intercept: NDArray[np.float64],
        coefficient: NDArray[np.float64],
    ) -> KernelScore:
        """Build from rows of the training table, the landmarks."""
        return cls(
            np.ascontiguousarray(landmarks.index.T),
            np.ascontiguousarray(landmarks.value.T),
            rate,
            np.ascontiguousarray(intercept),
            np.ascontiguousarray(coefficient),
        )

    @property
    def landmarks(self) -> Design:
        """The landmarks as rows."""
        return Design(self.index.T, self.value.T)

    def score(self, rows: Design, n_threads: int = 1) -> NDArray[np.float64]:
        """Return the scores of rows, of shape (n_rows, n_classes).

        The scores of a row have the same bits whatever other rows there are.
        """
        return _core.predict_kernel_scores(
            rows.index, rows.value, self.index, self.value, self.rate, self.intercept,
            self.coefficient, n_threads,
        )  # fmt: skip

    def kernel(self, rows: Design) -> NDArray[np.float64]:
        """Return exp(-rate d^2) of rows and landmarks, of shape (n_rows, n_landmarks)."""
        return np.asarray(np.exp(-self.rate * square_distances(rows, self.landmarks)))

    def split(
        self,
        rows: Design,
        index_feature: NDArray[np.intp],
        value_feature: NDArray[np.intp],
        n_features: int,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Split scores into the parts of features.

        A row without labels, whose numbers are all zero, becomes the given row. exp(-rate d^2) of
        each landmark changes by the logarithmic mean of its two values times the change of
        -rate d^2, which is a sum over the features. Returns the scores of the row without labels,
        and the parts, of shape (n_rows, n_features, n_classes).
        """
        parts = np.zeros((len(rows.value), n_features, len(self.intercept)))
        landmarks = self.landmarks
        start = Design(np.full_like(rows.index[:1], -1), np.zeros_like(rows.value[:1]))
        kernel_start = np.exp(-self.rate * square_distances(start, landmarks))
        for batch in gen_batches(len(parts), BATCH_ROWS):
            index, value = rows.index[batch], rows.value[batch].astype(np.float64)
            kernel = np.exp(-self.rate * square_distances(Design(index, value), landmarks))
            slope = -self.rate * log_mean(kernel, kernel_start)
            for place, feature in enumerate(index_feature):
                own = index[:, place, None]
                step = (own >= 0) * (1.0 - 2.0 * (own == landmarks.index[None, :, place]))
                parts[batch, feature] += (slope * step) @ self.coefficient.T
            for place, feature in enumerate(value_feature):
                own = value[:, place, None]
                step = own * (own - 2.0 * landmarks.value[None, :, place])
                parts[batch, feature] += (slope * step) @ self.coefficient.T
        return self.score(start)[0], parts


def square_distances(rows: Design, landmarks: Design) -> NDArray[np.float64]:
    """Return squared distances of rows from landmarks."""
    one, other = rows.value.astype(np.float64), landmarks.value.astype(np.float64)
    distance = -2.0 * (one @ other.T)
    distance += np.einsum("ij,ij->i", one, one)[:, None]
    distance += np.einsum("ij,ij->i", other, other)
    for row, landmark in zip(rows.index.T, landmarks.index.T, strict=True):
        known = (row >= 0)[:, None]
        distance += 1.0 * known + (landmark >= 0)[None, :]
        distance -= 2.0 * ((row[:, None] == landmark[None, :]) & known)
    return np.maximum(distance, 0.0)
