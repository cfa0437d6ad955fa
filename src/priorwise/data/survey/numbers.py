"""What is known of the numbers of a column, over many batches: their range and distinct values."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.numeric import power_of_two


@dataclass(frozen=True, eq=False)
class NumberCounts:
    """Range of the numbers of a feature and weight of its rows; NaN if there is no number.

    `summary` has the distinct values by class; None where nothing has to be learnt from them. With
    `is_text` the numbers were texts.
    """

    least: float
    largest: float
    n_known: float
    n_missing: float
    summary: ValueSummary | None = None
    is_text: bool = field(default=False, repr=False)

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


Run = tuple[NDArray[np.float64], NDArray[np.int64]]
"""Ascending values, and rows of each class at each of them."""


@dataclass(eq=False)
class ValueSummary:
    """Values of one feature and, for each, the rows of every class.

    That is all a discretiser needs, and it adds up: summaries of batches merge into that of all
    rows. As long as it stays within `max_bytes`, it is exact. Beyond, neighbouring values become
    one, that in the middle, in groups of about equally many rows, until half of the values are
    left; a rank is then off by at most half a group each time that happens. There is nothing
    random, so the same batches give the same summary. `missing` counts the rows of each class
    without a value.

    >>> y = np.array([0, 1, 1], dtype=np.int32)
    >>> summary = ValueSummary.of(np.array([2.0, 1.0, np.nan]), y, n_classes=2)
    >>> summary.values(), summary.counts().tolist(), summary.missing.tolist()
    (array([1., 2.]), [[0, 1], [1, 0]], [0, 1])
    """

    n_classes: int
    max_bytes: int | None
    missing: NDArray[np.int64]
    runs: list[Run] = field(default_factory=list)
    """Largest first; a run is at least twice as long as the next, so merging is cheap."""
    is_exact: bool = True

    @classmethod
    def of(
        cls,
        values: NDArray[np.float64],
        y: NDArray[np.int32],
        n_classes: int,
        max_bytes: int | None = None,
        totals: NDArray[Any] | None = None,
    ) -> ValueSummary:
        """Summarise the rows of one batch, each of which may stand for many; NaN is missing."""
        known = ~np.isnan(values)
        kind = np.int64 if totals is None else totals.dtype

        def count(cells: NDArray[Any], rows: NDArray[np.bool_], n_cells: int) -> NDArray[Any]:
            weight = None if totals is None else totals[rows]
            return np.bincount(cells, weight, minlength=n_cells).astype(kind)

        missing = count(y[~known], ~known, n_classes)
        # Adding zero makes -0.0 and 0.0 one.
        distinct, place = np.unique(values[known] + 0.0, return_inverse=True)
        cells = count(place * n_classes + y[known], known, len(distinct) * n_classes)
        summary = cls(n_classes, max_bytes, missing)
        if len(distinct):
            summary.runs = [(distinct, cells.reshape(-1, n_classes))]
        summary._keep_within_limit()
        return summary

    def merge(self, other: ValueSummary) -> ValueSummary:
        """The summary of the rows of both."""
        merged = ValueSummary(self.n_classes, self.max_bytes, self.missing + other.missing)
        merged.is_exact = self.is_exact and other.is_exact
        runs = sorted([*self.runs, *other.runs], key=lambda run: -len(run[0]))
        while len(runs) > 1 and 2 * len(runs[-1][0]) > len(runs[-2][0]):
            shorter, longer = runs.pop(), runs.pop()
            runs.append(_merge_runs(longer, shorter))
            runs.sort(key=lambda run: -len(run[0]))
        merged.runs = runs
        merged._keep_within_limit()
        return merged

    def with_classes(self, place: NDArray[np.intp], n_classes: int) -> ValueSummary:
        """The same rows where class i is class ``place[i]`` of more classes."""

        def spread(counts: NDArray[np.int64]) -> NDArray[np.int64]:
            wide = np.zeros((*counts.shape[:-1], n_classes), dtype=np.int64)
            wide[..., place] = counts
            return wide

        return ValueSummary(
            n_classes,
            self.max_bytes,
            spread(self.missing),
            [(values, spread(counts)) for values, counts in self.runs],
            self.is_exact,
        )

    def values(self) -> NDArray[np.float64]:
        """The distinct values, ascending."""
        return self._single_run()[0]

    def counts(self) -> NDArray[np.int64]:
        """Rows of each class at each value, shape (n_values, n_classes)."""
        return self._single_run()[1]

    def cells(self) -> tuple[NDArray[np.float64], NDArray[np.intp], NDArray[Any] | None]:
        """A row for each value and class that has rows, its class, and the number of its rows.

        A summary without values is one missing row.
        """
        values, counts = self._single_run()
        if len(values) == 0:
            return np.array([np.nan]), np.zeros(1, dtype=np.intp), None
        at, y = np.nonzero(counts)
        return values[at], y, counts[at, y].astype(np.float64)

    def impute(self) -> tuple[float, ValueSummary]:
        """The mean of the known values, and the summary with missing ones replaced by it."""
        values, counts = self._single_run()
        mean = exact_mean(values, counts.sum(axis=1))
        filled = ValueSummary(self.n_classes, self.max_bytes, np.zeros_like(self.missing))
        filled.runs, filled.is_exact = [(values, counts)], self.is_exact
        if self.missing.any():
            at_mean = (np.array([mean]), self.missing[None, :])
            filled.runs = [_merge_runs((values, counts), at_mean)]
        return mean, filled

    @property
    def n_bytes(self) -> int:
        return sum(values.nbytes + counts.nbytes for values, counts in self.runs)

    def _single_run(self) -> Run:
        if not self.runs:
            return np.zeros(0), np.zeros((0, self.n_classes), dtype=np.int64)
        while len(self.runs) > 1:
            shorter, longer = self.runs.pop(), self.runs.pop()
            self.runs.append(_merge_runs(longer, shorter))
        return self.runs[0]

    def _keep_within_limit(self) -> None:
        if self.max_bytes is None or self.n_bytes <= self.max_bytes:
            return
        values, counts = self._single_run()
        max_values = max(8, self.max_bytes // (8 * (1 + self.n_classes)))
        if len(values) > max_values:
            self.runs = [_group(values, counts, max_values // 2 - 2)]
            self.is_exact = False


def exact_mean(values: NDArray[np.float64], weight: NDArray[np.float64 | np.int64]) -> float:
    """The mean of distinct values of given weights: the same bits however rows were batched.

    >>> exact_mean(np.array([1.0, 4.0]), np.array([2, 1]))
    2.0
    """
    total = float(weight.sum())
    if total <= 0.0:
        return 0.0
    unit = power_of_two(np.abs(values).max())
    return float((values / unit * weight).sum() / total * unit)


def _merge_runs(a: Run, b: Run) -> Run:
    values = np.concatenate([a[0], b[0]])
    # Two ascending runs: a stable sort finds and merges them in linear time.
    order = np.argsort(values, kind="stable")
    values = values[order]
    first = np.append(True, values[1:] != values[:-1])
    counts = np.concatenate([a[1], b[1]])[order]
    return values[first], np.add.reduceat(counts, np.flatnonzero(first), axis=0)


def _group(values: NDArray[np.float64], counts: NDArray[np.int64], n_groups: int) -> Run:
    """Make neighbours one, in groups of about equally many rows; the one in the middle stands.

    The least and the largest value stay alone.
    """
    rows = counts.sum(axis=1)
    below = np.cumsum(rows)
    group = 1 + (below - 1) * n_groups // below[-1]
    group[0], group[-1] = 0, group[-2] + 1
    starts = np.flatnonzero(np.append(True, group[1:] != group[:-1]))
    ends = np.append(starts[1:], len(values)) - 1
    before = below[starts] - rows[starts]
    middle = np.searchsorted(below, (before + below[ends] + 1) // 2)
    return values[middle], np.add.reduceat(counts, starts, axis=0)
