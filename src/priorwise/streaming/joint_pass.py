"""Several passes in one reading of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.data.encoding import TableEncoder
from priorwise.data.survey import ValueSummary
from priorwise.streaming.passes import CodedBatch, ColumnsBatch, Pass
from priorwise.structure.networks.rows import RowLosses


@dataclass(frozen=True)
class RowPass:
    """What to sum over some rows, which are cut for it."""

    work: Pass[CodedBatch, Any, Any]
    cut_points: list[NDArray[np.float64]] | None = None  # None: those of the encoder
    without_fold: int | None = None  # the fold whose rows are left out
    weight: NDArray[Any] | None = None  # how often each row of all data counts


class JointPass(Pass[CodedBatch, list[Any], list[Any]]):
    """Several passes in one reading of the rows; states and results are lists with one entry each.

    `folds` holds the fold of every row, for passes that leave out a fold.
    """

    title = "several passes"

    def __init__(
        self,
        encoder: TableEncoder,
        passes: Sequence[RowPass],
        folds: NDArray[np.int8] | None = None,
    ) -> None:
        self.encoder = encoder
        self.passes = list(passes)
        self.folds = folds
        self.title = ", ".join(sorted({one.work.title for one in passes}))

    def map(self, batch: CodedBatch) -> list[Any]:
        return [one.work.map(self._select(batch, one)) for one in self.passes]

    def merge(self, a: list[Any], b: list[Any]) -> list[Any]:
        return [
            one.work.merge(mine, theirs)
            for one, mine, theirs in zip(self.passes, a, b, strict=True)
        ]

    def finish(self, state: list[Any]) -> list[Any]:
        return [one.work.finish(mine) for one, mine in zip(self.passes, state, strict=True)]

    def _select(self, batch: CodedBatch, one: RowPass) -> CodedBatch:
        """Return the rows of a batch that a pass sums over, in its codes."""
        rows = batch.rows
        if isinstance(batch, ColumnsBatch):
            codes = self.encoder.encode(batch.columns, one.cut_points)
            rows = replace(rows, columns=list(codes), arities=self.encoder.arities(one.cut_points))
        ids = np.arange(batch.first_row, batch.first_row + batch.n_rows)
        if one.weight is not None:
            rows = replace(rows, weight=one.weight[ids].astype(np.float64))
        if one.without_fold is None:
            return CodedBatch(rows, batch.first_row, batch.place)
        assert self.folds is not None
        kept = np.flatnonzero(self.folds[ids] != one.without_fold)
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


class LossPass(Pass[ColumnsBatch, NDArray[np.float64], NDArray[np.float64]]):
    """Sum the losses of the rows of one fold, for each of some models."""

    title = "losses"

    def __init__(self, losses: RowLosses, folds: NDArray[np.int8], fold: int) -> None:
        self.losses = losses
        self.folds = folds
        self.fold = fold

    def map(self, batch: ColumnsBatch) -> NDArray[np.float64]:
        folds = self.folds[batch.first_row : batch.first_row + batch.n_rows]
        held = np.flatnonzero(folds == self.fold)
        losses = self.losses(batch.columns.take(held), batch.y[held], 1)
        return np.array([of_model.sum() for of_model in losses])

    def merge(self, a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
        return a + b
