"""What a linear model sees of a table: indicators of labels, scaled numbers and their splines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.common.records import Record, numbers, part
from priorwise.data.tables import Columns
from priorwise.steps.linear.splines import DEGREE, N_KNOTS, QuadraticSplines

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

    def take(self, rows: NDArray[np.intp]) -> Design:
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
        return np.clip(np.nan_to_num(scaled, nan=0.0), -MAX_DEVIATION, MAX_DEVIATION)
