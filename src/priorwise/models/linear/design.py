"""What a linear model sees of a table: indicators of labels, scaled numbers and their splines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import SplineTransformer

from priorwise.data.tables import Columns

N_KNOTS = 5
MAX_SPLINED = 40
MAX_DEVIATION = 4.0


@dataclass(frozen=True)
class Design:
    """Rows of a linear model: `index` (rows, indices), -1 for none; `value` (rows, values)."""

    index: NDArray[np.int32]
    value: NDArray[np.float32]

    def take(self, rows: NDArray[np.intp]) -> Design:
        return Design(self.index[rows], self.value[rows])


@dataclass(frozen=True)
class LinearDesign:
    """How to turn a table's columns into a `Design`.

    A nominal feature is one indicator a label, a numeric one its standardised value, cut off at
    four deviations, an indicator of missing where training missed some, and, when there are no
    more than 40 of them, quadratic splines with knots at quintiles.
    """

    n_labels: NDArray[np.int64]
    """Labels of each nominal feature; the indicators of missing numbers follow theirs."""
    missing: NDArray[np.intp]
    """Numeric features that miss values in training."""
    mean: NDArray[np.float64]
    scale: NDArray[np.float64]
    splines: Any

    @classmethod
    def learn(
        cls,
        columns: Columns,
        n_labels: NDArray[np.int64],
        weight: NDArray[np.float64] | None = None,
        max_splined: int = MAX_SPLINED,
    ) -> LinearDesign:
        """From training rows; `n_labels` as in the encoder's categories.

        With more than `max_splined` numeric features there are no splines.
        """
        known = ~np.isnan(columns.values)
        counted = known if weight is None else known * weight
        n_known = counted.sum(axis=1)
        n_known[n_known == 0.0] = 1.0
        values = np.where(known, columns.values, 0.0)
        mean = (values * counted).sum(axis=1) / n_known
        scale = np.sqrt(((values - mean[:, None]) ** 2 * counted).sum(axis=1) / n_known)
        design = cls(
            n_labels,
            np.flatnonzero(~known.all(axis=1)),
            mean,
            np.where(scale > 0, scale, 1.0),
            None,
        )
        if not 0 < len(mean) <= max_splined:
            return design
        splines = SplineTransformer(
            n_knots=N_KNOTS, degree=2, knots="quantile", extrapolation="constant"
        )
        splines.fit(design._standardise(columns.values).T, sample_weight=weight)
        return cls(n_labels, design.missing, design.mean, design.scale, splines)

    @property
    def n_indicators(self) -> int:
        return int(self.n_labels.sum()) + len(self.missing)

    @property
    def index_feature(self) -> NDArray[np.intp]:
        """For each index of a row the feature it speaks of: nominal ones first, then numeric."""
        n_nominal = len(self.n_labels)
        return np.concatenate([np.arange(n_nominal), n_nominal + self.missing])

    @property
    def value_feature(self) -> NDArray[np.intp]:
        """For each value of a row the feature it speaks of."""
        numeric = len(self.n_labels) + np.arange(len(self.mean))
        if self.splines is None:
            return numeric
        per_feature = self.splines.n_features_out_ // len(self.mean)
        return np.concatenate([numeric, np.repeat(numeric, per_feature)])

    def apply(self, columns: Columns) -> Design:
        """The rows of a table read by the encoder the design was learnt with."""
        start = np.concatenate([[0], np.cumsum(self.n_labels)]).astype(np.int32)
        codes = columns.nominal_codes
        labels = np.where(codes < 0, np.int32(-1), codes + start[:-1, None])
        absent = np.isnan(columns.values[self.missing])
        own = start[-1] + np.arange(len(self.missing), dtype=np.int32)
        index = np.concatenate([labels, np.where(absent, own[:, None], np.int32(-1))])
        scaled = self._standardise(columns.values).T
        parts = [scaled] if self.splines is None else [scaled, self.splines.transform(scaled)]
        return Design(
            np.ascontiguousarray(index.T, dtype=np.int32),
            np.ascontiguousarray(np.concatenate(parts, axis=1), dtype=np.float32),
        )

    def _standardise(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        scaled = (values - self.mean[:, None]) / self.scale[:, None]
        return np.clip(np.nan_to_num(scaled, nan=0.0), -MAX_DEVIATION, MAX_DEVIATION)
