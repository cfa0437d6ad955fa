"""Scores that are weighted sums of a Gaussian kernel between a row and landmarks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import gen_batches

from priorwise import _core
from priorwise.common.numeric import softmax
from priorwise.common.records import number, numbers, part
from priorwise.data.tables import Columns
from priorwise.steps.explanation import Explanation
from priorwise.steps.explanation.probability_changes import log_mean
from priorwise.steps.linear.design import LARGEST, Design, LinearDesign
from priorwise.steps.linear.leverage import BATCH_ROWS, KernelLeverage
from priorwise.steps.step import Floats, Names, Step


@dataclass(frozen=True, eq=False)
class Kernel(Step):
    """Softmax of scores: intercept + sum over landmarks b of coefficient exp(-rate d(x, b)^2).

    d^2 adds up squared differences of values and 2 for each label that differs; a label or an
    indicator of a missing value that only one of the two rows has counts 1. `index` and `value`
    hold the landmarks, rows of the training table as the `design` sees them; `leverage` says how
    sure the coefficients are.
    """

    design: LinearDesign = part(LinearDesign)
    index: NDArray[np.int32] = numbers("n_indices", "n_landmarks", dtype=np.int32, least=-1)
    value: NDArray[np.float32] = numbers("n_values", "n_landmarks", dtype=np.float32)
    rate: float = number(least=0.0, most=LARGEST)
    intercept: Floats = numbers("n_classes", least=-LARGEST, most=LARGEST)
    coefficient: Floats = numbers("n_classes", "n_landmarks", least=-LARGEST, most=LARGEST)
    leverage: KernelLeverage = part(KernelLeverage)

    def check_rules(self) -> None:
        design, leverage = self.design, self.leverage
        if (len(self.index), len(self.value)) != (
            len(design.index_feature),
            len(design.value_feature),
        ):
            raise ValueError("landmarks must have the features of the design")
        if (len(leverage.directions), len(leverage.class_scale)) != self.coefficient.shape[::-1]:
            raise ValueError("leverage must have all landmarks and classes")

    def check_features(self, is_nominal: NDArray[np.bool_], n_labels: list[int]) -> None:
        self.design.check_features(is_nominal, n_labels)

    @property
    def n_classes(self) -> int:
        return len(self.intercept)

    @property
    def landmarks(self) -> Design:
        """The landmarks as rows."""
        return Design(self.index.T, self.value.T)

    def predict(self, columns: Columns, n_threads: int = 1) -> Floats:
        return softmax(self.score(self.design.apply(columns), n_threads))

    def explain(self, columns: Columns, names: Names, n_threads: int = 1) -> Explanation:
        """Features share the change of the likeness to each landmark.

        It changes from that of a row without labels, whose numbers are all the mean; features share
        the change as they share the change of the squared distance.
        """
        bias, parts = self.split(columns)
        return Explanation.from_sums(names.classes, names.features, bias, parts)

    def spread_parts(self, columns: Columns, proba: Floats, n_threads: int) -> dict[str, Floats]:
        rows, variance = self.design.apply(columns), np.empty_like(proba)
        for batch in gen_batches(len(proba), BATCH_ROWS):
            own = Design(rows.index[batch], rows.value[batch])
            variance[batch] = self.leverage.spread(self.kernel(own), proba[batch])
        return {"all": variance}

    def describe(self) -> str:
        return f"a Gaussian kernel with {self.index.shape[1]:,} landmarks"

    def spread_rule(self) -> dict[str, Any]:
        leverage = self.leverage
        return {
            "kind": "landmarks",
            "directions": np.ascontiguousarray(leverage.directions.T),
            "penalty": float(leverage.penalty),
            "class_scale": leverage.class_scale.tolist(),
        }

    def score(self, rows: Design, n_threads: int = 1) -> Floats:
        """Return the scores of rows, of shape (n_rows, n_classes).

        The scores of a row have the same bits whatever other rows there are.
        """
        return _core.predict_kernel_scores(
            rows.index, rows.value, self.index, self.value, self.rate, self.intercept,
            self.coefficient, n_threads,
        )  # fmt: skip

    def kernel(self, rows: Design) -> Floats:
        """Return exp(-rate d^2) of rows and landmarks, of shape (n_rows, n_landmarks)."""
        return np.asarray(np.exp(-self.rate * square_distances(rows, self.landmarks)))

    def split(self, columns: Columns) -> tuple[Floats, Floats]:
        """Split scores into the parts of features.

        A row without labels, whose numbers are all zero, becomes the given row. exp(-rate d^2) of
        each landmark changes by the logarithmic mean of its two values times the change of
        -rate d^2, which is a sum over the features. Returns the scores of the row without labels,
        and the parts, of shape (n_rows, n_features, n_classes).
        """
        rows, place_of = self.design.apply(columns), columns.nominal_first
        index_feature = place_of[self.design.index_feature]
        value_feature = place_of[self.design.value_feature]
        parts = np.zeros((columns.n_rows, len(place_of), self.n_classes))
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
