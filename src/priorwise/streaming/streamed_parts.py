"""The distinct rows of a stream, split into parts as those of a table in memory are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.counts import CodedRows, RowParts, hash_rows
from priorwise.data.tables import TableEncoder
from priorwise.streaming.passes import Pass

HashedBatch = tuple[int, NDArray[np.uint64], NDArray[np.int32]]
"""First row, hashes and class codes of a batch."""


@dataclass(frozen=True, eq=False)
class StreamedParts:
    """The parts of the distinct rows of a stream (see `RowParts`).

    Random draws over parts are the same for a stream and for a table in memory. Takes 16 bytes a
    row, and about 100 bytes a row while the parts are found.
    """

    y: NDArray[np.int32]  # class code of each part
    weight: NDArray[np.float64] | None  # number of rows of each part; None if all have one
    part_of_row: NDArray[np.intp]  # the part that each row of the stream belongs to
    row_of_part: NDArray[np.intp]  # the first row of each part

    @classmethod
    def find(cls, hashes: NDArray[np.uint64], y: NDArray[np.int32]) -> StreamedParts:
        """Split rows with the given hashes and class codes."""
        parts = RowParts.split(hashes, None)
        part_of_row = parts.deal_rows()
        row_of_part = np.empty(len(parts.row), dtype=np.intp)
        # Of several rows the one that is written last stays: the first row.
        row_of_part[part_of_row[::-1]] = np.arange(len(y))[::-1]
        return cls(y[row_of_part], parts.weight, part_of_row, row_of_part)

    @property
    def n_parts(self) -> int:
        """Number of parts."""
        return len(self.row_of_part)

    def first_rows(self, parts: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the first row of each of some parts, in ascending order of rows."""
        return np.sort(self.row_of_part[parts])

    def all_rows(self, parts: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return all rows of some parts, in ascending order."""
        chosen = np.zeros(self.n_parts, dtype=bool)
        chosen[parts] = True
        return np.flatnonzero(chosen[self.part_of_row])

    def arrange(self, rows: CodedRows, parts: NDArray[np.intp]) -> CodedRows:
        """Return the first rows of some parts in the order of the parts, with their weights."""
        if len(rows.y) != len(parts):
            raise ValueError(
                f"checkpoint: a pass must have kept {len(parts)} rows, got {len(rows.y)}; remove "
                "the folder to begin again"
            )
        place = np.argsort(np.argsort(self.row_of_part[parts]))
        weight = None if self.weight is None else self.weight[parts]
        return replace(rows.take(place), weight=weight)


class HashPass(Pass[Any, list[HashedBatch], StreamedParts]):
    """Hash every row, as `hash_rows` does, and split the rows into parts.

    With an encoder, batches are not cut: numbers are hashed as they are. Without it the codes are.
    """

    title = "distinct rows"

    def __init__(self, encoder: TableEncoder | None = None) -> None:
        self.encoder = encoder

    def map(self, batch: Any) -> list[HashedBatch]:
        """Hash the rows of one batch."""
        rows: CodedRows = batch.rows
        columns = rows.columns
        if self.encoder is not None:
            columns = self.encoder.in_feature_order(batch.columns)
        return [(batch.first_row, hash_rows(columns, rows.y), rows.y)]

    def merge(self, a: list[HashedBatch], b: list[HashedBatch]) -> list[HashedBatch]:
        """Join two lists of batches."""
        return a + b

    def finish(self, state: list[HashedBatch]) -> StreamedParts:
        """Split all rows."""
        batches = sorted(state, key=lambda batch: batch[0])
        hashes = np.concatenate([hashes for _, hashes, _ in batches])
        return StreamedParts.find(hashes, np.concatenate([y for _, _, y in batches]))
