"""Rows that no member of a pool has learnt from: weights and boosting learn from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.numeric import gen_batches
from priorwise.data.encoding import TableEncoder
from priorwise.models.correction import (
    BoostingBins,
    BoostingPlan,
    CodedOffsets,
    OffsetBoosting,
)
from priorwise.models.datasets.fitting import (
    SampledRows,
    SampleSizes,
    count_affordable,
    hash_places,
)
from priorwise.models.fitted import BLOCK_ROWS
from priorwise.models.memory import KEPT_SHARE, TableSize
from priorwise.models.pool.weights import PoolWeights
from priorwise.models.training_table import TrainingTable
from priorwise.steps.step import Step
from priorwise.streaming.passes import ColumnsBatch, Pass

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


MEMBER_SHARE, POOL_SHARE, MAX_MEMBER_ROWS = 0.8, 0.4, 250_000
"""When the rows do not fit in memory, members learn from as many as `MEMBER_SHARE` of the limit has
room for, at most `MAX_MEMBER_ROWS`, and weights from as many as `POOL_SHARE` has room for."""

JUDGE_SHARE, JUDGE_ROOM, MAX_JUDGE_ROWS = 0.2, 0.25, 300_000
"""Rows held back to learn weights from and to judge boosting by: `JUDGE_SHARE` of the others, in at
most `JUDGE_ROOM` of the memory that is left, and at most `MAX_JUDGE_ROWS`."""

ROUNDS_FACTOR, MAX_GROWN_ROWS = 5, 3_000_000
"""Boosting may take `ROUNDS_FACTOR` times the rounds that it may in memory, since there is more to
learn from many rows. A tree is grown from at most `MAX_GROWN_ROWS` rows, drawn for it."""

MIN_WEIGHT_CHANGE = 0.01
"""Weights of classes that are all this near to one are left out."""


@dataclass(eq=False)
class UnseenRows:
    """Rows drawn from a stream, some of which members learn from."""

    rows: SampledRows
    n_boosted: int = 0
    """Number of further rows of the stream that boosting has learnt from."""

    def predict(
        self,
        members: Mapping[str, Any],
        held_out: Mapping[str, NDArray[np.float64]],
        table: TrainingTable,
    ) -> tuple[dict[str, NDArray[np.float64]], TrainingTable]:
        """Return what members predict for all rows of the sample, and the table of these rows.

        For rows of `table`, which they have learnt from, that is `held_out`. The table has weights
        by which the classes have their shares.
        """
        sample, first = self.rows.sample, self.rows.first
        rest = np.delete(np.arange(sample.n_rows), first)
        result = {name: np.full((sample.n_rows, sample.n_classes), np.nan) for name in members}
        for name, known in held_out.items():
            result[name][first] = table.to_given_rows(known)
        for block in gen_batches(len(rest), BLOCK_ROWS):
            columns = sample.columns.take(rest[block])
            for name, member in members.items():
                result[name][rest[block]] = member.step_.predict(columns)
        is_known = np.all([np.isfinite(proba[:, 0]) for proba in result.values()], axis=0)
        return result, replace(sample, weight=self._weigh(sample.y, sample.y[is_known]))

    def boost(
        self,
        members: Mapping[str, Any],
        weights: PoolWeights,
        table: TrainingTable,
        pooled: NDArray[np.float64],
        plan: BoostingPlan,
        *,
        n_threads: int,
        **options: Any,
    ) -> tuple[OffsetBoosting | None, NDArray[np.float64]]:
        """Boost what a pool predicts for further rows of the stream, which are held in bins.

        Rows of the sample that no member has learnt from judge the booster; the others, of which
        `pooled` is out of fold, are learnt from. Returns the corrected probabilities of the judges,
        NaN for other rows.
        """
        rows = self.rows
        columns = table.feature_columns
        bins = BoostingBins.choose(columns, n_threads)
        known = np.isfinite(pooled).all(axis=1)
        is_first = np.isin(np.arange(table.n_rows), rows.first)
        judges = np.flatnonzero(known & ~is_first)
        last: list[CodedBlock] = []
        for places in (np.flatnonzero(known & is_first), judges):
            codes = bins.code([column[places] for column in columns])
            last.append((0, codes, table.y[places], CodedOffsets.score_of(pooled[places])))
        coded = rows.stream.run_uncut(
            OffsetPass(
                [member.step_ for member in members.values()],
                weights,
                table.encoder,
                bins,
                left_out=rows.places,
                share=rows.share,
                seed=rows.seed,
                last=last,
            )
        )
        self.n_boosted = len(coded.y) - int(known.sum())
        coded = replace(coded, weight=self._weigh(coded.y, coded.y))
        plan = replace(
            plan,
            max_rounds=ROUNDS_FACTOR * plan.max_rounds,
            row_share=min(plan.row_share, MAX_GROWN_ROWS / len(coded.y)),
        )
        boosting = OffsetBoosting.fit_coded(
            bins, coded, len(judges), plan, n_threads=n_threads, **options
        )
        boosted = np.full(pooled.shape, np.nan)
        if boosting is not None:
            own = [column[judges] for column in columns]
            boosted[judges] = boosting.predict_proba(own, pooled[judges], n_threads)
        return boosting, boosted

    def _weigh(self, y: NDArray[np.int32], known: NDArray[np.int32]) -> NDArray[np.float64] | None:
        """Return weights of rows by which the classes of known ones have the shares of all rows."""
        class_count = self.rows.stream.class_count
        n_known = np.bincount(known, minlength=len(class_count))
        of_class = class_count / class_count.sum() * n_known.sum() / np.maximum(n_known, 1)
        return None if np.abs(of_class - 1.0).max() < MIN_WEIGHT_CHANGE else of_class[y]


def plan_sizes(pool: Any, size: TableSize, limit: float, n_members: int) -> SampleSizes:
    """Return how many rows the members, the weights and the boosting of a pool may learn from."""
    # Bytes of a row that only weights and boosting learn from: while members learn, and later.
    held = 8.0 * size.n_numeric + 4.0 * len(size.n_labels) + 12.0
    scores = 24.0 * (n_members + 3) * size.n_classes
    at_work = 2.0 * held + 2.0 * size.n_features + scores + 50.0
    n_rows = count_affordable(pool, size, MEMBER_SHARE * limit)
    n_rows = max(1, min(n_rows, MAX_MEMBER_ROWS, int(POOL_SHARE * limit / at_work)))
    taken = pool.estimate_bytes(replace(size, n_rows=n_rows))
    room = limit - KEPT_SHARE * taken - n_rows * at_work
    n_rest = size.n_rows - n_rows
    n_judges = int(min((limit - taken) / held, JUDGE_ROOM * room / at_work))
    n_judges = max(0, min(n_judges, MAX_JUDGE_ROWS, int(JUDGE_SHARE * n_rest)))
    if n_judges == 0:
        return SampleSizes(n_rows)
    # Rows that boosting learns from in bins: as they are held, and while trees grow.
    width = 1 if size.n_classes == 2 else size.n_classes
    boosted_row = size.n_features + 20.0 * width + 24.0
    n_boosted = int((room - n_judges * at_work) / boosted_row)
    return SampleSizes(n_rows, n_judges, min(n_boosted, n_rest - n_judges))
