"""Passes run by the workers of a cluster, where the partitions of the rows are."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from priorwise.data.sources import Source, SourceError
from priorwise.data.sources.frame_part import FramePart
from priorwise.streaming.checkpoint import Checkpoint, Saved
from priorwise.streaming.passes import Coder, Pass
from priorwise.streaming.runners.local import PassRunner
from priorwise.streaming.survey_pass import SurveyPass

FAN_IN = 4
"""States merged by one task: few enough to fit a worker, many enough for a shallow tree."""


class ClusterRunner(PassRunner):
    """Run passes over partitions; an engine implements `_sum`.

    The state of every completed pass is kept in `checkpoint`.
    """

    def __init__(self, source: Source, *, checkpoint: Checkpoint | None = None) -> None:
        super().__init__(checkpoint)
        self.layout = replace(source, parts=())
        self.first_rows: dict[int, int] = {}

    def survey(self, work: SurveyPass) -> Any:
        """Run the first pass, which also finds the number of rows of each partition."""
        result, lengths = self._run(work, None)
        row = 0
        for number in sorted(lengths):
            self.first_rows[number] = row
            row += lengths[number]
        return result

    def run(self, work: Pass[Any, Any, Any], coder: Coder) -> Any:
        return self._run(work, coder)[0]

    def _run(self, work: Pass[Any, Any, Any], coder: Coder | None) -> tuple[Any, dict[int, int]]:
        number, saved = self._begin_pass(work.title)
        if saved is not None and saved.lengths is not None:
            return work.finish(saved.state), saved.lengths
        total = self._sum(work, coder)
        if total.state is None:
            raise ValueError("source must hold at least one row, got 0")
        lengths = total.lengths
        if self.checkpoint is not None:
            n_rows = sum(lengths.values())
            self.checkpoint.save(
                number, Saved(work.title, total.state, len(lengths), n_rows, True, lengths)
            )
        return work.finish(total.state), lengths

    def _sum(self, work: Pass[Any, Any, Any], coder: Coder | None) -> PartitionSum:
        """Return the merged state of all partitions."""
        raise NotImplementedError


class SharedWork:
    """A pass, and how its batches are made, on one thread of a worker."""

    def __init__(self, work: Pass[Any, Any, Any], coder: Coder | None, layout: Source) -> None:
        if coder is not None:
            coder = replace(coder, encoder=copy.copy(coder.encoder).set_params(n_jobs=1))
        self.work, self.coder, self.layout = work, coder, layout


@dataclass(frozen=True)
class PartitionSum:
    """The state of some partitions, None if they have no rows, and the rows of each."""

    state: Any
    lengths: dict[int, int]


def sum_partition(frame: Any, number: int, first_row: int, shared: SharedWork) -> PartitionSum:
    """Map and merge the batches of one partition; runs on a worker."""
    source = replace(shared.layout, parts=(FramePart(frame, f"partition {number}"),))
    work, coder, state, n_rows = shared.work, shared.coder, None, 0
    for batch in source.read():
        n_rows += batch.n_rows
        batch = replace(batch, first_row=first_row + batch.first_row)
        try:
            mapped = work.map(batch if coder is None else coder.code(batch))
        except (TypeError, ValueError) as error:
            raise SourceError(str(error), batch.place) from error
        state = mapped if state is None else work.merge(state, mapped)
    return PartitionSum(state, {number: n_rows})


def merge_sums(sums: Sequence[PartitionSum], shared: SharedWork) -> PartitionSum:
    """Merge the states of neighbouring partitions; runs on a worker."""
    state = None
    lengths: dict[int, int] = {}
    for one in sums:
        lengths |= one.lengths
        if one.state is not None:
            # Merging uses up the first state, which Dask may need again after a loss.
            state = (
                copy.deepcopy(one.state) if state is None else shared.work.merge(state, one.state)
            )
    return PartitionSum(state, lengths)
