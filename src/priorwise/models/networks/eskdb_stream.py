"""Rows read in passes that members of an ESKDB ensemble learn from."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.counts import Information, mean_row_weights
from priorwise.data.cuts import ValueCounts
from priorwise.data.encoding import TableEncoder
from priorwise.data.survey import ValueSummary
from priorwise.models.networks.eskdb_members import (
    Count,
    CountTrees,
    Learning,
    Measure,
    NetworkMember,
    Request,
    RowGroup,
)
from priorwise.models.networks.eskdb_rows import average, round_log_loss
from priorwise.streaming.joint_pass import (
    ColumnsBatch,
    ColumnsCoder,
    FoldValuePass,
    MemberPass,
    learn_together,
)
from priorwise.streaming.passes import CountPass, PairPass, Pass, SelectionPass
from priorwise.streaming.row_stream import RowStream, join_information, plan_pair_passes
from priorwise.streaming.streamed_draws import StreamedDraws
from priorwise.structure.networks import Counted, NetworkCounts, check_pairs


class StreamRows:
    """The rows of a stream as `EnsembleRows`: members that learn in step share passes.

    What depends on single rows is kept for all of them: the draw and the fold (9 bytes a row) and,
    for each member, how often its bootstrap draws the row (usually one byte). `n_members` members
    share the memory limit; trial members of `n_trials` settings are learnt together.
    """

    def __init__(
        self, stream: RowStream, max_contexts: int, *, n_members: int, n_trials: int
    ) -> None:
        self.stream = stream
        self.max_contexts = max_contexts
        self.n_members = n_members
        self.n_threads = 1
        self.n_trials = n_trials
        self.n_classes = stream.n_classes
        self.feature_names = tuple(stream.feature_names)
        self.encoder = stream.encoder
        self._folds: NDArray[np.int8] | None = None
        self._kept: list[NDArray[np.intp]] = []
        stream.runner.use_codes(ColumnsCoder(stream.encoder, stream.classes))

    @cached_property
    def draws(self) -> StreamedDraws:
        """The rows in the order of their content; found in one pass."""
        return self.stream.find_draws(self.encoder)

    @property
    def y(self) -> NDArray[np.int32]:
        """Class codes of the draws."""
        return self.draws.y

    @property
    def row_groups(self) -> None:
        """Groups of rows that are held out together: a stream has none but copies."""
        return None

    def count_values(self) -> ValueCounts:
        """Return the distinct values of the numeric features, with the rows of each class."""
        return _as_value_counts(self.stream.summaries)

    def leave_out_folds(self, folds: NDArray[np.intp], n_folds: int) -> list[RowGroup]:
        """Return the group of rows without each of the folds."""
        draws = self.draws
        self._folds = folds.astype(np.int8)[draws.draw_of_row]
        self._kept = [np.flatnonzero(folds != fold) for fold in range(n_folds)]
        summaries: list[ValueSummary] = []
        if self.stream.summaries:
            max_bytes = self.stream.plan.max_value_bytes
            work = FoldValuePass(self._folds, n_folds, max_bytes)
            summaries = self.stream.runner.run(work)
        values = _as_value_counts(summaries)
        return [
            RowGroup(
                fold,
                len(kept),
                values.without(fold),
                class_row_weight=None
                if draws.weight is None
                else mean_row_weights(draws.y[kept], draws.weight[kept], self.n_classes),
            )
            for fold, kept in enumerate(self._kept)
        ]

    @property
    def is_half_over(self) -> bool:
        """Whether half of the time to learn in is over; there is no time limit."""
        return False

    def group(self, members: Sequence[Learning]) -> list[Sequence[Learning]]:
        """Put all members into one group, which shares passes."""
        return [members]

    def learn(self, members: Sequence[Learning], place: int | None = None) -> list[NetworkMember]:
        """Answer the requests of members until they are learnt, in joint passes."""
        passes = [self._ask_for_passes(member) for member in members]
        return learn_together(self.stream.runner, self.encoder, passes, self._folds)

    def score_trials(
        self, members: Sequence[NetworkMember], n_together: int
    ) -> NDArray[np.float64]:
        """Return the log-loss of the mean of each `n_together` of the members, in one pass."""
        assert self._folds is not None
        trials = [members[i : i + n_together] for i in range(0, len(members), n_together)]
        losses: NDArray[np.float64] = self.stream.runner.run(
            TrialPass(self.encoder, self.n_classes, trials, self._folds)
        )
        return losses

    def _ask_for_passes(self, member: Learning) -> Generator[MemberPass, Any, NetworkMember]:
        answer = None
        while True:
            try:
                request = member.send(answer)
            except StopIteration as end:
                learnt: NetworkMember = end.value
                return learnt
            answer = yield from self._answer(request)

    def _answer(self, request: Request) -> Generator[MemberPass, Any, Any]:
        if isinstance(request, Measure):
            return (yield from self._measure(request))
        if isinstance(request, Count):
            return (yield from self._count(request))
        if isinstance(request, CountTrees):
            counted = yield from self._count(
                Count(request.cut_points, request.network, request.fold, request.sample)
            )
            return counted.counts[0], counted.rows
        weight = None
        if self.stream.find_telling_number() is not None and self.draws.weight is not None:
            # Copies are left out together: the first of them stands for all, with their number.
            weight = self._spread_over_rows(self.draws.weight)
        sums = yield MemberPass(request.cut_points, SelectionPass(request.scorer), weight=weight)
        return request.scorer.choose(sums, float(self.stream.n_rows))

    def _measure(self, request: Measure) -> Generator[MemberPass, Any, Information]:
        ignores_missing = self.encoder.ignores_missing
        arities = self.encoder.arities(request.cut_points) + int(ignores_missing)
        check_pairs(len(arities))
        weight = None if request.draws is None else self._spread_draws(request)
        max_cells = max(1, self.stream.plan.max_cells // self.n_members)
        results = []
        for features in plan_pair_passes(arities, self.n_classes, max_cells):
            counts = yield MemberPass(
                request.cut_points, PairPass(features, 2**62, ignores_missing), request.fold, weight
            )
            results.append((features, counts.information(last_is_missing=ignores_missing)))
        return join_information(results)

    def _count(self, request: Count) -> Generator[MemberPass, Any, Counted]:
        left_out = first_rows = places = None
        if request.sample is not None:
            places = request.sample
            if request.fold is not None:
                places = self._kept[request.fold][places]
            first_rows = self.draws.first_rows(places)
            if request.hold_back:
                left_out = self.draws.all_rows(places)
        work = CountPass(
            [request.network],
            self.encoder.arities(request.cut_points),
            self.n_classes,
            left_out=left_out,
            sample=first_rows,
            **self.stream.limit_contexts(self.max_contexts, self.n_members),
        )
        result = yield MemberPass(request.cut_points, work, request.fold)
        (counts,) = result.counts
        if places is None:
            return Counted([counts])
        rows = self.draws.arrange(result.sample, places)
        if not request.hold_back:
            return Counted([counts], None, rows)
        return Counted([counts.merge(NetworkCounts.count(request.network, rows))], counts, rows)

    def _spread_draws(self, request: Measure) -> NDArray[Any]:
        """Return how often each row of the stream counts: the first of copies counts for all."""
        assert request.draws is not None
        kept = slice(None) if request.fold is None else self._kept[request.fold]
        times = request.draws
        if self.draws.weight is not None:
            times = times * self.draws.weight[kept].astype(np.int64)
        return self._spread_over_rows(times, kept)

    def _spread_over_rows(
        self, of_draws: NDArray[Any], kept: NDArray[np.intp] | slice = slice(None)
    ) -> NDArray[Any]:
        """Return a number for each row of the stream: that of its draw at the first row, else 0."""
        kind = np.min_scalar_type(int(of_draws.max(initial=0)))
        spread = np.zeros(self.stream.n_rows, dtype=kind)
        spread[self.draws.first_row[kept]] = of_draws
        return spread


class TrialPass(Pass[ColumnsBatch, NDArray[np.float64], NDArray[np.float64]]):
    """Summed log-loss of small ensembles, the trials, on the rows of the first fold."""

    title = "trials"

    def __init__(
        self,
        encoder: TableEncoder,
        n_classes: int,
        trials: Sequence[Sequence[NetworkMember]],
        folds: NDArray[np.int8],
    ) -> None:
        self.encoder = encoder
        self.n_classes = n_classes
        self.trials = [list(members) for members in trials]
        self.folds = folds

    def map(self, batch: ColumnsBatch) -> NDArray[np.float64]:
        """Score the rows of one batch."""
        folds = self.folds[batch.first_row : batch.first_row + batch.n_rows]
        held = np.flatnonzero(folds == 0)
        columns, y = batch.columns.take(held), batch.y[held]
        losses = np.zeros(len(self.trials))
        if len(held):
            for i, members in enumerate(self.trials):
                proba = average(members, self.encoder, columns)
                losses[i] = round_log_loss(proba, y).sum()
        return losses

    def merge(self, a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
        """Add the losses of two states."""
        return a + b

    def finish(self, state: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the losses."""
        return state


def _as_value_counts(summaries: Sequence[ValueSummary]) -> ValueCounts:
    return ValueCounts.join(
        [summary.values() for summary in summaries], [summary.counts() for summary in summaries]
    )
