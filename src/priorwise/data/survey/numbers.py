"""What is known of the numbers of a column, over many batches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.data.survey.value_summary import ValueSummary


@dataclass(frozen=True, eq=False)
class NumberCounts:
    """Range of the numbers of a feature and weight of its rows; NaN if there is no number.

    `summary` has the distinct values by class; None where nothing has to be learnt from them.
    """

    least: float
    largest: float
    n_known: float
    n_missing: float
    summary: ValueSummary | None = None

    @classmethod
    def of(
        cls, values: NDArray[np.float64], weight: NDArray[np.float64] | None = None
    ) -> NumberCounts:
        """Look at the rows of one batch, without their distinct values.

        >>> NumberCounts.of(np.array([2.0, np.nan, 1.0]))
        NumberCounts(least=1.0, largest=2.0, n_known=2.0, n_missing=1.0, summary=None)
        """
        if weight is not None and not weight.all():
            values, weight = values[weight > 0.0], weight[weight > 0.0]
        absent = np.isnan(values)
        known = values[~absent] if absent.any() else values
        if weight is None:
            n_known, n_missing = float(len(known)), float(len(values) - len(known))
        else:
            n_known, n_missing = float(weight[~absent].sum()), float(weight[absent].sum())
        if len(known) == 0:
            return cls(np.nan, np.nan, n_known, n_missing)
        return cls(float(known.min()), float(known.max()), n_known, n_missing)

    @classmethod
    def by_class(
        cls,
        values: NDArray[np.float64],
        y: NDArray[np.int32],
        n_classes: int,
        max_bytes: int | None = None,
        totals: NDArray[Any] | None = None,
    ) -> NumberCounts:
        """Summarise the rows of one batch, each of which may stand for many, by class."""
        if totals is not None and not totals.all():
            values, y, totals = values[totals > 0], y[totals > 0], totals[totals > 0]
        summary = ValueSummary.of(values, y, n_classes, max_bytes, totals)
        n_missing, distinct = float(summary.missing.sum()), summary.values()
        if len(distinct) == 0:
            return cls(np.nan, np.nan, 0.0, n_missing, summary)
        n_known = float(summary.counts().sum())
        return cls(float(distinct[0]), float(distinct[-1]), n_known, n_missing, summary)

    @property
    def missing_share(self) -> float:
        """Share of the rows, by weight, that have no value."""
        total = self.n_known + self.n_missing
        return self.n_missing / total if total > 0.0 else 0.0

    @property
    def mean(self) -> float:
        """The mean of the numbers that were summarised."""
        assert self.summary is not None
        return self.summary.impute()[0]

    def merge(self, other: NumberCounts) -> NumberCounts:
        """The numbers of both."""
        summary = None
        if self.summary is not None and other.summary is not None:
            summary = self.summary.merge(other.summary)
        return NumberCounts(
            float(np.fmin(self.least, other.least)),
            float(np.fmax(self.largest, other.largest)),
            self.n_known + other.n_known,
            self.n_missing + other.n_missing,
            summary,
        )

    def subtract(self, other: NumberCounts) -> NumberCounts:
        """The weight without the rows of `other`; the range stays."""
        n_known, n_missing = self.n_known - other.n_known, self.n_missing - other.n_missing
        return NumberCounts(self.least, self.largest, max(n_known, 0.0), max(n_missing, 0.0))

    def scale(self, factor: float) -> NumberCounts:
        """The same numbers where every row counts `factor` times."""
        n_known, n_missing = factor * self.n_known, factor * self.n_missing
        return replace(self, n_known=n_known, n_missing=n_missing, summary=None)

    def with_classes(self, place: NDArray[np.intp], n_classes: int) -> NumberCounts:
        """The same rows where class i is class ``place[i]`` of more classes."""
        summary = self.summary
        return replace(self, summary=summary and summary.with_classes(place, n_classes))
