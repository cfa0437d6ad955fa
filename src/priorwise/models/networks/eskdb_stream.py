"""ESKDB learnt in passes: the members that `fit` gives, learnt in step."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.counts import Information
from priorwise.data.cuts import RankedValues, draw_quantile_cut_points
from priorwise.data.cuts.entropy_cuts import entropy_cut_points
from priorwise.data.tables import ValueSummary
from priorwise.models.candidates import hold_back
from priorwise.models.folds import deal_into_folds
from priorwise.models.networks.network_model import NetworkModel
from priorwise.models.networks.weights import draw_scored_rows, fit_scored_network
from priorwise.smoothing.names import as_smoother
from priorwise.streaming.joint_pass import (
    ColumnsBatch,
    ColumnsCoder,
    FoldValuePass,
    LabelPass,
    MemberPass,
    learn_together,
)
from priorwise.streaming.passes import CountPass, PairPass, Pass, SelectionPass
from priorwise.streaming.row_stream import RowStream, join_information, plan_pair_passes
from priorwise.structure.networks import SubmodelScorer, draw_order, draw_order_by_gumbel, learn_kdb


@dataclass(frozen=True)
class SummarisedValues:
    """Distinct values and their rows: what cut points are drawn from, without the rows."""

    distinct: list[NDArray[np.float64]]
    rows: list[NDArray[np.float64]]

    def weights_of(self, feature: int) -> NDArray[np.float64]:
        """Rows of each distinct value of one feature."""
        return self.rows[feature]

    @classmethod
    def of(cls, summaries: Sequence[ValueSummary], without: int | None = None) -> SummarisedValues:
        """All values, or those that rows outside of one fold have; classes are folds then."""
        distinct, rows = [], []
        for summary in summaries:
            n = summary.counts().sum(axis=1)
            if without is not None:
                n = n - summary.counts()[:, without]
            distinct.append(summary.values()[n > 0])
            rows.append(n[n > 0].astype(np.float64))
        return cls(distinct, rows)


@dataclass(frozen=True)
class LearntMember:
    """Cut points and the network behind them."""

    cut_points: list[NDArray[np.float64]]
    model: NetworkModel


class EnsembleStream:
    """Members of an ESKDB ensemble that learn in step from a stream of rows.

    What depends on single rows is kept for all of them: the fold and, for each member, how
    often its bootstrap draws the row. That takes a byte each, and some 30 bytes a row while
    folds and bootstraps are drawn.
    """

    def __init__(self, model: Any, stream: RowStream, seed: int, n_folds: int) -> None:
        self.model = model
        self.stream = stream
        self.seed = seed
        self.n_folds = n_folds
        self.encoder, self.runner = stream.encoder, stream.runner
        self.n_together = int(model.n_estimators)
        self.runner.use_codes(ColumnsCoder(stream.encoder, stream.classes))

    def learn_thesis(self) -> list[LearntMember]:
        """Random MDLP cuts and orders, selection and smoothing."""
        summaries = self.stream.summaries
        members = [self._learn_thesis_member(summaries, g) for g in self._generators()]
        return learn_together(self.runner, self.encoder, members)

    def learn_weighted(self, candidates_of: Any, min_rows: int) -> tuple[list[LearntMember], int]:
        """Groups that leave out a fold, bootstrapped structures, weighted networks.

        `candidates_of` gives the numbers of bins to try for a finest and `min_rows` a bin.
        """
        y = self.runner.run(LabelPass())
        folds = deal_into_folds(y, self.n_folds, np.random.default_rng(self.seed)).astype(np.int8)
        del y
        summaries: list[ValueSummary] = []
        if self.stream.summaries:
            max_bytes = self.stream.plan.max_value_bytes
            summaries = self.runner.run(FoldValuePass(folds, self.n_folds, max_bytes))
        values = [SummarisedValues.of(summaries, fold) for fold in range(self.n_folds)]
        max_bins = self._choose_max_bins(candidates_of, min_rows, summaries, values[0], folds)
        members = [
            self._learn_weighted_member(
                i % self.n_folds, values[i % self.n_folds], max_bins, folds, generator
            )
            for i, generator in enumerate(self._generators())
        ]
        return learn_together(self.runner, self.encoder, members, folds), max_bins

    def _generators(self) -> list[np.random.Generator]:
        seeds = np.random.SeedSequence(self.seed).spawn(int(self.model.n_estimators))
        return [np.random.default_rng(s) for s in seeds]

    def _measure(
        self, cut_points: list[NDArray[np.float64]], **choice: Any
    ) -> Generator[MemberPass, Any, Information]:
        arities = self.encoder.arities(cut_points)
        max_cells = max(1, self.stream.plan.max_cells // self.n_together)
        parts = []
        for features in plan_pair_passes(arities, self.stream.n_classes, max_cells):
            counts = yield MemberPass(cut_points, PairPass(features, 2**62), **choice)
            parts.append((features, counts.information()))
        return join_information(parts)

    def _count(
        self,
        network: Any,
        cut_points: list[NDArray[np.float64]],
        held: NDArray[np.intp] | None,
        without_fold: int | None = None,
    ) -> MemberPass:
        work = CountPass(
            [network],
            self.encoder.arities(cut_points),
            self.stream.n_classes,
            held,
            *self.stream.limit_contexts(self.model.max_contexts, self.n_together),
        )
        return MemberPass(cut_points, work, without_fold)

    def _learn_thesis_member(
        self, summaries: Sequence[ValueSummary], generator: np.random.Generator
    ) -> Generator[MemberPass, Any, LearntMember]:
        cut_points = _draw_mdlp(summaries, self.stream.n_classes, generator)
        found = yield from self._measure(cut_points)
        network = learn_kdb(
            found.mutual,
            found.conditional,
            self.model.max_parents,
            order=draw_order(found.mutual, generator),
            feature_names=self.model._feature_names(),
        )
        seed = int(generator.integers(2**31))
        candidates = as_smoother(self.model.smoothing).candidates()
        held = hold_back(self.stream.n_rows, seed) if len(candidates) > 1 else None
        counted = yield self._count(network, cut_points, held)
        smoother = candidates[0] if held is None else self.model._choose(candidates, counted)
        (counts,) = counted.counts
        scorer = SubmodelScorer.prepare(network, counts.feature_trees, counts.class_tree, smoother)
        losses = yield MemberPass(cut_points, SelectionPass(scorer))
        selection = scorer.choose(losses, float(self.stream.n_rows))
        counts = counts.restrict(selection.n_features, selection.max_parents)
        return LearntMember(cut_points, NetworkModel.smooth(counts, smoother, seed=seed))

    def _learn_weighted_member(
        self,
        fold: int,
        values: SummarisedValues,
        max_bins: int,
        folds: NDArray[np.int8],
        generator: np.random.Generator,
    ) -> Generator[MemberPass, Any, LearntMember]:
        n_rows = int(np.count_nonzero(folds != fold))
        drawn = np.bincount(generator.choice(n_rows, n_rows), minlength=n_rows)
        bootstrap = np.zeros(len(folds), dtype=np.uint8)
        bootstrap[folds != fold] = drawn
        del drawn
        cut_points = draw_quantile_cut_points(values, generator, max_bins=max_bins)
        found = yield from self._measure(cut_points, without_fold=fold, weight=bootstrap)
        network = learn_kdb(
            found.mutual,
            found.conditional,
            self.model.max_parents,
            order=draw_order_by_gumbel(found.mutual, generator),
            bias=found.bias(),
            feature_names=self.model._feature_names(),
        )
        scored = draw_scored_rows(network, n_rows, self.stream.n_classes, generator)
        scored = np.flatnonzero(folds != fold)[scored]
        counted = yield self._count(network, cut_points, scored, fold)
        (counts,) = counted.counts
        model, _ = fit_scored_network(counts, counted.held, bootstrap[scored] == 0, generator)
        return LearntMember(cut_points, model)

    def _choose_max_bins(
        self,
        candidates_of: Any,
        min_rows: int,
        summaries: Sequence[ValueSummary],
        values: SummarisedValues,
        folds: NDArray[np.int8],
    ) -> int:
        """The number of bins with the least log-loss on the first fold."""
        if not isinstance(self.model.max_bins, str):
            return int(self.model.max_bins)
        finest = max((len(summary.values()) for summary in summaries), default=0)
        candidates = candidates_of(min(finest, len(folds) // min_rows))
        n_held = int(np.count_nonzero(folds == 0))
        if len(candidates) == 1 or n_held == 0:
            return int(candidates[0])
        members = learn_together(
            self.runner,
            self.encoder,
            [
                self._learn_weighted_member(
                    0, values, max_bins, folds, np.random.default_rng([self.seed, i])
                )
                for max_bins in candidates
                for i in range(2)
            ],
            folds,
        )
        trials = [members[i : i + 2] for i in range(0, len(members), 2)]
        losses = self.runner.run(TrialPass(self.encoder, trials, folds)) / n_held
        # The same stop as that of trying one after the other.
        n_tried = len(losses)
        for i in range(2, len(losses)):
            if losses[i] > losses[i - 1] > losses[i - 2]:
                n_tried = i + 1
                break
        return int(candidates[int(np.argmin(losses[:n_tried]))])


class TrialPass(Pass[ColumnsBatch, NDArray[np.float64], NDArray[np.float64]]):
    """Summed log-loss of small ensembles on the rows of the first fold."""

    title = "trial of bins"

    def __init__(
        self, encoder: Any, trials: Sequence[Sequence[LearntMember]], folds: NDArray[np.int8]
    ) -> None:
        self.encoder = encoder
        self.trials = [list(members) for members in trials]
        self.folds = folds

    def map(self, batch: ColumnsBatch) -> NDArray[np.float64]:
        folds = self.folds[batch.first_row : batch.first_row + batch.n_rows]
        held = np.flatnonzero(folds == 0)
        if len(held) == 0:
            return np.zeros(len(self.trials))
        columns, y = batch.columns.take(held), batch.y[held]
        losses = []
        for members in self.trials:
            codes = [self.encoder.encode(columns, member.cut_points) for member in members]
            proba = np.mean(
                [m.model.proba(list(of_m)) for m, of_m in zip(members, codes, strict=True)], axis=0
            )
            p = proba[np.arange(len(y)), y]
            losses.append(float(-np.log(np.maximum(p, 1e-12)).sum()))
        return np.array(losses)

    def merge(self, a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
        return a + b

    def finish(self, state: NDArray[np.float64]) -> NDArray[np.float64]:
        return state


def _draw_mdlp(
    summaries: Sequence[ValueSummary], n_classes: int, generator: np.random.Generator
) -> list[NDArray[np.float64]]:
    """Draw what `draw_mdlp_cut_points` draws, rows of equal value and class as one, weighted."""
    seeds = generator.integers(0, 2**64, size=len(summaries), dtype=np.uint64)
    drawn = []
    for i, summary in enumerate(summaries):
        at, y = np.nonzero(summary.counts())
        if len(at) == 0:
            drawn.append(np.zeros(0))
            continue
        ranked = RankedValues(at.astype(np.int32)[None, :], [summary.values()])
        drawn += entropy_cut_points(
            ranked,
            y.astype(np.int32),
            n_classes,
            summary.counts()[at, y].astype(np.float64),
            rule="random_mdl",
            seeds=seeds[i : i + 1],
        )
    return drawn
