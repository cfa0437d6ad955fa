"""Rows as parts: what makes a row of weight two the same as two rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_PARTS = 16
"""Most parts of one distinct row: enough to be spread over folds and bootstraps."""

WHOLE_TOLERANCE = 1e-9
"""A weight this close to a whole number, relative to its size, is taken as whole."""

MAX_HELD_BACK = 5000
"""Most rows that `draw_held_back` draws."""

_ODD = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


@dataclass(frozen=True, eq=False)
class RowParts:
    """Distinct rows, ordered by content, split into parts of weight one.

    Equal rows are joined and their weights added up; a distinct row of weight w is then split into
    as many parts of weight one as w has, the last one with what is left of it, and at most
    `MAX_PARTS`, whose weights differ by at most one. Folds, samples and bootstraps that are drawn
    for parts therefore treat a row of weight two as two rows, and neither the order of the rows nor
    the way they were weighted matters.

    >>> twice = RowParts.split(np.array([7, 9, 7], dtype=np.uint64), None)
    >>> weighted = RowParts.split(np.array([7, 9], dtype=np.uint64), np.array([2.0, 1.0]))
    >>> twice.group.tolist(), weighted.group.tolist(), weighted.weight
    ([0, 0, 1], [0, 0, 1], None)
    """

    row: NDArray[np.intp]  # a given row with the content of each part
    weight: NDArray[np.float64] | None  # weights of the parts; None if all are one
    group: NDArray[np.intp]  # the distinct row that each part belongs to; ascending
    group_of_row: NDArray[np.intp]  # the distinct row that each given row is equal to

    @classmethod
    def split(cls, hashes: NDArray[np.uint64], weight: NDArray[np.float64] | None) -> RowParts:
        """Split rows with the given hashes of content, as `hash_rows` gives them."""
        _, first, group_of_row = np.unique(hashes, return_index=True, return_inverse=True)
        total = np.bincount(group_of_row, weight).astype(np.float64)
        whole = np.round(total)
        total = np.where(np.abs(total - whole) <= WHOLE_TOLERANCE * total, whole, total)
        n_parts = np.clip(np.ceil(total), 1, MAX_PARTS).astype(np.intp)
        group = np.repeat(np.arange(len(first)), n_parts)
        # The number of the part within its distinct row.
        number = np.arange(len(group)) - np.repeat(np.cumsum(n_parts) - n_parts, n_parts)
        least = np.where(total <= MAX_PARTS, 1.0, np.floor(total / MAX_PARTS))
        rest = np.where(total <= MAX_PARTS, 0.0, total - least * n_parts)
        part_weight = least[group] + np.clip(rest[group] - number, 0.0, 1.0)
        last = (number == n_parts[group] - 1) & (total[group] <= MAX_PARTS)
        part_weight[last] = (total - (n_parts - 1))[group[last]]
        weights = None if (part_weight == 1.0).all() else part_weight
        return cls(first[group], weights, group, group_of_row)

    def deal_rows(self) -> NDArray[np.intp]:
        """Return the part of each given row, if every given row has the weight one.

        Equal rows go to the first part of their distinct row until it is full, then to the next.
        """
        n_rows = len(self.group_of_row)
        part = np.arange(n_rows)
        if self.weight is not None:
            part = np.searchsorted(np.cumsum(self.weight), part, side="right")
        part_of_row = np.empty(n_rows, dtype=np.intp)
        part_of_row[np.argsort(self.group_of_row, kind="stable")] = part
        return part_of_row

    def mean_by_row(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values of parts as values of given rows: the mean over the parts of a row."""
        if len(self.group) == len(self.group_of_row) and self.group[-1] == len(self.group) - 1:
            return values[self.group_of_row]
        share = np.ones(len(self.group)) if self.weight is None else self.weight
        total = np.bincount(self.group, share)
        sums = np.stack([np.bincount(self.group, share * column) for column in values.T], axis=1)
        return np.asarray((sums / total[:, None])[self.group_of_row])


def hash_rows(columns: Sequence[NDArray[Any]], outcome: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Return a 64-bit hash of the content of each row: its columns and its outcome."""
    mixed = np.zeros(len(outcome), dtype=np.uint64)
    for column in [*columns, outcome]:
        mixed = _mix(mixed ^ _as_bits(column))
    return mixed


def draw_held_back(n_rows: int, seed: int) -> NDArray[np.intp]:
    """Draw a tenth of the rows, at least one and at most `MAX_HELD_BACK`, in ascending order.

    Smoothers are chosen on such rows (Petitjean et al. 2018, section 6.1).
    """
    n_held = max(1, min(n_rows // 10, MAX_HELD_BACK))
    drawn = np.random.default_rng(seed).choice(n_rows, n_held, replace=False, shuffle=False)
    return np.sort(drawn)


def _as_bits(column: NDArray[Any]) -> NDArray[np.uint64]:
    if column.dtype == np.float64:
        # Adding zero turns -0.0 into 0.0; NaN becomes the one NaN that NumPy writes.
        return np.where(np.isnan(column), np.nan, column + 0.0).view(np.uint64)
    return column.astype(np.uint64)


def _mix(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    bits = (bits ^ (bits >> _SHIFT)) * _ODD
    bits = (bits ^ (bits >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return bits ^ (bits >> _SHIFT) ^ _ODD
