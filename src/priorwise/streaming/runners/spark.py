"""Passes run where the partitions of a Spark frame are: only sums travel."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

from priorwise.data.sources import Source
from priorwise.data.sources.frame_part import SparkPart
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

SCHEMA = "number int, state binary"
"""Columns of a frame of states: the least number of their partitions, and the pickled state."""


class SparkRunner(ClusterRunner):
    """Run passes over a Spark frame by `mapInArrow`.

    A task reads, codes and counts the rows of its partition, other tasks merge about `FAN_IN`
    states at a time, and only the last state comes to this process. If a worker is lost, Spark
    repeats its tasks, which give the same result.
    """

    def __init__(self, source: Source, *, checkpoint: Checkpoint | None = None) -> None:
        super().__init__(source, checkpoint=checkpoint)
        part = source.parts[0]
        assert isinstance(part, SparkPart)
        self.part = part

    def _sum(self, work: Pass[Any, Any, Any], coder: Coder | None) -> PartitionSum:
        from pyspark.sql import functions

        shared = SharedWork(work, coder, self.layout)
        names = [*self.layout.feature_names, str(self.layout.target)]
        # By number: Spark maps no columns with a dot in their name.
        rows = self.part.select(names).toDF(*map(str, range(len(names))))
        sums = rows.mapInArrow(_map_partition(shared, names, self.first_rows), SCHEMA)
        n_sums, merge = self.part.n_partitions, _merge_partitions(shared)
        while n_sums > 1:
            n_sums = -(-n_sums // FAN_IN)
            group = functions.pmod(functions.col("number"), functions.lit(n_sums))
            sums = sums.repartition(n_sums, group).mapInArrow(merge, SCHEMA)
        states = [_load(row["state"]) for row in sums.collect()]
        return merge_sums(states, shared) if states else PartitionSum(None, {})


def _map_partition(
    shared: SharedWork, names: list[str], first_rows: dict[int, int]
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def sum_batches(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        number, kept = context.partitionId(), list(batches)
        if kept:
            table = pyarrow.Table.from_batches(kept).rename_columns(names)
            total = sum_partition(table, number, first_rows.get(number, 0), shared)
            yield _to_batch(number, total)

    return sum_batches


def _merge_partitions(shared: SharedWork) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def merge_batches(batches: Iterator[Any]) -> Iterator[Any]:
        found: dict[int, bytes] = {}
        for batch in batches:
            found |= zip(batch["number"].to_pylist(), batch["state"].to_pylist(), strict=True)
        if found:
            # States may arrive in any order; they are merged in that of the partitions.
            sums = [_load(found[number]) for number in sorted(found)]
            yield _to_batch(min(found), merge_sums(sums, shared))

    return merge_batches


def _to_batch(number: int, total: PartitionSum) -> Any:
    import pyarrow

    types = pyarrow.schema([("number", pyarrow.int32()), ("state", pyarrow.binary())])
    return pyarrow.RecordBatch.from_arrays(
        [pyarrow.array([number], types[0].type), pyarrow.array([pickle.dumps(total)])],
        schema=types,
    )


def _load(state: bytes) -> PartitionSum:
    # What a task of this pass has just made, and nothing that was stored.
    total: PartitionSum = pickle.loads(bytes(state))
    return total
