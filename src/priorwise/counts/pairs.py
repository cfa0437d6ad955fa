"""Class x feature x feature counts that are kept and merged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priorwise import _core
from priorwise.counts.information import (
    Information,
    check_total,
    split_weights,
    sum_weights,
    total_weight,
)


class PairCounts:
    """Counts of (class, value, value) for every pair of features, kept and merged.

    Counts are sums over rows, so batches add up: the information of a stream equals that of the
    same rows at once, bit for bit (for real weights to rounding). Values and classes that a later
    batch brings enlarge the tables. Codes must be known: -1 is refused here.

    The tables hold ``n_classes * sum_{i<j} arity_i * arity_j`` cells of 8 bytes; more than
    `max_cells` raise a MemoryError. If all rows are in memory, :func:`measure_information` needs no
    tables.

    >>> counts = PairCounts()
    >>> counts.add(np.array([[0, 0, 1], [0, 1, 0]], dtype=np.int32), np.array([0, 0, 1]), [2, 2], 2)
    >>> counts.table(0, 1)[0].tolist()
    [[1, 1], [0, 0]]
    """

    def __init__(self, max_cells: int = 2**28) -> None:
        self.max_cells = max_cells
        self.arities: NDArray[np.int32] = np.zeros(0, dtype=np.int32)
        self.n_classes = 0
        self.n_rows = 0
        self._margins: NDArray[Any] = np.zeros(0, dtype=np.int64)
        self._cells: NDArray[Any] = np.zeros(0, dtype=np.int64)

    def add(
        self,
        codes: NDArray[np.int32] | Sequence[NDArray[np.int32]],
        classes: ArrayLike,
        arities: ArrayLike,
        n_classes: int,
        sample_weight: ArrayLike | None = None,
        *,
        n_threads: int = 1,
    ) -> None:
        """Add a batch of coded rows; arities and classes may have grown since the last one.

        Codes are an array of shape (n_features, n_rows) or a list of columns.
        """
        if isinstance(codes, np.ndarray):
            codes = np.ascontiguousarray(codes, dtype=np.int32)
        n_rows = len(codes[0]) if len(codes) else 0
        whole, real = split_weights(sample_weight)
        check_total(self._total_weight() + total_weight(n_rows, whole, real))
        self._grow(np.asarray(arities, dtype=np.int32), n_classes)
        if real is not None and self._cells.dtype == np.int64:
            self._margins = self._margins.astype(np.float64)
            self._cells = self._cells.astype(np.float64)
        if whole is not None and self._cells.dtype == np.float64:
            whole, real = None, np.asarray(sample_weight, dtype=np.float64)
        _core.add_pair_counts(
            codes,
            self.arities,
            np.ascontiguousarray(classes, dtype=np.int32),
            self.n_classes,
            whole,
            real,
            self._margins,
            self._cells,
            n_threads,
        )
        self.n_rows += n_rows

    def merge(self, other: PairCounts) -> None:
        """Add the counts of another stream over the same features."""
        check_total(self._total_weight() + other._total_weight())
        arities = other.arities if not len(self.arities) else self.arities
        self._grow(np.maximum(arities, other.arities), max(self.n_classes, other.n_classes))
        other._grow(self.arities, self.n_classes)
        if other._cells.dtype == np.float64 and self._cells.dtype == np.int64:
            self._margins = self._margins.astype(np.float64)
            self._cells = self._cells.astype(np.float64)
        self._margins += other._margins
        self._cells += other._cells
        self.n_rows += other.n_rows

    def recode(
        self,
        codes: Sequence[NDArray[np.intp]],
        arities: ArrayLike,
        classes: NDArray[np.intp],
        n_classes: int,
    ) -> PairCounts:
        """The counts where value v of feature i is called ``codes[i][v]``, class c ``classes[c]``.

        Values that get the same code are counted together.
        """
        recoded = PairCounts(self.max_cells)
        recoded._grow(np.asarray(arities, dtype=np.int32), n_classes)
        recoded.n_rows = self.n_rows
        recoded._margins = recoded._margins.astype(self._margins.dtype)
        recoded._cells = recoded._cells.astype(self._cells.dtype)
        by_class = classes[:, None, None]
        own, wide = self.arities.tolist(), recoded.arities.tolist()
        at = to = 0
        for i, of_i in enumerate(codes):
            np.add.at(recoded.margin(i), np.ix_(classes, of_i), self.margin(i))
            # The tables of pairs lie behind each other, in this order.
            for j in range(i + 1, len(codes)):
                shape = self.n_classes, own[i], own[j]
                room = n_classes, wide[i], wide[j]
                table = self._cells[at : (at := at + math.prod(shape))].reshape(shape)
                into = recoded._cells[to : (to := to + math.prod(room))].reshape(room)
                np.add.at(into, (by_class, of_i[:, None], codes[j]), table)
        return recoded

    def to_fields(self) -> dict[str, Any]:
        """Return all that the counts consist of, as numbers and arrays."""
        return {
            "max_cells": self.max_cells,
            "arities": self.arities,
            "n_classes": self.n_classes,
            "n_rows": self.n_rows,
            "margins": self._margins,
            "cells": self._cells,
        }

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> PairCounts:
        """Make counts of what `to_fields` returned; checked, since it may come from a file."""
        counts = cls(int(fields["max_cells"]))
        counts.arities = np.asarray(fields["arities"], dtype=np.int32)
        counts.n_classes, counts.n_rows = int(fields["n_classes"]), int(fields["n_rows"])
        if counts.arities.ndim != 1 or min(counts.arities.min(initial=0), counts.n_classes) < 0:
            raise ValueError("arities and n_classes must not be negative")
        sizes = _count_cells(counts.arities, counts.n_classes)
        for name, size in zip(("margins", "cells"), sizes, strict=True):
            given = fields[name]
            if given.shape != (size,) or given.dtype not in (np.int64, np.float64):
                raise ValueError(f"{name} must have {size} numbers, got {given.shape}")
        counts._margins, counts._cells = fields["margins"], fields["cells"]
        return counts

    def information(self, *, n_threads: int = 1, last_is_missing: bool = False) -> Information:
        """Return what :func:`measure_information` gives for all rows added so far.

        With `last_is_missing` the last value of each feature stands for missing values.
        """
        if not len(self.arities):
            raise ValueError("PairCounts holds no rows; call add first")
        n_terms = self.n_rows if self._cells.dtype == np.float64 else 0
        mutual, conditional, n_seen = _core.information_of_counts(
            self._margins, self._cells, self.arities, self.arities - int(last_is_missing),
            self.n_classes, n_terms, n_threads,
        )  # fmt: skip
        total = float(self.margin(0).sum())
        return Information(
            mutual, conditional, n_seen.reshape(len(self.arities), self.n_classes), total
        )

    def _total_weight(self) -> float:
        return sum_weights(self.margin(0)) if len(self.arities) else 0.0

    def margin(self, i: int) -> NDArray[Any]:
        """Return the counts of feature i, shape (n_classes, arity_i)."""
        start = int(self.arities[:i].sum()) * self.n_classes
        size = int(self.arities[i]) * self.n_classes
        return self._margins[start : start + size].reshape(self.n_classes, -1)

    def table(self, i: int, j: int) -> NDArray[Any]:
        """Return the counts of features i < j, shape (n_classes, arity_i, arity_j)."""
        d = len(self.arities)
        if not 0 <= i < j < d:
            raise IndexError(f"i and j must satisfy 0 <= i < j < {d}, got {i} and {j}")
        arities = self.arities.astype(np.int64)
        after = arities[::-1].cumsum()[::-1] - arities
        start = int((arities[:i] * after[:i]).sum() + arities[i] * arities[i + 1 : j].sum())
        shape = (self.n_classes, int(arities[i]), int(arities[j]))
        start *= self.n_classes
        return self._cells[start : start + int(np.prod(shape))].reshape(shape)

    def _grow(self, arities: NDArray[np.int32], n_classes: int) -> None:
        if np.array_equal(arities, self.arities) and n_classes == self.n_classes:
            return
        if len(self.arities) and len(arities) != len(self.arities):
            raise ValueError(
                f"arities must have {len(self.arities)} entries as before, got {len(arities)}"
            )
        if len(self.arities) and ((arities < self.arities).any() or n_classes < self.n_classes):
            raise ValueError("arities and n_classes must not shrink from batch to batch")
        n_margins, n_cells = _count_cells(arities, n_classes)
        if n_cells > self.max_cells:
            raise MemoryError(
                f"pair counts need {n_cells} cells, max_cells allows {self.max_cells}: "
                "drop or group features of many values, or measure all rows at once"
            )
        old = PairCounts(self.max_cells)
        old.__dict__.update(self.__dict__)
        self.arities, self.n_classes = np.ascontiguousarray(arities), n_classes
        self._margins = np.zeros(n_margins, dtype=old._margins.dtype)
        self._cells = np.zeros(n_cells, dtype=old._cells.dtype)
        for i in range(len(old.arities)):
            self.margin(i)[: old.n_classes, : old.arities[i]] = old.margin(i)
            for j in range(i + 1, len(old.arities)):
                self.table(i, j)[: old.n_classes, : old.arities[i], : old.arities[j]] = old.table(
                    i, j
                )


def _count_cells(arities: NDArray[np.int32], n_classes: int) -> tuple[int, int]:
    """Return how many counts there are of one feature each, and of two."""
    sizes = arities.tolist()
    total = sum(sizes)
    return n_classes * total, n_classes * ((total**2 - sum(size**2 for size in sizes)) // 2)
