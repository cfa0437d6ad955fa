"""Rows in memory that networks learn from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from priorwise.common.runtime import map_in_threads
from priorwise.counts import CodedRows, measure_rows
from priorwise.data.cuts import ValueCounts
from priorwise.models.training_table import TrainingTable
from priorwise.structure.networks import CountedWhenAsked, NetworkCounts, check_contexts
from priorwise.structure.networks.rows import (
    Collect,
    Count,
    Counted,
    CountTrees,
    Measure,
    Recipe,
    Request,
    RowLosses,
    Rows,
    Score,
    check_pairs,
)
from priorwise.structure.networks.select import Selection

A = TypeVar("A")
M = TypeVar("M")

MIN_CELLS_TO_SHARE = 10_000
"""With fewer rows x features x classes most of the work is Python, and one thread learns all."""


class TableRows(Rows):
    """The rows of a table, as `Rows`. Rows are held out in the order of the table (`as_draws`).

    `coded` are the rows in the codes of the table's encoder, for requests without cut points.
    """

    def __init__(
        self, table: TrainingTable, n_threads: int = 1, coded: CodedRows | None = None
    ) -> None:
        self.table = table
        self.coded = coded
        self.encoder = table.encoder
        # One string for each feature, which all members of an ensemble share.
        self.feature_names = table.encoder.feature_labels
        self.n_threads = n_threads
        self._folds: NDArray[np.intp] = np.full(table.n_rows, -1)

    @property
    def n_rows(self) -> int:
        return self.table.n_rows

    @property
    def n_classes(self) -> int:
        return self.table.n_classes

    @property
    def max_together(self) -> int:
        n_cells = self.n_rows * self.n_features * self.n_classes
        return 1 if n_cells < MIN_CELLS_TO_SHARE else self.n_threads

    @property
    def y(self) -> NDArray[np.int32]:
        return self.table.y

    @property
    def draw_weight(self) -> NDArray[np.float64] | None:
        return self.table.weight

    @property
    def row_groups(self) -> NDArray[np.intp] | None:
        return self.table.group

    def count_values(self) -> ValueCounts:
        return ValueCounts.count(self.table.ranked, self.y, self.n_classes, self.table.weight)

    def deal(self, folds: NDArray[np.intp], n_folds: int) -> ValueCounts:
        self._folds = folds
        return ValueCounts.count(self.table.ranked, folds, n_folds, self.table.weight)

    def sum_losses(self, losses: RowLosses, fold: int) -> NDArray[np.float64]:
        rows = self.table.take(np.flatnonzero(self._folds == fold))
        return np.array(
            [rows.weights @ one for one in losses(rows.columns, rows.y, self.n_threads)]
        )

    def learn(self, recipes: Sequence[Recipe[M]], n_sharing: int = 1) -> list[M]:
        n_threads = self.n_threads if len(recipes) == 1 else 1
        learn_one = partial(self._learn, n_threads=n_threads)
        return list(map_in_threads(learn_one, recipes, n_jobs=self.max_together))

    def answer(self, request: Request[A]) -> A:
        result: A = ANSWERS[type(request)](request, self._cut(request), self.n_threads)
        return result

    def _learn(self, recipe: Recipe[M], n_threads: int) -> M:
        answer, last = None, None
        while True:
            try:
                request = recipe.send(answer)
            except StopIteration as end:
                learnt: M = end.value
                return learnt
            if last is None or not request.reads_as(last):
                rows = self._cut(request)
            answer, last = ANSWERS[type(request)](request, rows, n_threads), request

    def _cut(self, request: Request[Any]) -> CodedRows:
        if request.is_of_all and self.coded is not None:
            return self.coded
        table = self.table
        if request.fold is not None:
            table = table.take(np.flatnonzero(self._folds != request.fold))
        return table.cut(request.cut_points)


def _order(request: Request[Any], rows: CodedRows) -> NDArray[np.intp]:
    """Return the rows in the order of content; the table is in that of what was read."""
    return rows.order_by_content() if request.cut_points is None else np.arange(rows.n_rows)


def _measure(request: Measure, rows: CodedRows, n_threads: int) -> Any:
    if request.cut_points is None:
        check_pairs(rows.n_features)
    weight: NDArray[Any] | None = rows.weight
    if request.draws is not None:
        weight = request.draws if weight is None else request.draws * weight
    return measure_rows(rows, weight, max_features=request.max_features, n_threads=n_threads)


def _count(request: Count, rows: CodedRows, n_threads: int) -> Counted:
    counts, n_contexts = [], 0
    for network in request.networks:
        counts.append(NetworkCounts.count(network, rows, n_jobs=n_threads))
        n_contexts += counts[-1].n_contexts
        check_contexts(n_contexts, request.max_contexts)
    if request.held_back is None:
        return Counted(counts)
    order = _order(request, rows)
    others = rows.take(np.delete(order, request.held_back))
    training = NetworkCounts.count(request.networks[0], others, n_jobs=n_threads)
    return Counted(counts, training, rows.take(order[request.held_back]))


def _count_trees(request: CountTrees, rows: CodedRows, n_threads: int) -> Any:
    trees = CountedWhenAsked(request.network, rows, request.max_contexts)
    return trees, rows.take(_order(request, rows)[request.sample])


def _score(request: Score, rows: CodedRows, n_threads: int) -> Selection:
    total = float(rows.n_rows if rows.weight is None else rows.weight.sum())
    sums = request.scorer.score(rows.columns, rows.y, rows.weight, n_threads)
    return request.scorer.choose(sums, total)


def _collect(request: Collect, rows: CodedRows, n_threads: int) -> CodedRows:
    return rows


ANSWERS: dict[type, Callable[..., Any]] = {
    Measure: _measure,
    Count: _count,
    CountTrees: _count_trees,
    Score: _score,
    Collect: _collect,
}
"""How each kind of request is answered by coded rows, which are cut as it says."""
