"""Passes of several members of an ensemble in one reading of the rows."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.counts import CodedRows
from priorwise.data.encoding import TableEncoder
from priorwise.data.sources import Batch
from priorwise.data.survey import ValueSummary
from priorwise.data.tables import Columns
from priorwise.streaming.passes import CodedBatch, Coder, Pass, encode_classes
from priorwise.streaming.runners.base import PassRunner


@dataclass(frozen=True)
class ColumnsBatch:
    """Rows read but not yet cut: members cut them in their own ways."""

    columns: Columns
    rows: CodedRows
    """The class codes, and codes of the features where all are nominal."""
    first_row: int
    place: str

    @property
    def n_rows(self) -> int:
        return self.rows.n_rows

    @property
    def y(self) -> NDArray[np.int32]:
        return self.rows.y


class ColumnsCoder(Coder):
    """Reads raw batches: labels become codes, numbers stay."""

    @property
    def can_store(self) -> bool:
        return bool(self.encoder.is_nominal_.all())

    def code(self, batch: Batch) -> ColumnsBatch:
        y, _ = encode_classes(batch, self.classes)
        columns = self.encoder.read(batch.X)
        return self._batch(columns, y, batch.first_row, batch.place)

    def coded(
        self, codes: Sequence[NDArray[np.int32]], y: NDArray[np.int32], first_row: int, place: str
    ) -> ColumnsBatch:
        columns = Columns(np.asarray(codes), np.empty((0, len(y))), self.encoder.is_nominal_)
        return self._batch(columns, y, first_row, place)

    def _batch(
        self, columns: Columns, y: NDArray[np.int32], first_row: int, place: str
    ) -> ColumnsBatch:
        codes = list(columns.nominal_codes)
        rows = CodedRows(codes, self.encoder.arities_, y, len(self.classes))
        return ColumnsBatch(columns, rows, first_row, place)


@dataclass(frozen=True)
class MemberPass:
    """A pass of one member, over its own cuts and its own choice of rows."""

    cut_points: list[NDArray[np.float64]]  # of the numeric features
    work: Pass[CodedBatch, Any, Any]  # what to sum over the rows
    without_fold: int | None = None  # the fold whose rows are left out
    weight: NDArray[Any] | None = None  # how often each row of all data counts


class JointPass(Pass[ColumnsBatch, list[Any], list[Any]]):
    """The passes of several members at once; states and results are lists with one entry each.

    `folds` holds the fold of every row, for members that leave out a fold.
    """

    title = "members"

    def __init__(
        self,
        encoder: TableEncoder,
        members: Sequence[MemberPass],
        folds: NDArray[np.int8] | None = None,
    ) -> None:
        self.encoder = encoder
        self.members = list(members)
        self.folds = folds

    def map(self, batch: ColumnsBatch) -> list[Any]:
        return [member.work.map(self._rows_of(batch, member)) for member in self.members]

    def merge(self, a: list[Any], b: list[Any]) -> list[Any]:
        pairs = zip(self.members, a, b, strict=True)
        return [member.work.merge(mine, theirs) for member, mine, theirs in pairs]

    def finish(self, state: list[Any]) -> list[Any]:
        return [m.work.finish(of_member) for m, of_member in zip(self.members, state, strict=True)]

    def _rows_of(self, batch: ColumnsBatch, member: MemberPass) -> CodedBatch:
        codes = self.encoder.encode(batch.columns, member.cut_points)
        ids = np.arange(batch.first_row, batch.first_row + batch.n_rows)
        weight = None
        if member.weight is not None:
            weight = member.weight[ids].astype(np.float64)
        rows = CodedRows(
            list(codes),
            self.encoder.arities(member.cut_points),
            batch.y,
            batch.rows.n_classes,
            weight,
        )
        if member.without_fold is None:
            return CodedBatch(rows, batch.first_row, batch.place)
        assert self.folds is not None
        kept = np.flatnonzero(self.folds[ids] != member.without_fold)
        return CodedBatch(rows.take(kept), batch.first_row, batch.place, ids[kept])


class FoldValuePass(Pass[ColumnsBatch, list[ValueSummary], list[ValueSummary]]):
    """The distinct values of the numeric features, with the rows of every fold."""

    title = "values of folds"

    def __init__(
        self, folds: NDArray[np.int8], n_folds: int, max_value_bytes: int | None = None
    ) -> None:
        self.folds = folds
        self.n_folds = n_folds
        self.max_value_bytes = max_value_bytes

    def map(self, batch: ColumnsBatch) -> list[ValueSummary]:
        folds = self.folds[batch.first_row : batch.first_row + batch.n_rows].astype(np.int32)
        return [
            ValueSummary.of(values, folds, self.n_folds, self.max_value_bytes)
            for values in batch.columns.values
        ]

    def merge(self, a: list[ValueSummary], b: list[ValueSummary]) -> list[ValueSummary]:
        return [mine.merge(theirs) for mine, theirs in zip(a, b, strict=True)]


Learning = Generator[MemberPass, Any, Any]
"""A member as it learns: it asks for passes, is sent their results, and returns the member."""


def learn_together(
    runner: PassRunner,
    encoder: TableEncoder,
    members: Sequence[Learning],
    folds: NDArray[np.int8] | None = None,
) -> list[Any]:
    """Let members learn in step, so that they share passes; return what each of them returned.

    A member is a generator that yields the passes that it needs and is sent their results.
    """
    learnt: list[Any] = [None] * len(members)
    asked: dict[int, MemberPass] = {}

    def send(i: int, result: Any) -> None:
        try:
            asked[i] = members[i].send(result)
        except StopIteration as end:
            learnt[i] = end.value

    for i in range(len(members)):
        send(i, None)
    while asked:
        waiting, asked = asked, {}
        results = runner.run(JointPass(encoder, list(waiting.values()), folds))
        for i, result in zip(waiting, results, strict=True):
            send(i, result)
    return learnt
