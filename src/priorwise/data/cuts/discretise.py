"""Discretisers: numeric features into bins between cut points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from priorwise.common.docstrings import hook
from priorwise.common.estimator import Estimator
from priorwise.common.numeric import power_of_two
from priorwise.common.stored.checks import check_fitted, check_numbers, require
from priorwise.common.validation import check_number, check_weight
from priorwise.data.columns import RankedValues, cut_into_bins, midpoints


class Discretizer(OneToOneFeatureMixin, TransformerMixin, Estimator):
    """Base of the discretisers: a subclass finds the cut points of ranked features.

    A value's code is the number of cut points below it, so bins are closed on the right. NaN
    passes through.

    Attributes
    ----------
    cut_points_ : list of arrays
        Cut points of each feature, ascending.
    n_bins_ : array of shape (n_features,)
        Number of bins of each feature.
    """

    cut_points_: list[NDArray[np.float64]]

    learnt: ClassVar[Mapping[str, Any]] = {
        "cut_points_": list,
        "n_features_in_": int,
        "feature_names_in_": np.ndarray,
        "n_iter_": int,
    }

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the cut points of every feature.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Numbers; NaN is missing.
        y : array-like of shape (n_rows,), optional
            Class labels, for discretisers that look at the class.
        sample_weight : array-like of shape (n_rows,), optional
            How many rows each row counts for. A row of weight zero is absent.

        Returns
        -------
        Discretizer
            The discretiser itself.
        """
        self._check_parameters()
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        if y is not None:
            check_consistent_length(X, y)
        weight = check_weight(sample_weight, len(X))
        if weight is not None:
            counted = weight > 0
            # Left out before ranking, so that they add no distinct value.
            X, weight = X[counted], weight[counted]
            y = None if y is None else np.asarray(y)[counted]
        return self.fit_ranked(RankedValues.of(X.T), y, weight)

    def check_learnt(self) -> None:
        check_fitted(self, "cut_points_", "n_features_in_")
        require(len(self.cut_points_) == self.n_features_in_, "features need cut points")
        for points in self.cut_points_:
            check_numbers("cut_points_", points, None)
            require((np.diff(points) > 0.0).all(), "cut points must rise")

    @hook
    def fit_ranked(
        self,
        ranked: RankedValues,
        y: Any = None,
        weight: NDArray[np.float64] | None = None,
    ) -> Self:
        """Learn the cut points of features that have been ranked already."""
        self._check_parameters()
        self.cut_points_ = self._find_cut_points(ranked, y, weight)
        self.n_features_in_ = len(ranked.distinct)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the bin of each value.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Numbers; NaN is missing.

        Returns
        -------
        array of shape (n_rows, n_features)
            Numbers of bins as floats; NaN stays NaN.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
        codes = cut_into_bins(
            np.ascontiguousarray(X.T), self.cut_points_, np.full(X.shape[1], -1)
        ).T
        return np.where(codes < 0, np.nan, codes)

    @property
    def n_bins_(self) -> NDArray[np.int64]:
        """Number of bins of each feature."""
        return np.array([len(points) + 1 for points in self.cut_points_], dtype=np.int64)

    def _check_parameters(self) -> None:
        check_number("n_bins", getattr(self, "n_bins", 1), least=1, whole=True)

    def _find_cut_points(
        self, ranked: RankedValues, y: Any, weight: NDArray[np.float64] | None
    ) -> list[NDArray[np.float64]]:
        return [
            self._cut_feature(values, ranked.weights_of(i, weight))
            if len(values) > 1
            else np.zeros(0)
            for i, values in enumerate(ranked.distinct)
        ]

    def _cut_feature(
        self, values: NDArray[np.float64], weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the cut points of a feature of two or more distinct values."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class EqualWidthDiscretizer(Discretizer):
    """Cut each feature's range into bins of equal width.

    With the least value a and the largest b (thesis Eq. 36)::

        cut_i = a + i (b - a) / n_bins,   i = 1 .. n_bins - 1

    A constant feature gets a single bin.

    Parameters
    ----------
    n_bins : int, default=10
        Number of bins.

    Examples
    --------
    >>> EqualWidthDiscretizer(n_bins=2).fit_transform([[0.0], [5.0], [6.0], [10.0]]).ravel()
    array([0., 0., 1., 1.])
    """

    def __init__(self, n_bins: int = 10) -> None:
        self.n_bins = n_bins

    def _cut_feature(
        self, values: NDArray[np.float64], weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        share = np.arange(1, self.n_bins) / self.n_bins
        # Two products rather than a width: b - a may overflow.
        points = np.unique(values[0] * (1.0 - share) + values[-1] * share)
        return points[points < values[-1]]


class EqualFrequencyDiscretizer(Discretizer):
    """Cut each feature into bins of equally many rows.

    Equal values are never split over two bins: each cut goes to the boundary between distinct
    values that is nearest to its ideal place (of two equally near ones the lower), so a frequent
    value makes fewer and fuller bins.

    Parameters
    ----------
    n_bins : int, default=10
        Number of bins at most.

    Attributes
    ----------
    cut_points_ : list of arrays
        Cut points of each feature, ascending: midpoints of neighbouring values.

    Examples
    --------
    >>> X = [[1.0], [1.0], [1.0], [2.0], [3.0], [4.0]]
    >>> EqualFrequencyDiscretizer(n_bins=2).fit_transform(X).ravel()
    array([0., 0., 0., 1., 1., 1.])
    """

    def __init__(self, n_bins: int = 10) -> None:
        self.n_bins = n_bins

    def _cut_feature(
        self, values: NDArray[np.float64], weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        below = np.cumsum(weights)
        ideal = below[-1] * np.arange(1, self.n_bins) / self.n_bins
        return midpoints(values, np.unique(nearest_boundary(below, ideal)))


class KMeansDiscretizer(Discretizer):
    """Cut each feature between the clusters of a one-dimensional k-means.

    Centres start at the quantiles (i + 1/2) / n_bins and move to their cluster's mean until they
    stay (thesis 2.7.1.3); the start is fixed, so there is nothing random. A cut lies halfway
    between neighbouring centres. Clusters that become empty are dropped.

    Parameters
    ----------
    n_bins : int, default=10
        Number of clusters at most.
    max_iter : int, default=300
        Most moves of the centres.

    Attributes
    ----------
    n_iter_ : int
        Number of moves, of the feature that took most.

    Examples
    --------
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0]]
    >>> KMeansDiscretizer(n_bins=2).fit(X).cut_points_[0]
    array([5.75])
    """

    def __init__(self, n_bins: int = 10, *, max_iter: int = 300) -> None:
        self.n_bins = n_bins
        self.max_iter = max_iter

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("max_iter", self.max_iter, least=1, whole=True)

    def _find_cut_points(
        self, ranked: RankedValues, y: Any, weight: NDArray[np.float64] | None
    ) -> list[NDArray[np.float64]]:
        self.n_iter_ = 1
        return super()._find_cut_points(ranked, y, weight)

    def _cut_feature(
        self, values: NDArray[np.float64], weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        below = np.cumsum(weights)
        start = np.searchsorted(below, below[-1] * (np.arange(self.n_bins) + 0.5) / self.n_bins)
        centres = values[np.unique(np.minimum(start, len(values) - 1))]
        unit = power_of_two(np.abs(values).max())
        # Sums up to each value: a cluster is a stretch, its mean a difference of two entries.
        mass = np.concatenate([[0.0], below])
        moment = np.concatenate([[0.0], np.cumsum(weights * (values / unit))])
        for iteration in range(1, self.max_iter + 1):
            self.n_iter_ = max(self.n_iter_, iteration)
            points = centres[:-1] / 2.0 + centres[1:] / 2.0
            ends = np.searchsorted(values, points, side="right")
            edges = np.concatenate([[0], ends, [len(values)]])
            # A cluster is dropped that is empty, or so light that the sums do not hold it.
            full = np.diff(mass[edges]) > 0.0
            first, last = edges[:-1][full], edges[1:][full] - 1
            moved = np.diff(moment[edges])[full] / np.diff(mass[edges])[full] * unit
            moved = np.clip(moved, values[first], values[last])
            if np.array_equal(moved, centres):
                break
            centres = moved
        return np.unique(centres[:-1] / 2.0 + centres[1:] / 2.0)


def nearest_boundary(below: NDArray[np.float64], ideal: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return for each ideal weight the r whose cumulated weight ``below[r]`` is nearest.

    The last entry, all the weight, is no boundary between two values.
    """
    inner = below[:-1]
    above = np.minimum(np.searchsorted(inner, ideal), len(inner) - 1)
    lower = np.maximum(above - 1, 0)
    return np.where(np.abs(inner[lower] - ideal) <= np.abs(inner[above] - ideal), lower, above)
