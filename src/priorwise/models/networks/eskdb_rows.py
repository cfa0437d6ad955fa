"""Rows in memory that members of an ESKDB ensemble learn from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.common.progress import Progress
from priorwise.common.resources.deadline import Deadline
from priorwise.counts import CodedRows, mean_row_weights, measure_rows
from priorwise.counts.folds import number_groups
from priorwise.data.cuts import ValueCounts
from priorwise.data.encoding import TableEncoder
from priorwise.data.tables import Columns
from priorwise.models.networks.eskdb_members import (
    CountTrees,
    Learning,
    Measure,
    NetworkMember,
    Request,
    RowGroup,
    Score,
)
from priorwise.models.training_table import TrainingTable
from priorwise.structure.networks import (
    Counted,
    CountedWhenAsked,
    MemoryRows,
    NetworkCounts,
    check_contexts,
)

MIN_CELLS_TO_SHARE = 10_000
"""With fewer rows x features x classes most of the work is Python, and one thread learns all."""

LOSS_UNIT = 2.0**-20
"""Losses of trials are rounded to multiples of this, so that their sums are exact."""


class EnsembleRows(Protocol):
    """Rows that members learn from: a table in memory (`TableRows`) or a stream (`StreamRows`).

    Both give the same answers, since random draws are made over rows in the order of content.
    """

    n_classes: int
    feature_names: tuple[str, ...]
    n_threads: int
    """Number of threads that may learn members at once."""
    n_trials: int
    """Number of settings of which trial members are learnt together."""

    @property
    def y(self) -> NDArray[np.int32]:
        """Class codes of the rows, in the order of their content."""

    @property
    def row_groups(self) -> NDArray[np.intp] | None:
        """Groups of rows that are held out together; None if each row is a draw."""

    def count_values(self) -> ValueCounts:
        """Return the distinct values of the numeric features, with the rows of each class."""

    def leave_out_folds(self, folds: NDArray[np.intp], n_folds: int) -> list[RowGroup]:
        """Return the group of rows without each of the folds."""

    @property
    def is_half_over(self) -> bool:
        """Whether half of the time to learn in is over."""

    def group(self, members: Sequence[Learning]) -> list[Sequence[Learning]]:
        """Split members into groups whose members are learnt together."""

    def learn(self, members: Sequence[Learning], place: int | None = None) -> list[NetworkMember]:
        """Answer the requests of a group of members until they are learnt.

        `place` is that of the group in the ensemble, None for trials. After a time limit no further
        group is started, except for the first.
        """

    def score_trials(
        self, members: Sequence[NetworkMember], n_together: int
    ) -> NDArray[np.float64]:
        """Return the log-loss of the mean of each `n_together` of the members.

        The sum over the rows of the first fold, in units of `LOSS_UNIT`.
        """


class TableRows:
    """The rows of a table, in the order of their content, as `EnsembleRows`.

    No further member is started after `deadline`; `progress` counts members.
    """

    def __init__(
        self,
        table: TrainingTable,
        max_contexts: int,
        n_threads: int,
        deadline: Deadline,
        progress: Progress,
    ) -> None:
        self.table = table
        self.max_contexts = max_contexts
        self.deadline = deadline
        self.progress = progress
        self.n_classes = table.n_classes
        # One string for each feature, which all members share.
        names = table.encoder.feature_names or [f"x{i}" for i in range(len(table.feature_columns))]
        self.feature_names = tuple(str(name) for name in names)
        n_cells = table.n_rows * len(table.feature_columns) * table.n_classes
        self.n_threads = 1 if n_cells < MIN_CELLS_TO_SHARE else n_threads
        # Each trial has two members.
        self.n_trials = max(1, self.n_threads // 2)
        self._folds: NDArray[np.intp] = np.full(table.n_rows, -1)

    @property
    def y(self) -> NDArray[np.int32]:
        """Class codes of the rows."""
        return self.table.y

    @property
    def row_groups(self) -> NDArray[np.intp] | None:
        """Groups of rows that are held out together; None if each row is a draw."""
        return self.table.group

    def count_values(self) -> ValueCounts:
        """Return the distinct values of the numeric features, with the rows of each class."""
        return ValueCounts.count(self.table.ranked, self.table.y, self.n_classes, self.table.weight)

    def leave_out_folds(self, folds: NDArray[np.intp], n_folds: int) -> list[RowGroup]:
        """Return the group of rows without each of the folds."""
        values = ValueCounts.count(self.table.ranked, folds, n_folds, self.table.weight)
        self._folds = folds
        groups = []
        for fold in range(n_folds):
            kept, weight, group = folds != fold, self.table.weight, self.table.group
            row_weight = None
            if weight is not None:
                row_weight = mean_row_weights(self.table.y[kept], weight[kept], self.n_classes)
            kept_group = None if group is None else number_groups(group[kept])
            n_kept = int(np.count_nonzero(kept))
            groups.append(RowGroup(fold, n_kept, values.without(fold), row_weight, kept_group))
        return groups

    @property
    def is_half_over(self) -> bool:
        """Whether half of the time to learn in is over."""
        return self.deadline.half_over

    def group(self, members: Sequence[Learning]) -> list[Sequence[Learning]]:
        """Put each member into a group of its own."""
        return [[member] for member in members]

    def learn(self, members: Sequence[Learning], place: int | None = None) -> list[NetworkMember]:
        """Answer the requests of members until they are learnt, one after the other."""
        if place and self.deadline.over:
            return []
        learnt: list[NetworkMember] = []
        for member in members:
            rows, cut_points, answer = None, None, None
            try:
                while True:
                    request = member.send(answer)
                    if rows is None or request.cut_points is not cut_points:
                        cut_points = request.cut_points
                        rows = self._rows_without(request.fold).cut(cut_points)
                    answer = self._answer(request, rows)
            except StopIteration as end:
                learnt.append(end.value)
        if place is not None:
            self.progress.step(count=len(learnt))
        return learnt

    def score_trials(
        self, members: Sequence[NetworkMember], n_together: int
    ) -> NDArray[np.float64]:
        """Return the log-loss of the mean of each `n_together` of the members."""
        rows, losses = self.table.take(np.flatnonzero(self._folds == 0)), []
        for first in range(0, len(members), n_together):
            together = members[first : first + n_together]
            proba = average(together, rows.encoder, rows.columns, self.n_threads)
            losses.append(float(rows.weights @ round_log_loss(proba, rows.y)))
        return np.array(losses)

    def _rows_without(self, fold: int | None) -> TrainingTable:
        if fold is None:
            return self.table
        return self.table.take(np.flatnonzero(self._folds != fold))

    def _answer(self, request: Request, rows: CodedRows) -> Any:
        if isinstance(request, Measure):
            weight: NDArray[Any] | None = rows.weight
            if request.draws is not None:
                weight = request.draws if weight is None else request.draws * weight
            return measure_rows(rows, weight, max_features=request.max_features)
        if isinstance(request, CountTrees):
            trees = CountedWhenAsked(request.network, rows, self.max_contexts)
            return trees, rows.take(request.sample)
        if isinstance(request, Score):
            return MemoryRows(rows).select(request.scorer)
        counts = NetworkCounts.count(request.network, rows)
        check_contexts(counts.n_contexts, self.max_contexts)
        if request.sample is None:
            return Counted([counts])
        training = None
        if request.hold_back:
            others = np.delete(np.arange(rows.n_rows), request.sample)
            training = NetworkCounts.count(request.network, rows.take(others))
        return Counted([counts], training, rows.take(request.sample))


def average(
    members: Sequence[NetworkMember],
    encoder: TableEncoder,
    columns: Columns,
    n_threads: int = 1,
) -> NDArray[np.float64]:
    """Return the mean of the members' probabilities of rows that the encoder has read."""
    networks = [member.cut_network for member in members]
    places, codes = columns.lay_out()
    return _core.average_networks(
        networks, columns.values, encoder.missing_seen, places, codes, n_threads
    )


def round_log_loss(proba: NDArray[np.float64], y: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the log-loss of each row in whole units of `LOSS_UNIT`."""
    p = np.maximum(proba[np.arange(len(y)), y], 1e-12)
    return np.round(-np.log(p) / LOSS_UNIT)
