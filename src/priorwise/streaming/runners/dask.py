"""Passes run where the partitions of a Dask frame are: only sums travel."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from priorwise.data.sources import Source
from priorwise.data.sources.frame_part import DaskPart
from priorwise.smoothing.base import spread_smoothing
from priorwise.streaming.checkpoint import Checkpoint
from priorwise.streaming.passes import Coder, Pass
from priorwise.streaming.runners.cluster import (
    FAN_IN,
    ClusterRunner,
    PartitionSum,
    SharedWork,
    merge_sums,
    sum_partition,
)


class DaskRunner(ClusterRunner):
    """Run passes over a Dask frame on the workers of a cluster.

    A worker reads, codes and counts the rows of its partitions in batches. The workers also merge
    the states of the partitions, `FAN_IN` at a time, and only the last state comes to this process.
    Dask schedules the work: an active `distributed.Client`, or the scheduler that is configured. If
    a worker is lost, Dask repeats its work. A merge copies the states that it changes, so repeated
    work gives the same result. The state of every completed pass is kept in `checkpoint`.
    """

    def __init__(self, source: Source, *, checkpoint: Checkpoint | None = None) -> None:
        super().__init__(source, checkpoint=checkpoint)
        part = source.parts[0]
        assert isinstance(part, DaskPart)
        self.frame = part.frame

    def _sum(self, work: Pass[Any, Any, Any], coder: Coder | None) -> PartitionSum:
        from dask import delayed

        # One node of the graph, which all partitions share.
        shared = delayed(SharedWork(work, coder, self.layout), traverse=False)
        columns = [*self.layout.feature_names, str(self.layout.target)]
        partitions = self.frame[columns].to_delayed()
        sums = [
            delayed(sum_partition)(partition, number, self.first_rows.get(number, 0), shared)
            for number, partition in enumerate(partitions)
        ]
        while len(sums) > 1:
            sums = [
                delayed(merge_sums)(sums[at : at + FAN_IN], shared)
                for at in range(0, len(sums), FAN_IN)
            ]
        total: PartitionSum = _compute(sums[0])
        return total


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
