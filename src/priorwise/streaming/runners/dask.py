"""Passes run where the partitions of a Dask frame are: only sums travel."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from priorwise.data.sources import Source, SourceError
from priorwise.data.sources.frame_part import DaskPart, FramePart
from priorwise.smoothing.base import spread_smoothing
from priorwise.streaming.checkpoint import Checkpoint, Saved
from priorwise.streaming.passes import Coder, Pass
from priorwise.streaming.runners.base import PassRunner
from priorwise.streaming.survey_pass import SurveyPass

# States merged by one task: few enough to fit a worker, many enough for a shallow tree.
FAN_IN = 4


class DaskRunner(PassRunner):
    """Run passes over a Dask frame on the workers of a cluster.

    A worker reads, codes and counts the rows of its partitions in batches. The workers also merge
    the states of the partitions, `FAN_IN` at a time, and only the last state comes to this process.
    Dask schedules the work: an active `distributed.Client`, or the scheduler that is configured. If
    a worker is lost, Dask repeats its work. A merge copies the states that it changes, so repeated
    work gives the same result. The state of every completed pass is kept in `checkpoint`.
    """

    def __init__(self, source: Source, *, checkpoint: Checkpoint | None = None) -> None:
        super().__init__(checkpoint)
        part = source.parts[0]
        assert isinstance(part, DaskPart)
        self.frame = part.frame
        self.layout = replace(source, parts=())
        self._first_rows = [0] * len(source.parts)

    def survey(self, work: SurveyPass) -> Any:
        result, lengths = self._run(work, None)
        row = 0
        for number in range(len(self._first_rows)):
            self._first_rows[number] = row
            row += lengths[number]
        return result

    def run(self, work: Pass[Any, Any, Any]) -> Any:
        assert self._coder is not None
        return self._run(work, self._coder)[0]

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
        from dask import delayed

        # One node of the graph, which all partitions share.
        shared = delayed(SharedWork(work, coder, self.layout), traverse=False)
        columns = [*self.layout.feature_names, str(self.layout.target)]
        partitions = self.frame[columns].to_delayed()
        sums = [
            delayed(sum_partition)(partition, number, first_row, shared)
            for number, (partition, first_row) in enumerate(
                zip(partitions, self._first_rows, strict=True)
            )
        ]
        while len(sums) > 1:
            sums = [
                delayed(merge_sums)(sums[at : at + FAN_IN], shared)
                for at in range(0, len(sums), FAN_IN)
            ]
        total: PartitionSum = _compute(sums[0])
        return total


class SharedWork:
    """A pass, and how its batches are made."""

    def __init__(self, work: Pass[Any, Any, Any], coder: Coder | None, layout: Source) -> None:
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


def smooth_on_workers(
    smooth: Callable[[Any, int], Any], trees: Sequence[Any], seeds: Sequence[int]
) -> list[Any]:
    """Smooth trees of counts on the workers, each with its seed."""
    from dask import delayed

    shared = delayed(smooth, traverse=False)
    work = [
        delayed(_smooth_one)(shared, delayed(tree, traverse=False), seed)
        for tree, seed in zip(trees, seeds, strict=True)
    ]
    return list(_compute(delayed(list)(work)))


def _smooth_one(smooth: Callable[[Any, int], Any], tree: Any, seed: int) -> Any:
    return smooth(tree, seed)


def _compute(result: Any) -> Any:
    with warnings.catch_warnings():
        # Tables of counts are part of the graph, so that a lost worker can be made good.
        warnings.filterwarnings("ignore", message="Sending large graph", category=UserWarning)
        return result.compute()


@contextmanager
def spread_smoothing_over_workers() -> Iterator[None]:
    """Within, smoothing that is not cheap is done by the workers, a tree at a time."""
    with spread_smoothing(smooth_on_workers):
        yield
