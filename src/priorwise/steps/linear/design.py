"""What a linear model sees of a table: indicators of labels, scaled numbers and their splines.

How sure a logistic regression is of its scores is Laplace's approximation, in little memory: with h
the mean over the classes of p (1 - p) of a training row, the log-odds of a class at a row x have
about the variance x' A^-1 x with A = sum of h x x' + penalty, times the mean of h over its mean for
the class alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.common.records import Record, numbers, part
from priorwise.data.tables import Columns

N_KNOTS = 5
DEGREE = 2

MAX_DEVIATION = 4.0
TINY = float(np.finfo(float).tiny)
LARGEST = 1e100
"""Sums of products of weights up to this size do not overflow."""


@dataclass(frozen=True)
class Design:
    """Rows of a linear model.

    `index` (n_rows, n_indices) holds the numbers of the indicators that are one, -1 for none;
    `value` (n_rows, n_values) holds numbers and splines.
    """

    index: NDArray[np.int32]
    value: NDArray[np.float32]

    def take(self, rows: NDArray[np.intp] | slice) -> Design:
        """Return some of the rows."""
        return Design(self.index[rows], self.value[rows])


@dataclass(frozen=True, eq=False)
class Logarithms(Record):
    """Logarithms in place of skewed numbers, so that distances and covariances fit them better.

    Feature j is read as s log max(c + s x, l), with s = `sign[j]`, c = `shift[j]`, l = `least[j]`;
    with s = 0 as it is. Long tails to the right have s = 1 and, if all numbers are positive, c = 0;
    else c + x is the distance from the smallest number plus the mean distance. Tails to the left
    are mirrored. l is the smallest argument in training.
    """

    sign: NDArray[np.float64] = numbers("n_numeric", least=-1.0, most=1.0)
    shift: NDArray[np.float64] = numbers("n_numeric")
    least: NDArray[np.float64] = numbers("n_numeric", least=np.nextafter(0.0, 1.0))

    def check_rules(self) -> None:
        if (self.sign != np.round(self.sign)).any():
            raise ValueError("sign must be -1, 0 or 1")

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


@dataclass(frozen=True, eq=False)
class LinearDesign(Record):
    """How to turn a table's columns into a `Design`.

    A nominal feature becomes one indicator for each label. A numeric feature becomes its
    standardised value, cut off at four standard deviations, an indicator of missing values where
    training missed some (`missing` lists these features; their indicators come after those of the
    labels), and, if there are at most 40 numeric features, `QuadraticSplines`, whose
    knots are `knots`. With `logs`, numbers are replaced by those before they are standardised.
    """

    n_labels: NDArray[np.int64] = numbers("n_nominal", dtype=np.int64, least=0, most=2**31)
    missing: NDArray[np.intp] = numbers("n_missing", dtype=np.intp, least=0)
    mean: NDArray[np.float64] = numbers("n_numeric")
    scale: NDArray[np.float64] = numbers("n_numeric", least=TINY)
    knots: NDArray[np.float64] | None = numbers(
        "n_numeric", N_KNOTS + 2 * DEGREE, least=-LARGEST, most=LARGEST, optional=True
    )
    logs: Logarithms | None = part(Logarithms, optional=True, default=None)

    def check_rules(self) -> None:
        missing, knots = self.missing, self.knots
        is_numeric = _core.are_within(missing, 0.0, len(self.mean) - 1.0)
        if not is_numeric or (missing[1:] <= missing[:-1]).any():
            raise ValueError("missing must list numeric features")
        if knots is not None and (knots[:, 1:] < knots[:, :-1]).any():
            raise ValueError("knots must rise")
        if self.logs is not None and len(self.logs.sign) != len(self.mean):
            raise ValueError("logs must be those of the numeric features")
        if self.n_labels.sum() >= 2**31:
            raise ValueError("there must be fewer than 2**31 labels")

    def check_features(self, is_nominal: NDArray[np.bool_], n_labels: list[int]) -> None:
        """Raise ValueError unless the design is that of such features."""
        # A feature whose rows all have weight zero has a label here and none in the encoder.
        if len(self.n_labels) != len(n_labels) or (self.n_labels < n_labels).any():
            raise ValueError("the design must have the labels of the nominal features")
        if len(self.mean) != int((~is_nominal).sum()):
            raise ValueError("the design must have the numeric features")

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
        np.copyto(scaled, 0.0, where=np.isnan(scaled))
        return np.clip(scaled, -MAX_DEVIATION, MAX_DEVIATION, out=scaled)


@dataclass(frozen=True, eq=False)
class QuadraticSplines:
    """B-splines of degree two, constant beyond the outer knots.

    `knots` (n_features, 5 + 2 * 2) rise; the two at each end lie outside of the numbers. Between
    two knots b and c, with a the knot before and d the one after, three splines are not zero::

        (c - z)^2 / ((c - b) (c - a)),
        (c - z) (z - a) / ((c - b) (c - a)) + (z - b) (d - z) / ((c - b) (d - b)),
        (z - b)^2 / ((c - b) (d - b))

    A last knot that coincides with others ends the last interval that has a length, as any last
    knot does; where all coincide, all splines are zero. At every other number they add up to one,
    and a sum of them with rising weights rises, wherever the knots lie.
    """

    knots: NDArray[np.float64]

    @property
    def n_splines(self) -> int:
        """Number of splines of a feature."""
        return self.knots.shape[1] - DEGREE - 1

    def transform(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the splines of rows (n_rows, n_features): (n_rows, n_features * n_splines)."""
        z = np.clip(values, self.knots[:, DEGREE], self.knots[:, -1 - DEGREE])
        first = self._first_splines(z)
        coefficients, left = self._expand(first)
        u = z - left
        result = np.zeros((*z.shape, self.n_splines))
        for i, (constant, slope, bend) in enumerate(coefficients):
            own = constant + (slope + bend * u) * u
            np.put_along_axis(result, (first + i)[..., None], own[..., None], axis=2)
        return result.reshape(len(values), -1)

    def expand(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the knots (n_features, 5), and the splines (n_features, 5, 3, n_splines) at them.

        The splines between a knot k and the next are c_0 + c_1 u + c_2 u^2, u = z - k. At the last
        knot they are c_0.
        """
        knots = self.knots[:, DEGREE:-DEGREE]
        first = self._first_splines(knots.T)
        coefficients, _ = self._expand(first)
        terms = np.zeros((*first.shape, 1 + DEGREE, self.n_splines))
        place, feature = np.indices(first.shape)
        for i, own in enumerate(coefficients):
            for order, term in enumerate(own):
                terms[place, feature, order, first + i] = term
        terms[-1] = 0.0
        terms[-1, :, 0] = self.transform(knots[:, -1][None]).reshape(len(knots), -1)
        return knots, terms.swapaxes(0, 1)

    def _first_splines(self, z: NDArray[np.float64]) -> NDArray[np.intp]:
        """Return the first of the three splines that are not zero, for rows between the knots."""
        inner, last = self.knots[:, DEGREE + 1 : -1 - DEGREE], self.knots[:, -1 - DEGREE, None]
        return np.asarray(((z[..., None] >= inner) & (inner < last)).sum(axis=2))

    def _expand(
        self, first: NDArray[np.intp]
    ) -> tuple[list[list[NDArray[np.float64]]], NDArray[np.float64]]:
        """Return constant, slope and bend at the knot before z of three splines, and that knot."""
        feature = np.arange(len(self.knots))
        a, b, c, d = (self.knots[feature, first + i] for i in range(1, 5))
        apart = c > b
        wide, near, far = (
            np.divide(1.0, gap, out=np.zeros(gap.shape), where=apart)
            for gap in (c - b, c - a, d - b)
        )
        coefficients = [
            [(c - b) * near, -2.0 * near, wide * near],
            [(b - a) * near, (c + a - 2.0 * b) * wide * near + wide, -wide * (near + far)],
            [np.zeros(b.shape), np.zeros(b.shape), wide * far],
        ]
        return coefficients, b


BATCH_ROWS = 512
"""Rows that are multiplied at a time: libraries of linear algebra keep the memory of large ones."""
