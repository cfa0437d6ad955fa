"""Rows of a source in bins, with what a pool predicts for them: what boosting learns from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from priorwise.data.encoding import TableEncoder
from priorwise.models.datasets.fitting import hash_places
from priorwise.models.pool.weights import PoolWeights
from priorwise.models.trees.boosting_bins import BoostingBins
from priorwise.models.trees.offset_boosting import CodedOffsets
from priorwise.steps.step import Step
from priorwise.streaming.joint_pass import ColumnsBatch
from priorwise.streaming.passes import Pass

CodedBlock = tuple[int, NDArray[np.uint8], NDArray[np.int32], NDArray[np.float32]]
"""Place of the first row in the stream, bins, class codes and scores of some rows."""


class OffsetPass(Pass[ColumnsBatch, list[CodedBlock], CodedOffsets]):
    """Predict rows that members have not seen, and put their features into bins.

    Rows at the places `left_out` are not taken, and of the others those whose hashes are at most
    `share`: batches, threads and interruptions do not matter. `last` are blocks to put behind them.
    """

    title = "rows to boost"

    def __init__(
        self,
        members: Sequence[Step],
        weights: PoolWeights,
        encoder: TableEncoder,
        bins: BoostingBins,
        *,
        left_out: NDArray[np.int64],
        share: float,
        seed: int,
        last: Sequence[CodedBlock] = (),
    ) -> None:
        self.members = list(members)
        self.weights = weights
        self.encoder = encoder
        self.bins = bins
        self.left_out = left_out
        self.share = share
        self.seed = seed
        self.last = list(last)

    def map(self, batch: ColumnsBatch) -> list[CodedBlock]:
        """Predict the rows of one batch."""
        row = np.arange(batch.first_row, batch.first_row + batch.n_rows)
        is_taken = hash_places(row, self.seed) <= self.share
        first, end = np.searchsorted(self.left_out, [row[0], row[0] + batch.n_rows])
        is_taken[self.left_out[first:end] - batch.first_row] = False
        taken = np.flatnonzero(is_taken)
        if len(taken) == 0:
            return []
        columns = batch.columns.take(taken)
        proba = self.weights.pool([member.predict(columns) for member in self.members])
        codes = self.bins.code(columns.in_feature_order())
        return [(batch.first_row, codes, batch.y[taken], CodedOffsets.score_of(proba))]

    def merge(self, a: list[CodedBlock], b: list[CodedBlock]) -> list[CodedBlock]:
        """Join two lists of blocks."""
        return a + b

    def finish(self, state: list[CodedBlock]) -> CodedOffsets:
        """Join all blocks in their order; the list is used up, so that no row is held twice."""
        blocks = [*sorted(state, key=lambda block: block[0]), *self.last]
        state.clear()
        n_rows = sum(len(block[1]) for block in blocks)
        bins = np.empty((n_rows, blocks[0][1].shape[1]), dtype=np.uint8)
        y = np.empty(n_rows, dtype=np.int32)
        score = np.empty((n_rows, blocks[0][3].shape[1]), dtype=np.float32)
        blocks.reverse()
        end = 0
        while blocks:
            block = blocks.pop()
            begin, end = end, end + len(block[1])
            bins[begin:end], y[begin:end], score[begin:end] = block[1:]
        return CodedOffsets(bins, y, None, score)
