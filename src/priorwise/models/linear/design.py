"""What a linear model sees of a table: indicators of labels, scaled numbers and their splines."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from priorwise.common.numeric import power_of_two
from priorwise.data.tables import Columns
from priorwise.models.linear.quadratic_splines import QuadraticSplines
from priorwise.models.memory.bounds import MAX_SPLINED

MAX_DEVIATION = 4.0
MAX_VALUES = 2**20
"""Numbers whose moments are found at a time, so that few copies of them are in memory."""
MIN_LESS_SKEW = 0.5
"""Logarithms are taken where they lower the skewness by this much at least."""


@dataclass(frozen=True)
class Design:
    """Rows of a linear model.

    `index` (n_rows, n_indices) holds the numbers of the indicators that are one, -1 for none;
    `value` (n_rows, n_values) holds numbers and splines.
    """

    index: NDArray[np.int32]
    value: NDArray[np.float32]

    def take(self, rows: NDArray[np.intp]) -> Design:
        """Return some of the rows."""
        return Design(self.index[rows], self.value[rows])


@dataclass(frozen=True, eq=False)
class Logarithms:
    """Logarithms in place of skewed numbers, so that distances and covariances fit them better.

    Feature j is read as s log max(c + s x, l), with s = `sign[j]`, c = `shift[j]`, l = `least[j]`;
    with s = 0 as it is. Long tails to the right have s = 1 and, if all numbers are positive, c = 0;
    else c + x is the distance from the smallest number plus the mean distance. Tails to the left
    are mirrored. l is the smallest argument in training.
    """

    sign: NDArray[np.float64]
    shift: NDArray[np.float64]
    least: NDArray[np.float64]

    @classmethod
    def learn(
        cls,
        values: NDArray[np.float64],
        known: NDArray[np.bool_],
        weight: NDArray[np.float64] | None,
    ) -> Logarithms:
        """Learn which features (n_features, n_rows) to take logarithms of, and how."""
        counted = known if weight is None else known & (weight > 0.0)
        moments = _find_moments(values, known, weight)
        skewness = np.abs(signed := _find_skewness(values, known, weight, *moments))
        low = np.where(counted, values, np.inf).min(axis=1, initial=np.inf)
        high = np.where(counted, values, -np.inf).max(axis=1, initial=-np.inf)
        is_right = signed > 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            shift = np.where(is_right, moments[0] - 2.0 * low, 2.0 * high - moments[0])
            shift[is_right & (low > 0.0)] = 0.0
            least = np.where(is_right, shift + low, shift - high)
            most = np.where(is_right, shift + high, shift - low)
        usable = np.isfinite(shift) & (least > 0.0) & np.isfinite(most)
        logs = cls(
            np.where(usable, np.where(is_right, 1.0, -1.0), 0.0),
            np.where(usable, shift, 0.0),
            np.where(usable, least, 1.0),
        )
        logged = logs.apply(values)
        less = skewness - np.abs(
            _find_skewness(logged, known, weight, *_find_moments(logged, known, weight))
        )
        kept = less >= MIN_LESS_SKEW
        return cls(
            np.where(kept, logs.sign, 0.0),
            np.where(kept, logs.shift, 0.0),
            np.where(kept, logs.least, 1.0),
        )

    def apply(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the numbers of shape (n_features, n_rows) with logarithms in place of some."""
        used = np.flatnonzero(self.sign)
        if len(used) == 0:
            return values
        result = values.copy()
        sign, shift, least = (one[used, None] for one in (self.sign, self.shift, self.least))
        with np.errstate(over="ignore"):
            argument = np.maximum(shift + sign * values[used], least)
        result[used] = sign * np.log(np.minimum(argument, np.finfo(float).max))
        return result


@dataclass(frozen=True)
class LinearDesign:
    """How to turn a table's columns into a `Design`.

    A nominal feature becomes one indicator for each label. A numeric feature becomes its
    standardised value, cut off at four standard deviations, an indicator of missing values where
    training missed some (`missing` lists these features; their indicators come after those of the
    labels), and, if there are at most 40 numeric features, `QuadraticSplines`, whose
    knots are `knots`. With `logs`, numbers are replaced by those before they are standardised.
    """

    n_labels: NDArray[np.int64]
    missing: NDArray[np.intp]
    mean: NDArray[np.float64]
    scale: NDArray[np.float64]
    knots: NDArray[np.float64] | None
    logs: Logarithms | None = None

    @classmethod
    def learn(
        cls,
        columns: Columns,
        n_labels: NDArray[np.int64],
        weight: NDArray[np.float64] | None = None,
        *,
        max_splined: int = MAX_SPLINED,
        takes_logs: bool = False,
    ) -> LinearDesign:
        """Learn the design of training rows; `n_labels` are those of each nominal feature.

        There are no splines beyond `max_splined` numeric features.
        """
        known = ~np.isnan(columns.values)
        n_features, n_rows = known.shape
        logs = [np.empty((3, 0))]
        moments = [np.empty((2, 0))]
        n_together = max(1, MAX_VALUES // max(1, n_rows))
        for first in range(0, n_features, n_together):
            part = slice(first, first + n_together)
            values = columns.values[part]
            if takes_logs:
                own = Logarithms.learn(values, known[part], weight)
                logs.append(np.stack([own.sign, own.shift, own.least]))
                values = own.apply(values)
            moments.append(np.stack(_find_moments(values, known[part], weight)))
        mean, scale = np.concatenate(moments, axis=1)
        joined = Logarithms(*np.concatenate(logs, axis=1)) if takes_logs else None
        missing = np.flatnonzero(~known.all(axis=1))
        design = cls(n_labels, missing, mean, scale, None, joined)
        if not 0 < len(mean) <= max_splined:
            return design
        splines = QuadraticSplines.learn(design.standardise(columns.values), weight)
        return replace(design, knots=splines.knots)

    @property
    def n_indicators(self) -> int:
        """Number of indicators."""
        return int(self.n_labels.sum()) + len(self.missing)

    @property
    def index_feature(self) -> NDArray[np.intp]:
        """The feature of each index of a row; nominal features first, then numeric ones."""
        n_nominal = len(self.n_labels)
        return np.concatenate([np.arange(n_nominal), n_nominal + self.missing])

    @property
    def value_feature(self) -> NDArray[np.intp]:
        """The feature of each value of a row."""
        numeric = len(self.n_labels) + np.arange(len(self.mean))
        return np.concatenate([numeric, np.repeat(numeric, self.n_splines)])

    @property
    def n_splines(self) -> int:
        """Number of splines of each numeric feature."""
        return 0 if self.splines is None else self.splines.n_splines

    @property
    def splines(self) -> QuadraticSplines | None:
        """The splines of the numeric features; None without knots."""
        return None if self.knots is None else QuadraticSplines(self.knots)

    def apply(self, columns: Columns) -> Design:
        """Return the rows of a table that was read by the encoder of the training rows."""
        start = np.concatenate([[0], np.cumsum(self.n_labels)]).astype(np.int32)
        codes = columns.nominal_codes
        labels = np.where(codes < 0, np.int32(-1), codes + start[:-1, None])
        absent = np.isnan(columns.values[self.missing])
        own = start[-1] + np.arange(len(self.missing), dtype=np.int32)
        index = np.concatenate([labels, np.where(absent, own[:, None], np.int32(-1))])
        scaled = self.standardise(columns.values).T
        parts = [scaled] if self.splines is None else [scaled, self.splines.transform(scaled)]
        return Design(
            np.ascontiguousarray(index.T, dtype=np.int32),
            np.ascontiguousarray(np.concatenate(parts, axis=1), dtype=np.float32),
        )

    def standardise(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return numbers in deviations from their means, 0 where missing, cut off at four."""
        if self.logs is not None:
            values = self.logs.apply(values)
        # A difference or a quotient that overflows is far beyond the largest deviation.
        with np.errstate(over="ignore"):
            scaled = (values - self.mean[:, None]) / self.scale[:, None]
        return np.clip(np.nan_to_num(scaled, nan=0.0), -MAX_DEVIATION, MAX_DEVIATION)


def _find_moments(
    values: NDArray[np.float64],
    known: NDArray[np.bool_],
    weight: NDArray[np.float64] | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and standard deviation of each row of values; 1 where that is zero."""
    counted = np.asarray(known, dtype=np.float64)
    if weight is not None:
        counted = counted * (weight / power_of_two(weight.max()))
    n_known = counted.sum(axis=1)
    n_known[n_known == 0.0] = 1.0
    values = np.where(known, values, 0.0)
    size = power_of_two(np.abs(values).max(axis=1))
    values = values / size[:, None]
    mean = (values * counted).sum(axis=1) / n_known
    # The spread has a unit of its own: its square may underflow where the mean is large.
    deviation = np.where(known, values - mean[:, None], 0.0)
    spread = power_of_two(np.abs(deviation).max(axis=1))
    square = ((deviation / spread[:, None]) ** 2 * counted).sum(axis=1) / n_known
    scale = np.sqrt(square) * spread * size
    return mean * size, np.where(scale > 0.0, scale, 1.0)


def _find_skewness(
    values: NDArray[np.float64],
    known: NDArray[np.bool_],
    weight: NDArray[np.float64] | None,
    mean: NDArray[np.float64],
    scale: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the mean of the cubed deviations of each row of values."""
    with np.errstate(over="ignore"):
        deviation = np.where(known, (values - mean[:, None]) / scale[:, None], 0.0)
    # A difference that overflows is as good as the largest deviation of so many rows.
    cubes = np.clip(deviation, -known.shape[1], known.shape[1]) ** 3
    counted = np.asarray(known, dtype=np.float64)
    if weight is not None:
        counted = counted * (weight / power_of_two(weight.max()))
    total = np.maximum(counted.sum(axis=1), np.finfo(float).tiny)
    return np.asarray((cubes * counted).sum(axis=1) / total)
