"""The distinct values of a numeric feature with the rows of each class, over many batches."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.numeric import power_of_two

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
