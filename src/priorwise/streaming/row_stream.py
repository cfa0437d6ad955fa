"""Training rows that are read in passes and never held, within a limit of memory."""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from priorwise.common.runtime import resolve_limit
from priorwise.common.validation import warn_of_copies
from priorwise.counts import CodedRows, Information, NumberEquality
from priorwise.data.cuts import ValueCounts
from priorwise.data.encoding import TableEncoder
from priorwise.data.sources.source import default_batch_rows
from priorwise.data.survey import ValueSummary
from priorwise.streaming.joint_pass import FoldValuePass, JointPass, LossPass, RowPass
from priorwise.streaming.passes import (
    Coder,
    CollectPass,
    ColumnsCoder,
    CountPass,
    PairPass,
    Pass,
    SelectionPass,
    join_information,
    plan_pair_passes,
)
from priorwise.streaming.runners.local import PassRunner
from priorwise.streaming.streamed_draws import HashPass, StreamedDraws
from priorwise.streaming.survey_pass import SurveyedCounts, SurveyState
from priorwise.structure.networks import NetworkCounts, check_contexts
from priorwise.structure.networks.rows import (
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

BYTES_PER_VALUE = 20
"""Of a batch at work: as it is read, as numbers or places among labels, and as codes."""
BYTES_PER_CONTEXT = 256
"""Of a context of about four outcomes, while two trees become one."""
MAX_PAIR_CELLS = 64_000_000


@dataclass(frozen=True)
class MemoryPlan:
    """What batches, values, pairs and contexts may take.

    A quarter goes to batches; half to values of numeric features and pair counts, and when they
    are done with, to contexts; the rest to what allocators keep and to single rows.
    """

    batch_rows: int
    max_cells: int
    """Of pair counts, in each of the states that are alive at once."""
    max_value_bytes: int
    """Of the distinct values of one feature."""
    max_contexts: int
    max_row_bytes: int
    """Of all coded rows, for models that need them at once."""

    @classmethod
    def make(
        cls, limit: Any, n_features: int, n_jobs: int, batch_rows: int | None = None
    ) -> MemoryPlan:
        """Split a memory limit, in bytes or a text such as "1GB", for `n_jobs` threads.

        None is a share of the memory available. `batch_rows` replaces the size of a batch that the
        limit allows.
        """
        share = int(min(resolve_limit(limit), sys.maxsize)) // 4
        if batch_rows is None:
            # Those of all threads, one that is decoded, and one that waits.
            rows = share // ((n_jobs + 2) * n_features * BYTES_PER_VALUE)
            batch_rows = max(1, min(default_batch_rows(n_features), rows))
        # States of all threads, and that of the rows before.
        n_states = n_jobs + 1
        return cls(
            batch_rows,
            max(1, min(MAX_PAIR_CELLS, share // (8 * n_states))),
            max(1, 2 * share // (n_states * n_features)),
            max(1, 2 * share // BYTES_PER_CONTEXT),
            share,
        )


M = TypeVar("M")
R = TypeVar("R")
Passes = Generator[RowPass, Any, R]
"""An answer R that is being found: it yields the passes it needs, and is sent their results."""


class RowStream(Rows):
    """Rows behind a runner of passes, whose first pass has surveyed them, as `Rows`.

    Rows are coded by the `encoder` made of the survey with the parameters given. `plan` limits
    pairs, values and contexts; `on_limit`, "error" or "merge", says what to do with more contexts.

    For models that hold rows out, what depends on single rows is kept for all of them: the draw
    and the fold (9 bytes a row) and, for each member of an ensemble, how often its bootstrap draws
    the row (usually one byte).
    """

    max_together = sys.maxsize
    """All recipes share passes."""
    row_groups = None
    """A stream has no groups of rows but copies, which are joined."""

    def __init__(
        self,
        runner: PassRunner,
        surveyed: SurveyState,
        parameters: TableEncoder,
        feature_names: Sequence[str],
        *,
        plan: MemoryPlan,
        on_limit: str = "error",
        n_jobs: int = 1,
    ) -> None:
        self.runner = runner
        self.plan = plan
        self.on_limit = on_limit
        self.n_jobs = n_jobs
        self.survey = surveyed.survey
        self.encoder, label_codes = TableEncoder.of_survey(
            surveyed.survey, parameters.get_params(deep=False), feature_names
        )
        self.feature_names = self.encoder.feature_names
        self._surveyed = SurveyedCounts(surveyed, self.encoder, label_codes)
        self.classes: NDArray[Any] = _own(surveyed.survey.classes)
        self._folds: NDArray[np.int8] | None = None
        self._kept: list[NDArray[np.intp]] = []

    @property
    def n_rows(self) -> int:
        return self.survey.n_rows

    @property
    def class_count(self) -> NDArray[np.float64]:
        """Number of rows of each class."""
        return self.survey.class_counts.astype(np.float64)

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def summaries(self) -> list[ValueSummary]:
        """Values of the numeric features, those that replace missing ones included."""
        return self.survey.summaries(impute=self.encoder.missing == "impute")

    @property
    def is_exact(self) -> bool:
        """Whether cut points are those of all values, and not of a summary of them."""
        return self.survey.is_exact

    @property
    def y(self) -> NDArray[np.int32]:
        return self._draws.y

    @property
    def draw_weight(self) -> NDArray[np.float64] | None:
        return self._draws.weight

    def count_values(self) -> ValueCounts:
        return _join_values(self.summaries)

    def deal(self, folds: NDArray[np.intp], n_folds: int) -> ValueCounts:
        self._folds = folds.astype(np.int8)[self._draws.draw_of_row]
        self._kept = [np.flatnonzero(folds != fold) for fold in range(n_folds)]
        if not self.summaries:
            return _join_values([])
        work = FoldValuePass(self._folds, n_folds, self.plan.max_value_bytes)
        return _join_values(self.run_uncut(work))

    def sum_losses(self, losses: RowLosses, fold: int) -> NDArray[np.float64]:
        assert self._folds is not None
        return self.run_uncut(LossPass(losses, self._folds, fold))

    def run(self, work: Pass[Any, Any, R], encoder: TableEncoder | None = None) -> R:
        """Run a pass over coded rows, in the codes of another encoder if one is given."""
        result: R = self.runner.run(work, Coder(encoder or self.encoder, self.classes))
        return result

    def run_uncut(self, work: Pass[Any, Any, R]) -> R:
        """Run a pass over rows whose numbers are not cut (`ColumnsBatch`)."""
        result: R = self.runner.run(work, ColumnsCoder(self.encoder, self.classes))
        return result

    def collect(self, encoder: TableEncoder | None = None) -> CodedRows:
        """Return all coded rows, in the codes of another encoder if one is given."""
        n_bytes = 4 * self.n_rows * (self.n_features + 1)
        if n_bytes > self.plan.max_row_bytes:
            raise MemoryError(
                f"memory_limit must allow all coded rows at once, since this model does not learn "
                f"from sums: {n_bytes / 1e9:.3g} GB, a quarter of the limit at most"
            )
        return self.run(CollectPass(), encoder)

    def learn(self, recipes: Sequence[Recipe[M]], n_sharing: int = 1) -> list[M]:
        learning = [self._find_passes(recipe, n_sharing) for recipe in recipes]
        learnt: list[Any] = [None] * len(recipes)
        results: dict[int, Any] = dict.fromkeys(range(len(recipes)))
        while results:
            asked: dict[int, RowPass] = {}
            for i in list(results):
                try:
                    asked[i] = learning[i].send(results.pop(i))
                except StopIteration as end:
                    learnt[i] = end.value
            results = dict(zip(asked, self._run_together(list(asked.values())), strict=True))
        return learnt

    def _run_together(self, passes: list[RowPass]) -> list[Any]:
        """Return the results of passes, in one reading of the rows."""
        if not passes:
            return []
        run = self.run if all(one.cut_points is None for one in passes) else self.run_uncut
        return run(JointPass(self.encoder, passes, self._folds))

    def _find_passes(self, recipe: Recipe[M], n_sharing: int) -> Passes[M]:
        answer = None
        while True:
            try:
                request = recipe.send(answer)
            except StopIteration as end:
                learnt: M = end.value
                return learnt
            answer = yield from self._answer(request, n_sharing)

    def _answer(self, request: Request[Any], n_sharing: int) -> Passes[Any]:
        if isinstance(request, Measure):
            return (yield from self._measure(request, n_sharing))
        if isinstance(request, Count):
            return (yield from self._count(request, n_sharing))
        if isinstance(request, CountTrees):
            return (yield from self._count_trees(request, n_sharing))
        if isinstance(request, Score):
            weight = self._weigh_copies(request)
            work = SelectionPass(request.scorer)
            sums = yield RowPass(work, request.cut_points, request.fold, weight)
            return request.scorer.choose(sums, float(self.n_rows))
        return self.collect()

    def _measure(self, request: Measure, n_sharing: int) -> Passes[Information]:
        check_pairs(self.n_features)
        if request.is_of_all and request.draws is None and self._surveyed.has_pairs:
            return self._surveyed.measure(self.n_jobs)
        ignores_missing = self.encoder.ignores_missing
        # Missing values that have no code are counted behind the known values.
        arities = self.encoder.arities(request.cut_points) + int(ignores_missing)
        weight = None if request.draws is None else self._spread_draws(request, request.draws)
        max_cells = max(1, self.plan.max_cells // n_sharing)
        # A pair that has no room in a member's share of the memory is counted nevertheless.
        limit = max_cells if request.cut_points is None else 2**62
        parts = []
        for features in plan_pair_passes(arities, self.n_classes, max_cells):
            work = PairPass(features, limit, ignores_missing)
            counts = yield RowPass(work, request.cut_points, request.fold, weight)
            information = counts.information(n_threads=self.n_jobs, last_is_missing=ignores_missing)
            parts.append((features, information))
        return join_information(parts)

    def _count(self, request: Count, n_sharing: int) -> Passes[Counted]:
        limits = self._limit_contexts(request.max_contexts, n_sharing)
        held = request.held_back
        if request.is_of_all and held is None and self._surveyed.has_counted(request.networks):
            counts = [self._surveyed.count(network) for network in request.networks]
            if self.on_limit == "error":
                n_contexts = sum(one.n_contexts for one in counts)
                check_contexts(n_contexts, limits["max_contexts"], limits["limit"])
            return Counted(counts)
        arities, places = self.encoder.arities(request.cut_points), None
        if held is not None:
            draws, places = self._find_draws(request), self._find_places(request, held)
            limits |= {"left_out": draws.all_rows(places), "sample": draws.first_rows(places)}
        work = CountPass(request.networks, arities, self.n_classes, **limits)
        result = yield RowPass(work, request.cut_points, request.fold)
        if places is None:
            return Counted(result.counts)
        rows = draws.arrange(result.sample, places)
        counts = [one.merge(NetworkCounts.count(one.network, rows)) for one in result.counts]
        return Counted(counts, result.counts[0], rows)

    def _count_trees(self, request: CountTrees, n_sharing: int) -> Passes[Any]:
        draws, places = self._find_draws(request), self._find_places(request, request.sample)
        work = CountPass(
            [request.network],
            self.encoder.arities(request.cut_points),
            self.n_classes,
            sample=draws.first_rows(places),
            **self._limit_contexts(request.max_contexts, n_sharing),
        )
        result = yield RowPass(work, request.cut_points, request.fold)
        return result.counts[0], draws.arrange(result.sample, places)

    @cached_property
    def _draws(self) -> StreamedDraws:
        """The rows in the order of what was read, copies joined; found in one pass."""
        return self._check_draws(self.run_uncut(HashPass(self._telling_number)))

    @cached_property
    def _coded_draws(self) -> StreamedDraws:
        """The rows in the order of their codes; found in one pass."""
        return self._check_draws(self.run(HashPass()))

    def _check_draws(self, draws: StreamedDraws) -> StreamedDraws:
        if len(draws.draw_of_row) != self.n_rows:
            raise ValueError(
                f"checkpoint: a pass must have read {self.n_rows} rows, got "
                f"{len(draws.draw_of_row)}; remove the folder to begin again"
            )
        if draws.n_draws < self.n_rows:
            warn_of_copies(self.n_rows - draws.n_draws, self.n_rows)
        return draws

    @property
    def _telling_number(self) -> NumberEquality | None:
        """The number that may tell copies of rows from draws; None if no number can."""
        counts = [np.append(s.missing.sum(), s.counts().sum(axis=1)) for s in self.summaries]
        return NumberEquality.find(*self.encoder.leave_out_texts(counts))

    def _find_draws(self, request: Request[Any]) -> StreamedDraws:
        return self._coded_draws if request.cut_points is None else self._draws

    def _find_places(self, request: Request[Any], places: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return places among all draws, given those among the draws that are not left out."""
        return places if request.fold is None else self._kept[request.fold][places]

    def _weigh_copies(self, request: Score) -> NDArray[Any] | None:
        """Return weights by which copies are left out together: the first stands for all."""
        if request.cut_points is None or self._telling_number is None:
            return None
        weight = self._draws.weight
        return None if weight is None else self._draws.spread(weight)

    def _spread_draws(self, request: Measure, times: NDArray[np.int64]) -> NDArray[Any]:
        """Return how often each row of the stream counts: the first of copies counts for all."""
        draws = self._find_draws(request)
        kept = slice(None) if request.fold is None else self._kept[request.fold]
        if draws.weight is not None:
            times = times * draws.weight[kept].astype(np.int64)
        return draws.spread(times, kept)

    def _limit_contexts(self, max_contexts: int | None, n_sharing: int) -> dict[str, Any]:
        """Return the options of `CountPass` for a model's limit if `n_sharing` share memory."""
        limit = "max_contexts"
        room = max(1, self.plan.max_contexts // n_sharing)
        if max_contexts is None or room < max_contexts:
            max_contexts, limit = room, "memory_limit"
        return {"max_contexts": max_contexts, "on_limit": self.on_limit, "limit": limit}


def _join_values(summaries: list[ValueSummary]) -> ValueCounts:
    return ValueCounts.join(
        [summary.values() for summary in summaries], [summary.counts() for summary in summaries]
    )


def _own(labels: NDArray[Any]) -> NDArray[Any]:
    """The same labels in an array that shares nothing with a saved state.

    Resumed work is then saved as the same bytes as work that was never interrupted.
    """
    if labels.dtype != object:
        return np.array(labels.tolist(), dtype=labels.dtype.str)
    shared = [sys.intern(label) if type(label) is str else label for label in labels.tolist()]
    return np.array(shared, dtype=object)
