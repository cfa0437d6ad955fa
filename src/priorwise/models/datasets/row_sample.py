"""Rows of a stream that are held in memory: all of them, or some drawn at random."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priorwise.models.training_table import TrainingTable
from priorwise.streaming.joint_pass import ColumnsBatch
from priorwise.streaming.passes import Pass
from priorwise.streaming.row_stream import RowStream

MIN_ROWS_OF_CLASS = 20
"""A class has at least so many rows in a sample, if there are as many."""
SPARE_DEVIATIONS = 6.0
"""More rows are kept than asked for by so many standard deviations, until the last is read."""

KeptBatch = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]
"""Places in the stream, class codes, codes of labels and numbers of the rows kept of a batch."""


@dataclass(frozen=True, eq=False)
class RowSample:
    """Codes of labels and numbers of rows, in the order of the stream.

    `first` are the places of the rows that were drawn first, `weight` their weights, None if all
    of them count the same. `places` are the places of all rows in the stream.
    """

    nominal_codes: NDArray[np.int32]
    values: NDArray[np.float64]
    y: NDArray[np.int32]
    first: NDArray[np.intp]
    weight: NDArray[np.float64] | None
    places: NDArray[np.int64]


@dataclass(frozen=True)
class SampleSizes:
    """Numbers of rows: those to learn from, and of pools others to judge and to boost."""

    n_learnt: int
    n_judges: int = 0
    n_boosted: int = 0


@dataclass(frozen=True, eq=False)
class SampledRows:
    """The rows of a stream that are held in memory, and how to find others.

    `sample` is the table of all rows held, `first` the places among them of those that members
    learn from, and `places` those of all of them in the stream. Rows whose hashes by the `seed` are
    at most `share` may be read besides.
    """

    stream: RowStream
    sample: TrainingTable
    first: NDArray[np.intp]
    places: NDArray[np.int64]
    share: float
    seed: int


class SamplePass(Pass[ColumnsBatch, list[KeptBatch], RowSample]):
    """Draw at most `max_rows` rows, the same share of every class, and `n_more` rows after them.

    A row is drawn by a hash of its place in the stream and the seed: batches, threads and
    interruptions do not matter. Classes that would have fewer than `MIN_ROWS_OF_CLASS` rows have
    more, which count less.
    """

    title = "rows to learn from"

    def __init__(
        self, class_count: NDArray[np.float64], max_rows: int, seed: int, n_more: int = 0
    ) -> None:
        self.seed = seed
        self.first_quota = share_rows(class_count, max_rows)
        self.quota = np.maximum(self.first_quota, share_rows(class_count, max_rows + n_more))
        share = min(1.0, max_rows / class_count.sum())
        self.weight_of_class = np.minimum(
            1.0, share * class_count / np.maximum(self.first_quota, 1)
        )
        # The share of each class to keep at first, as a bound on hashes.
        rate = self.quota / np.maximum(class_count, 1.0)
        spare = SPARE_DEVIATIONS * np.sqrt(rate * (1.0 - rate) / np.maximum(class_count, 1.0))
        self.bound = np.minimum(rate + spare, 1.0)

    def map(self, batch: ColumnsBatch) -> list[KeptBatch]:
        """Keep the rows of one batch whose hashes are small."""
        row = np.arange(batch.first_row, batch.first_row + batch.n_rows)
        kept = np.flatnonzero(hash_places(row, self.seed) <= self.bound[batch.y])
        columns = batch.columns.take(kept)
        return [(row[kept], batch.y[kept], columns.nominal_codes, columns.values)]

    def merge(self, a: list[KeptBatch], b: list[KeptBatch]) -> list[KeptBatch]:
        """Join two lists of batches."""
        return a + b

    def finish(self, state: list[KeptBatch]) -> RowSample:
        """Keep as many rows of each class as were asked for, those of the smallest hashes."""
        batches = sorted((b for b in state if len(b[0])), key=lambda batch: int(batch[0][0]))
        row, y = (np.concatenate([batch[i] for batch in batches]) for i in (0, 1))
        order = np.lexsort((hash_places(row, self.seed), y))
        starts = np.searchsorted(y[order], np.arange(len(self.quota)))
        rank = np.empty(len(y), dtype=np.int64)
        rank[order] = np.arange(len(y)) - starts[y[order]]
        kept = np.flatnonzero(rank < self.quota[y])
        # One feature at a time, so that the rows are not in memory twice.
        places = np.split(kept, np.searchsorted(kept, np.cumsum([len(b[0]) for b in batches])[:-1]))
        first = np.cumsum([0, *(len(batch[0]) for batch in batches[:-1])])
        columns = []
        for part in (2, 3):
            joined = np.empty((len(batches[0][part]), len(kept)), dtype=batches[0][part].dtype)
            for i, feature in enumerate(joined):
                np.concatenate(
                    [
                        batch[part][i, own - start]
                        for batch, own, start in zip(batches, places, first, strict=True)
                    ],
                    out=feature,
                )
            columns.append(joined)
        first = np.flatnonzero(rank[kept] < self.first_quota[y[kept]])
        weight = self.weight_of_class[y[kept][first]]
        weight_or_none = None if (weight == 1.0).all() else weight
        nominal_codes, values = columns
        return RowSample(nominal_codes, values, y[kept], first, weight_or_none, row[kept])


def share_rows(class_count: NDArray[np.float64], n_rows: int) -> NDArray[np.int64]:
    """Return how many of `n_rows` rows each class has; rare classes have more than their share.

    >>> share_rows(np.array([900.0, 80.0, 5.0]), 197)
    array([180,  20,   5])
    """
    share = min(1.0, n_rows / class_count.sum())
    if share == 1.0:
        return class_count.astype(np.int64)
    wanted = np.floor(share * class_count)
    return np.maximum(wanted, np.minimum(class_count, MIN_ROWS_OF_CLASS)).astype(np.int64)


def hash_places(row: NDArray[np.int64], seed: int) -> NDArray[np.float64]:
    """Return a random number from 0 to 1 for each place: the mixer of splitmix64."""
    with np.errstate(over="ignore"):
        z = row.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed % 2**64)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))).astype(np.float64) / 2.0**64
