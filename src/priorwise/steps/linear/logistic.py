"""Scores of logistic regressions, on pieces of the features or a kernel between rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.common.numeric import gen_batches, softmax
from priorwise.common.records import number, numbers, part
from priorwise.data.tables import Columns
from priorwise.steps.explanation import Explanation
from priorwise.steps.explanation.probability_changes import log_mean
from priorwise.steps.intervals import OF_SMOOTH
from priorwise.steps.linear.design import (
    BATCH_ROWS,
    DEGREE,
    LARGEST,
    MAX_DEVIATION,
    TINY,
    Design,
    LinearDesign,
    QuadraticSplines,
)
from priorwise.steps.step import Floats, Names, Step


class PiecewiseScore(_core.PiecewiseScore):
    """Scores of the classes: a constant per label and a piecewise quadratic per number.

    With the weights of a `LinearDesign` folded into them, neither indicators nor splines are spelt
    out to predict. A standardised number z, cut off at `max_deviation`, adds to the score of a
    class a + b u + c u^2, u = z - left, with (left, a, b, c) of the last of its feature's pieces
    that begins at or below z; a missing number adds `missing_score` besides that of z = 0.
    """

    @classmethod
    def fold(cls, design: LinearDesign, weights: NDArray[np.float64]) -> PiecewiseScore:
        """`weights`, of shape (classes, 1 + indicators + values), as one function per feature."""
        n_labels, n_numeric = int(design.n_labels.sum()), len(design.mean)
        intercept, labels, missing, values = np.split(
            weights.T, [1, 1 + n_labels, 1 + design.n_indicators]
        )
        missing_score = np.zeros((n_numeric, len(weights)))
        missing_score[design.missing] = missing
        slopes, bends = np.split(values, [n_numeric])
        bends = bends.reshape(n_numeric, len(bends) // max(n_numeric, 1), len(weights))
        start, left, basis, is_used = _cut_into_pieces(design.splines, n_numeric)
        parts = basis @ bends[:, None]
        parts[:, :, 0] += left[:, :, None] * slopes[:, None]
        parts[:, :, 1] += slopes[:, None]
        return cls(
            intercept[0].copy(),
            np.concatenate([[0], np.cumsum(design.n_labels)]).astype(np.int64),
            np.ascontiguousarray(labels).ravel(),
            design.mean,
            design.scale,
            MAX_DEVIATION,
            np.concatenate([[0], np.cumsum(is_used.sum(axis=1))]).astype(np.int64),
            start[is_used],
            left[is_used],
            parts[is_used].ravel(),
            missing_score.ravel(),
        )

    def proba(self, columns: Columns, n_jobs: int = 1) -> NDArray[np.float64]:
        """p(class | row), shape (rows, classes), the softmax of the scores."""
        return _core.predict_pieces(self, columns.nominal_codes, columns.values, n_jobs)

    def terms(self, columns: Columns) -> NDArray[np.float64]:
        """What each feature adds to the scores, shape (rows, features, classes), nominal first."""
        n_classes, n_nominal = len(self.intercept), len(columns.nominal_codes)
        terms = np.zeros((columns.n_rows, n_nominal + len(self.mean), n_classes))
        labels = self.label_score.reshape(-1, n_classes)
        for i, codes in enumerate(columns.nominal_codes):
            first, end = self.first_label[i : i + 2]
            known = (codes >= 0) & (codes < end - first)
            terms[known, i] = labels[first + codes[known]]
        coefficient = self.coefficient.reshape(-1, 1 + DEGREE, n_classes)
        missing_score = self.missing_score.reshape(-1, n_classes)
        for i, values in enumerate(columns.values):
            first, end = self.first_piece[i : i + 2]
            with np.errstate(over="ignore"):
                z = (values - self.mean[i]) / self.scale[i]
            is_missing = np.isnan(z)
            z = np.where(is_missing, 0.0, z).clip(-self.max_deviation, self.max_deviation)
            piece = first + np.searchsorted(self.first_value[first + 1 : end], z, side="right")
            u = (z - self.left[piece])[:, None]
            a, b, c = coefficient[piece].transpose(1, 0, 2)
            terms[:, n_nominal + i] = a + (b + c * u) * u + is_missing[:, None] * missing_score[i]
        return terms


@dataclass(frozen=True, eq=False)
class Pieces(Step):
    """Softmax of scores that are a constant per label and a piecewise quadratic per number.

    `design` is that whose weights were folded into the `score`.
    """

    score: PiecewiseScore = part(PiecewiseScore)
    design: LinearDesign = part(LinearDesign)

    def check_rules(self) -> None:
        score, design = self.score, self.design
        if len(score.first_label) != len(design.n_labels) + 1 or len(score.mean) != len(
            design.mean
        ):
            raise ValueError("the score must have the features of the design")
        for name in ("intercept", "label_score", "coefficient", "missing_score"):
            if not _core.are_within(getattr(score, name), -LARGEST, LARGEST):
                raise ValueError(f"{name} must be finite numbers up to {LARGEST}")
        farthest = 2.0 * MAX_DEVIATION
        if not _core.are_within(score.left, -farthest, farthest) or score.max_deviation > farthest:
            raise ValueError("pieces must begin among the deviations that a number may have")
        if not _core.are_within(score.mean, -np.inf, np.inf):
            raise ValueError("mean must be finite numbers")
        if not _core.are_within(score.scale, TINY, np.inf):
            raise ValueError("scale must be positive numbers")

    def check_features(self, is_nominal: NDArray[np.bool_], n_labels: list[int]) -> None:
        self.design.check_features(is_nominal, n_labels)

    @property
    def n_classes(self) -> int:
        return len(self.score.intercept)

    @property
    def independence(self) -> float:
        return OF_SMOOTH

    def predict(self, columns: Columns, n_threads: int = 1) -> Floats:
        return self.score.proba(columns, n_threads)

    def explain(self, columns: Columns, names: Names, n_threads: int = 1) -> Explanation:
        """A feature contributes its terms of the scores."""
        terms = np.empty((columns.n_rows, len(names.features), self.n_classes))
        terms[:, columns.nominal_first] = self.score.terms(columns)
        return Explanation.from_sums(names.classes, names.features, self.score.intercept, terms)

    def describe(self) -> str:
        n_labels = int(self.score.first_label[-1])
        return f"scores of {len(self.score.left):,} pieces and {n_labels:,} labels"


def _cut_into_pieces(
    splines: QuadraticSplines | None, n_features: int
) -> tuple[Floats, Floats, Floats, NDArray[np.bool_]]:
    """Return where pieces of features begin, their `left`, coefficients, and which are not empty.

    The coefficients are of shape (features, pieces, 3, splines). Splines jump where knots coincide,
    so the last knot, and what lies outside of the knots, are pieces of their own.
    """
    if splines is None:
        one = np.zeros((n_features, 1))
        return one - np.inf, one, np.zeros((*one.shape, 1 + DEGREE, 0)), one == 0.0
    knots, inner = splines.expand()
    basis = np.pad(inner, [(0, 0), (1, 1), (0, 0), (0, 0)])
    basis[:, [0, -1], 0] = inner[:, [0, -1], 0]
    low, high = knots[:, :1], knots[:, -1:]
    start = np.concatenate([np.full_like(low, -np.inf), knots, np.nextafter(high, np.inf)], axis=1)
    left = np.concatenate([low, knots, high], axis=1)
    return start, left, basis, np.diff(start, axis=1, append=np.inf) > 0.0


@dataclass(frozen=True, eq=False)
class Kernel(Step):
    """Softmax of scores: intercept + sum over landmarks b of coefficient exp(-rate d(x, b)^2).

    d^2 adds up squared differences of values and 2 for each label that differs; a label or an
    indicator of a missing value that only one of the two rows has counts 1. `index` and `value`
    hold the landmarks, rows of the training table as the `design` sees them.
    """

    design: LinearDesign = part(LinearDesign)
    index: NDArray[np.int32] = numbers("n_indices", "n_landmarks", dtype=np.int32, least=-1)
    value: NDArray[np.float32] = numbers("n_values", "n_landmarks", dtype=np.float32)
    rate: float = number(least=0.0, most=LARGEST)
    intercept: Floats = numbers("n_classes", least=-LARGEST, most=LARGEST)
    coefficient: Floats = numbers("n_classes", "n_landmarks", least=-LARGEST, most=LARGEST)

    def check_rules(self) -> None:
        design = self.design
        if (len(self.index), len(self.value)) != (
            len(design.index_feature),
            len(design.value_feature),
        ):
            raise ValueError("landmarks must have the features of the design")

    def check_features(self, is_nominal: NDArray[np.bool_], n_labels: list[int]) -> None:
        self.design.check_features(is_nominal, n_labels)

    @property
    def n_classes(self) -> int:
        return len(self.intercept)

    @property
    def independence(self) -> float:
        return OF_SMOOTH

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

    def describe(self) -> str:
        return f"a Gaussian kernel with {self.index.shape[1]:,} landmarks"

    def count_kept_rows(self) -> int:
        return int(self.index.shape[1])

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
            own_rows = Design(rows.index[batch], rows.value[batch])
            kernel = np.exp(-self.rate * square_distances(own_rows, landmarks))
            slope = -self.rate * log_mean(kernel, kernel_start)
            for place, feature in enumerate(index_feature):
                label = own_rows.index[:, place, None]
                step = (label >= 0) * (1.0 - 2.0 * (label == landmarks.index[None, :, place]))
                parts[batch, feature] += (slope * step) @ self.coefficient.T
            for place, feature in enumerate(value_feature):
                number = own_rows.value[:, place, None].astype(np.float64)
                step = number * (number - 2.0 * landmarks.value[None, :, place])
                parts[batch, feature] += (slope * step) @ self.coefficient.T
        return self.score(start)[0], parts


def square_distances(rows: Design, landmarks: Design) -> NDArray[np.float64]:
    """Return squared distances of rows from landmarks."""
    one, other = rows.value.astype(np.float64), landmarks.value.astype(np.float64)
    distance: NDArray[np.float64] = one @ other.T
    distance *= -2.0
    distance += np.einsum("ij,ij->i", one, one)[:, None]
    distance += np.einsum("ij,ij->i", other, other)
    if rows.index.shape[1] > 0:
        n_same = np.zeros(distance.shape, dtype=np.min_scalar_type(2 * rows.index.shape[1]))
        is_same = np.empty(distance.shape, dtype=np.bool_)
        # Small integers are compared several times as fast. Missing labels equal none.
        largest = max(int(rows.index.max(initial=0)), int(landmarks.index.max(initial=0)))
        kind = np.min_scalar_type(-2 - largest)
        own = np.where(rows.index < 0, -2, rows.index).T.astype(kind)
        for row, landmark in zip(own, landmarks.index.T.astype(kind, "C"), strict=True):
            np.equal(row[:, None], landmark, out=is_same)
            n_same += is_same.view(np.uint8)
        n_same *= 2
        distance += (rows.index >= 0).sum(axis=1)[:, None]
        distance += (landmarks.index >= 0).sum(axis=1)
        distance -= n_same
    return np.maximum(distance, 0.0, out=distance)
