"""The rows of a stream as draws, in the order that a table in memory has them in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.counts import CodedRows, Draws, NumberEquality, hash_rows
from priorwise.streaming.passes import CodedBatch, ColumnsBatch, Pass

HashedBatch = tuple[int, NDArray[np.int32], NDArray[np.uint64], NDArray[Any], NDArray[Any]]
"""First row of a batch, class codes, hashes of its rows; and, where a number may tell copies,
hashes without that number and whether the rows have it."""


@dataclass(frozen=True, eq=False)
class StreamedDraws:
    """The rows of a stream as draws (see `Draws`).

    Random choices among draws are the same for a stream and for a table in memory. Takes 16 bytes
    a row, and about 50 bytes a row while the draws are found.
    """

    y: NDArray[np.int32]  # class code of each draw
    weight: NDArray[np.float64] | None  # number of rows of each draw; None if all have one
    draw_of_row: NDArray[np.intp]  # the draw that each row of the stream is, or is a copy of
    first_row: NDArray[np.intp]  # the first row of each draw

    @classmethod
    def find(
        cls,
        hashes: NDArray[np.uint64],
        y: NDArray[np.int32],
        may_be_copy: NDArray[np.bool_] | None = None,
    ) -> StreamedDraws:
        """Order rows with the given hashes and class codes, as `Draws.order` does."""
        draws = Draws.order(hashes, None, may_be_copy=may_be_copy)
        return cls(y[draws.row], draws.weight, draws.draw_of_row, draws.row)

    @property
    def n_draws(self) -> int:
        """Number of draws."""
        return len(self.first_row)

    def first_rows(self, draws: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the first row of each of some draws, in ascending order of rows."""
        return np.sort(self.first_row[draws])

    def all_rows(self, draws: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return all rows of some draws, in ascending order."""
        chosen = np.zeros(self.n_draws, dtype=bool)
        chosen[draws] = True
        return np.flatnonzero(chosen[self.draw_of_row])

    def spread(
        self, numbers: NDArray[Any], draws: NDArray[np.intp] | slice = slice(None)
    ) -> NDArray[Any]:
        """Return a number for each row: that of its draw at the first row of the draw, else 0.

        `draws` are those that the numbers are of, by default all.
        """
        kind = np.min_scalar_type(int(numbers.max(initial=0)))
        spread = np.zeros(len(self.draw_of_row), dtype=kind)
        spread[self.first_row[draws]] = numbers
        return spread

    def arrange(self, rows: CodedRows, draws: NDArray[np.intp]) -> CodedRows:
        """Return the first rows of some draws in the order of the draws, with their weights."""
        if len(rows.y) != len(draws):
            raise ValueError(
                f"checkpoint: a pass must have kept {len(draws)} rows, got {len(rows.y)}; remove "
                "the folder to begin again"
            )
        place = np.argsort(np.argsort(self.first_row[draws]))
        weight = None if self.weight is None else self.weight[draws]
        return replace(rows.take(place), weight=weight)


class HashPass(Pass[CodedBatch, list[HashedBatch], StreamedDraws]):
    """Hash every row, as `hash_rows` does, and order the rows.

    Of batches that are not cut numbers are hashed as they are, of others the codes are. `number`
    says whether equal rows are copies, which are then joined.
    """

    title = "order of rows"

    def __init__(self, number: NumberEquality | None = None) -> None:
        self.number = number

    def map(self, batch: CodedBatch) -> list[HashedBatch]:
        """Hash the rows of one batch."""
        columns: list[NDArray[Any]] = [*batch.rows.columns]
        if isinstance(batch, ColumnsBatch):
            columns = batch.columns.in_feature_order()
        others: NDArray[Any] = np.zeros(0)
        is_known: NDArray[Any] = np.zeros(0)
        if self.number is not None:
            place = self.number.place
            others = hash_rows([*columns[:place], *columns[place + 1 :]], batch.y)
            is_known = ~np.isnan(columns[place])
        return [(batch.first_row, batch.y, hash_rows(columns, batch.y), others, is_known)]

    def merge(self, a: list[HashedBatch], b: list[HashedBatch]) -> list[HashedBatch]:
        """Join two lists of batches."""
        return a + b

    def finish(self, state: list[HashedBatch]) -> StreamedDraws:
        """Order all rows."""
        batches = sorted(state, key=lambda batch: batch[0])
        _, *arrays = zip(*batches, strict=True)
        y, hashes, others, is_known = (np.concatenate(array) for array in arrays)
        joins = self.number is not None and self.number.tells_copies(hashes, others)
        return StreamedDraws.find(hashes, y, is_known if joins else None)
