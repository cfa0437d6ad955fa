"""Scores that are weighted sums of a Gaussian kernel between a row and landmarks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import gen_batches

from priorwise import _core
from priorwise.models.linear.design import Design

BATCH_ROWS = 512
N_NODES = 16


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

    def split(
        self,
        rows: Design,
        index_feature: NDArray[np.intp],
        value_feature: NDArray[np.intp],
        n_features: int,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Split scores into the parts of features (Aumann and Shapley).

        The scores change along the straight line from a row without labels, whose numbers are all
        zero, to the given row; each feature has its part in every step. The integral along the line
        is a sum over `N_NODES` points. Returns the scores where the lines begin, and the parts, of
        shape (n_rows, n_features, n_classes).
        """
        start = Design(np.full_like(rows.index[:1], -1), np.zeros_like(rows.value[:1]))
        parts = np.zeros((len(rows.value), n_features, len(self.intercept)))
        landmarks = self.landmarks
        points, shares = np.polynomial.legendre.leggauss(N_NODES)
        for batch in gen_batches(len(parts), BATCH_ROWS):
            path = IntegrationPath(rows.take(np.arange(batch.start, batch.stop)), landmarks)
            for t, share in zip(0.5 * (points + 1.0), 0.5 * shares, strict=True):
                kernel = np.exp(-self.rate * path.square_distances(t))
                change = -self.rate * share * kernel
                for place, feature in enumerate(index_feature):
                    slope = path.index_slope(place, t)
                    parts[batch, feature] += (change * slope) @ self.coefficient.T
                for place, feature in enumerate(value_feature):
                    slope = path.value_slope(place, t)
                    parts[batch, feature] += (change * slope) @ self.coefficient.T
        return self.score(start)[0], parts


@dataclass(frozen=True)
class IntegrationPath:
    """Straight lines from a row of zeros without labels (t = 0) to given rows (t = 1)."""

    rows: Design
    landmarks: Design

    def square_distances(self, t: float) -> NDArray[np.float64]:
        """Return squared distances of the points at t from the landmarks."""
        points = Design(self.rows.index, (t * self.rows.value).astype(np.float32))
        return square_distances(points, self.landmarks, t)

    def index_slope(self, place: int, t: float) -> NDArray[np.float64]:
        """Return the derivative by t of the squared distances, the part of one index."""
        row = self.rows.index[:, place, None]
        landmark = self.landmarks.index[None, :, place]
        return np.where(row >= 0, 2.0 * t - 2.0 * (row == landmark), 0.0)

    def value_slope(self, place: int, t: float) -> NDArray[np.float64]:
        """Return the derivative by t of the squared distances, the part of one value."""
        row = self.rows.value[:, place, None].astype(np.float64)
        return 2.0 * row * (t * row - self.landmarks.value[None, :, place])


def square_distances(
    rows: Design, landmarks: Design, index_size: float = 1.0
) -> NDArray[np.float64]:
    """Return squared distances of rows from landmarks; `index_size` is the length of indicators."""
    if rows.value.shape[1]:
        distance = euclidean_distances(
            rows.value.astype(np.float64), landmarks.value.astype(np.float64), squared=True
        )
    else:
        distance = np.zeros((len(rows.value), len(landmarks.value)))
    for row, landmark in zip(rows.index.T, landmarks.index.T, strict=True):
        known = (row >= 0)[:, None]
        distance += index_size**2 * known + (landmark >= 0)[None, :]
        distance -= 2.0 * index_size * ((row[:, None] == landmark[None, :]) & known)
    return np.maximum(distance, 0.0)
