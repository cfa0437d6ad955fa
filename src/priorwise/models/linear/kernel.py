"""Logistic regression on the likeness of rows to landmarks, cross-fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from priorwise.common.numeric import softmax
from priorwise.common.validation import check_number
from priorwise.data.tables import Columns
from priorwise.models.linear.base import BaseLogisticClassifier, LogisticTable
from priorwise.models.linear.design import Design, LinearDesign
from priorwise.models.linear.fold_logistic import FoldLogistic, FoundPenalty
from priorwise.models.training_table import TrainingTable

PENALTIES = (3.16, 1.0, 0.316, 0.1, 0.0316, 0.01, 0.00316, 0.001)
MAX_ROWS = 5_000
MAX_WEIGHTS, MIN_LANDMARKS = 20_000, 50
"""Landmarks x classes at most, but at least so many landmarks."""
MIN_EIGENVALUE = 1e-6
BATCH_ROWS = 4_096
N_NODES = 16


class KernelLogisticClassifier(BaseLogisticClassifier):
    """Multinomial logistic regression on a Gaussian kernel: smooth in all features together.

    The score of a class is a weighted sum of how much a row x is like each of some landmarks,
    rows b_j of the training table drawn at random::

        score_y(x) = a_y + sum_j w_jy exp(-d(x, b_j)^2 / (2 s^2 m))

    d^2 adds up squared differences of standardised numbers, cut off at four deviations, and 2 for
    each label that differs; m is the median of d^2. A ridge penalty on the norm of the score as a
    function (Nystrom's approximation, Williams and Seeger 2001) and the bandwidth s are chosen by
    out-of-fold log-loss; the weights are the mean of those of five folds. At most 5,000 rows are
    learnt from.

    Parameters
    ----------
    n_landmarks : int
        Fewer are drawn where there are many classes.
    bandwidths : tuple of float
        Values of s to choose from.
    categorical_features : "from_dtype", mask, indices or names
        Numeric columns to take as nominal.
    missing : "value" or "impute"
    unseen : "backoff" or "error"
        A label that training did not have is as far from every other as a missing number.
    n_jobs : int or None
        Threads; -1 for all processors. The result does not depend on it.
    random_state : int, RandomState or None

    Attributes
    ----------
    bandwidth_, penalty_ : float
    intercept_ : array (classes,)
    coef_ : array (landmarks, classes)
    oof_probabilities_ : array (rows, classes)
        Each training row's probabilities from weights that have not seen it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelLogisticClassifier(random_state=0).fit(X, y)
    >>> model.predict(X[[0, 60, 120]])
    array([0, 1, 2])
    """

    def __init__(
        self,
        n_landmarks: int = 400,
        bandwidths: tuple[float, ...] = (0.5, 1.0, 2.0),
        categorical_features: Any = "from_dtype",
        missing: str = "value",
        unseen: str = "backoff",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_landmarks = n_landmarks
        self.bandwidths = bandwidths
        self.categorical_features = categorical_features
        self.missing = missing
        self.unseen = unseen
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_number("n_landmarks", self.n_landmarks, least=1)
        if len(self.bandwidths) == 0:
            raise ValueError("bandwidths must not be empty")
        for bandwidth in self.bandwidths:
            check_number("bandwidths", bandwidth, above=0.0)

    def _fit_table(self, table: TrainingTable) -> Self:
        """`fit` to a table that has been read."""
        training = self._adopt_table(table)
        self.design_ = LinearDesign.learn(
            training.columns, training.n_labels, training.weight, max_splined=0
        )
        design, n_classes = self.design_.apply(training.columns), len(self.classes_)
        rows, fold = training.draw(MAX_ROWS)
        self._landmarks = design.take(self._draw_landmarks(training, rows))
        distance = square_distances(design.take(rows), self._landmarks)
        self._median = float(np.median(distance[distance > 0.0])) if distance.any() else 1.0
        among = square_distances(self._landmarks, self._landmarks)

        def search(bandwidth: float) -> Tried:
            space = Nystrom.of(among, self._rate(bandwidth))
            regression = FoldLogistic(
                space.apply(distance), 0, n_classes, training.y[rows], training.weights_of(rows),
                fold, self._n_threads,
            )  # fmt: skip
            return Tried(float(bandwidth), space, regression, regression.search(PENALTIES))

        best = min(map(search, self.bandwidths), key=lambda tried: tried.found.loss)
        weights = best.regression.finish(best.found)
        mean = weights.mean(axis=0)
        self.bandwidth_, self.penalty_ = best.bandwidth, best.found.penalty
        self.intercept_, self.coef_ = mean[:, 0], best.space.basis @ mean[:, 1:].T
        self.oof_probabilities_ = training.out_of_fold(
            rows, best.regression.held_out(weights), lambda: softmax(self._score(design))
        )
        return self

    def _predict_columns(self, columns: Columns) -> NDArray[np.float64]:
        """`predict_proba` of rows that the encoder has read."""
        return np.asarray(softmax(self._score(self.design_.apply(columns))))

    def decision_contributions(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What each feature adds to the scores, whose softmax are the probabilities.

        The scores change along the straight line from the mean of the numbers, without labels, to
        the row; each feature has its part in every step (Aumann and Shapley). What the parts miss
        of the whole is an error of quadrature.

        Returns
        -------
        bias : array of shape (n_classes,)
            The scores where the lines begin.
        contributions : array of shape (n_rows, n_features, n_classes)
        """
        check_is_fitted(self)
        design = self.design_.apply(self.encoder_.read(X))
        rate, place = self._rate(self.bandwidth_), self._nominal_first()
        start = Design(np.full_like(design.index[:1], -1), np.zeros_like(design.value[:1]))
        terms = np.zeros((len(design.value), self.n_features_in_, len(self.classes_)))
        for batch in gen_batches(len(terms), BATCH_ROWS // 8):
            line = Line(design.take(np.arange(batch.start, batch.stop)), self._landmarks)
            for t, share in zip(*_quadrature(), strict=True):
                like = -rate * share * np.exp(-rate * line.square_distances(t))
                for feature, column in enumerate(self.design_.index_feature):
                    slope = line.index_slope(feature, t)
                    terms[batch, place[column]] += (like * slope) @ self.coef_
                for feature, column in enumerate(self.design_.value_feature):
                    slope = line.value_slope(feature, t)
                    terms[batch, place[column]] += (like * slope) @ self.coef_
        return self._score(start)[0], terms

    def _draw_landmarks(self, table: LogisticTable, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        weight = table.weights_of(rows)
        known = rows if weight is None else rows[weight > 0.0]
        most = max(MIN_LANDMARKS, MAX_WEIGHTS // len(self.classes_))
        n_drawn = min(int(self.n_landmarks), most, len(known))
        return np.sort(table.generator.choice(known, n_drawn, replace=False))

    def _rate(self, bandwidth: float) -> float:
        """What d^2 is multiplied by."""
        return 1.0 / (2.0 * bandwidth**2 * self._median)

    def _score(self, design: Design) -> NDArray[np.float64]:
        rate = self._rate(self.bandwidth_)
        scores = np.empty((len(design.value), len(self.classes_)))
        for batch in gen_batches(len(scores), BATCH_ROWS):
            part = design.take(np.arange(batch.start, batch.stop))
            like = np.exp(-rate * square_distances(part, self._landmarks))
            scores[batch] = self.intercept_ + like @ self.coef_
        return scores


@dataclass(frozen=True)
class Nystrom:
    """Features of rows whose inner products are nearly the kernel: k(x, landmarks) basis."""

    basis: NDArray[np.float64]
    rate: float

    @classmethod
    def of(cls, distance: NDArray[np.float64], rate: float) -> Nystrom:
        """From the landmarks' squared distances from each other."""
        values, vectors = np.linalg.eigh(np.exp(-rate * distance))
        kept = values > MIN_EIGENVALUE * values[-1]
        return cls(vectors[:, kept] / np.sqrt(values[kept]), rate)

    def apply(self, distance: NDArray[np.float64]) -> Design:
        """The features of rows so far from the landmarks."""
        features = (np.exp(-self.rate * distance) @ self.basis).astype(np.float32)
        return Design(np.empty((len(features), 0), dtype=np.int32), features)


@dataclass(frozen=True)
class Tried:
    """What a bandwidth is worth."""

    bandwidth: float
    space: Nystrom
    regression: FoldLogistic
    found: FoundPenalty


@dataclass(frozen=True)
class Line:
    """Rows on their way from nowhere, t = 0, to where they are, t = 1, seen from landmarks."""

    rows: Design
    landmarks: Design

    def square_distances(self, t: float) -> NDArray[np.float64]:
        part = Design(self.rows.index, (t * self.rows.value).astype(np.float32))
        return square_distances(part, self.landmarks, t)

    def index_slope(self, j: int, t: float) -> NDArray[np.float64]:
        """The derivative of the squared distance by t, of one index."""
        a, b = self.rows.index[:, j, None], self.landmarks.index[None, :, j]
        return np.where(a >= 0, 2.0 * t - 2.0 * (a == b), 0.0)

    def value_slope(self, q: int, t: float) -> NDArray[np.float64]:
        """The same of one value."""
        a = self.rows.value[:, q, None].astype(np.float64)
        return 2.0 * a * (t * a - self.landmarks.value[None, :, q])


def square_distances(
    rows: Design, landmarks: Design, index_size: float = 1.0
) -> NDArray[np.float64]:
    """Squared distances of rows, their indicators `index_size` long, from landmarks."""
    if rows.value.shape[1]:
        found = euclidean_distances(
            rows.value.astype(np.float64), landmarks.value.astype(np.float64), squared=True
        )
    else:
        found = np.zeros((len(rows.value), len(landmarks.value)))
    for a, b in zip(rows.index.T, landmarks.index.T, strict=True):
        found += index_size**2 * (a >= 0)[:, None] + (b >= 0)[None, :]
        found -= 2.0 * index_size * ((a[:, None] == b[None, :]) & (a >= 0)[:, None])
    return np.maximum(found, 0.0)


def _quadrature() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Points in 0..1 and their shares (Gauss and Legendre)."""
    points, shares = np.polynomial.legendre.leggauss(N_NODES)
    return 0.5 * (points + 1.0), 0.5 * shares
