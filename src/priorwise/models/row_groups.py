"""Random choices that treat rows of equal content alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_ODD = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


@dataclass(frozen=True, eq=False)
class RowGroups:
    """Rows grouped by content, in an order that depends on the content alone.

    Folds, samples and bootstraps are drawn for groups, so a row of weight two is the same as
    two rows, a row of weight zero the same as none, and the order of rows doesn't matter.

    Attributes
    ----------
    group : int array, one entry per row
        The group of each row; -1 for rows of weight zero.
    first_row, outcome, weight : arrays, one entry per group

    Examples
    --------
    >>> columns = [np.array([1.0, 2.0, 1.0])]
    >>> groups = RowGroups.find(columns, np.array([0, 1, 0], dtype=np.int32), None)
    >>> groups.n_groups, bool(groups.group[0] == groups.group[2])
    (2, True)
    """

    group: NDArray[np.intp]
    first_row: NDArray[np.intp]
    outcome: NDArray[np.int32]
    weight: NDArray[np.float64]

    @classmethod
    def find(
        cls,
        columns: Sequence[NDArray[Any]],
        outcome: NDArray[np.int32],
        weight: NDArray[np.float64] | None,
    ) -> RowGroups:
        counts = np.ones(len(outcome)) if weight is None else weight
        kept = np.flatnonzero(counts > 0)
        mixed = np.zeros(len(kept), dtype=np.uint64)
        for column in [*columns, outcome]:
            mixed = _mix(mixed ^ _as_bits(column[kept]))
        _, first, group = np.unique(mixed, return_index=True, return_inverse=True)
        of_row = np.full(len(outcome), -1, dtype=np.intp)
        of_row[kept] = group
        return cls(
            of_row,
            kept[first],
            outcome[kept[first]],
            np.bincount(group, counts[kept]).astype(np.float64),
        )

    @property
    def n_groups(self) -> int:
        return len(self.first_row)

    def folds(self, n_folds: int, seed: int) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """(training rows, held-back rows) for each fold; classes are spread over the folds."""
        noise = np.random.default_rng(seed).random(self.n_groups)
        dealt = np.empty(self.n_groups, dtype=np.intp)
        dealt[np.lexsort((noise, self.outcome))] = np.arange(self.n_groups) % n_folds
        fold = np.where(self.group < 0, -1, dealt[self.group])
        for k in range(min(n_folds, self.n_groups)):
            yield np.flatnonzero((fold >= 0) & (fold != k)), np.flatnonzero(fold == k)

    def sample(self, share: float, seed: int) -> NDArray[np.bool_]:
        """A random share of the groups, as a mask of rows."""
        chosen = np.random.default_rng(seed).random(self.n_groups) < share
        return np.where(self.group < 0, False, chosen[self.group])

    def bootstrap(self, seed: int) -> NDArray[np.float64]:
        """How often a bootstrap draws each group: a Poisson of its weight."""
        return np.random.default_rng(seed).poisson(self.weight).astype(np.float64)


def _as_bits(column: NDArray[Any]) -> NDArray[np.uint64]:
    if column.dtype == np.float64:
        # Adding zero makes -0.0 and 0.0 one; all NaN are one already.
        same = np.where(np.isnan(column), np.nan, column + 0.0)
        return same.view(np.uint64)
    return column.astype(np.uint64)


def _mix(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    bits = (bits ^ (bits >> _SHIFT)) * _ODD
    bits = (bits ^ (bits >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return bits ^ (bits >> _SHIFT) ^ _ODD
