"""Training rows that are read in passes and never held."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.validation import warn_of_copies
from priorwise.counts import (
    CodedRows,
    CountTree,
    Information,
    NumberEquality,
    PairCounts,
    count_trees,
    draw_held_back,
)
from priorwise.data.encoding import TableEncoder
from priorwise.data.survey import LabelCounts, ValueSummary
from priorwise.streaming.memory_plan import MemoryPlan
from priorwise.streaming.passes import (
    Coder,
    CollectPass,
    CountPass,
    PairPass,
    SelectionPass,
)
from priorwise.streaming.runners.base import PassRunner
from priorwise.streaming.streamed_draws import HashPass, StreamedDraws
from priorwise.streaming.survey_pass import SurveyState
from priorwise.structure.networks import (
    Counted,
    Network,
    NetworkCounts,
    Selection,
    SubmodelScorer,
    check_contexts,
    check_pairs,
    plan_trees,
)


class RowStream:
    """Rows behind a runner of passes, whose first pass has surveyed them.

    Rows are coded by the `encoder` made of the survey with the parameters given. `plan` limits
    pairs, values and contexts; `on_limit`, "error" or "merge", says what to do with more contexts.
    """

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
        self._pairs: PairCounts | None = surveyed.pairs
        self.encoder, self._label_codes = TableEncoder.of_survey(
            surveyed.survey, parameters.get_params(deep=False), feature_names
        )
        self.classes: NDArray[Any] = _own(surveyed.survey.classes)
        self.arities = self.encoder.arities_
        runner.use_codes(Coder(self.encoder, self.classes))

    @property
    def n_rows(self) -> int:
        return self.survey.n_rows

    @property
    def n_features(self) -> int:
        return len(self.survey.features)

    @property
    def class_count(self) -> NDArray[np.float64]:
        """Number of rows of each class."""
        return self.survey.class_counts.astype(np.float64)

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def feature_names(self) -> list[str]:
        return [str(name) for name in self.encoder.feature_names_in_]

    @property
    def summaries(self) -> list[ValueSummary]:
        """Values of the numeric features, those that replace missing ones included."""
        return self.survey.summaries(impute=self.encoder.missing == "impute")

    @property
    def is_exact(self) -> bool:
        """Whether cut points are those of all values, and not of a summary of them."""
        return self.survey.is_exact

    def measure(self) -> Information:
        """Return the mutual information of the features with the class and each other."""
        check_pairs(self.n_features)
        ignores_missing = self.encoder.ignores_missing
        # Missing values that have no code are counted behind the known values.
        arities = self.arities + int(ignores_missing)
        options: dict[str, Any] = {"n_threads": self.n_jobs, "last_is_missing": ignores_missing}
        if self._pairs is not None:
            codes: Sequence[NDArray[Any]] = self._label_codes
            if ignores_missing:
                known = zip(codes, self.arities, strict=True)
                codes = [np.where(of_feature < 0, arity, of_feature) for of_feature, arity in known]
            classes = np.arange(self.n_classes)
            pairs = self._pairs.recode(codes, arities, classes, self.n_classes)
            return pairs.information(**options)
        parts = []
        for features in plan_pair_passes(arities, self.n_classes, self.plan.max_cells):
            counts = self.runner.run(PairPass(features, self.plan.max_cells, ignores_missing))
            parts.append((features, counts.information(**options)))
        return join_information(parts)

    def count(
        self,
        networks: Sequence[Network],
        *,
        max_contexts: int | None = None,
        held_back_seed: int | None = None,
    ) -> Counted:
        """Count the contexts of networks (see `TrainingRows.count`).

        Rows are held back in one more pass, which finds their order.
        """
        limits = self.limit_contexts(max_contexts)
        if held_back_seed is not None:
            draws = self.find_draws()
            if draws.n_draws > 1:
                held = draw_held_back(draws.n_draws, held_back_seed)
                return self._count_and_hold_back(networks, draws, held, limits)
        if self._is_counted(networks):
            counts = [self._count_margins(network) for network in networks]
            if limits["on_limit"] == "error":
                n_contexts = sum(network_counts.n_contexts for network_counts in counts)
                check_contexts(n_contexts, limits["max_contexts"], limits["limit"])
            return Counted(counts)
        work = CountPass(networks, self.arities, self.n_classes, **limits)
        return Counted(self.runner.run(work).counts)

    def find_telling_number(self) -> NumberEquality | None:
        """Return the number that may tell copies of rows from draws; None if no number can."""
        counts = [np.append(s.missing.sum(), s.counts().sum(axis=1)) for s in self.summaries]
        return NumberEquality.find(np.flatnonzero(~self.encoder.is_nominal_), counts)

    def find_draws(self, encoder: TableEncoder | None = None) -> StreamedDraws:
        """Order the rows by their content, in one pass.

        With an encoder, batches are not cut (see `HashPass`), and copies of rows are joined.
        """
        number = None if encoder is None else self.find_telling_number()
        draws: StreamedDraws = self.runner.run(HashPass(encoder, number))
        if len(draws.draw_of_row) != self.n_rows:
            raise ValueError(
                f"checkpoint: a pass must have read {self.n_rows} rows, got "
                f"{len(draws.draw_of_row)}; remove the folder to begin again"
            )
        if draws.n_draws < self.n_rows:
            warn_of_copies(self.n_rows - draws.n_draws, self.n_rows)
        return draws

    def limit_contexts(self, max_contexts: int | None, n_together: int = 1) -> dict[str, Any]:
        """Return the options of `CountPass` for a model's limit if `n_together` share memory."""
        limit = "max_contexts"
        room = max(1, self.plan.max_contexts // n_together)
        if max_contexts is None or room < max_contexts:
            max_contexts, limit = room, "memory_limit"
        return {"max_contexts": max_contexts, "on_limit": self.on_limit, "limit": limit}

    def select(self, scorer: SubmodelScorer) -> Selection:
        return scorer.choose(self.runner.run(SelectionPass(scorer)), float(self.n_rows))

    def collect(self) -> CodedRows:
        n_bytes = 4 * self.n_rows * (self.n_features + 1)
        if n_bytes > self.plan.max_row_bytes:
            raise MemoryError(
                f"memory_limit must allow all coded rows at once, since this model does not learn "
                f"from sums: {n_bytes / 1e9:.3g} GB, a quarter of the limit at most"
            )
        return self.runner.run(CollectPass())

    def _count_and_hold_back(
        self,
        networks: Sequence[Network],
        draws: StreamedDraws,
        held: NDArray[np.intp],
        limits: dict[str, Any],
    ) -> Counted:
        result = self.runner.run(
            CountPass(
                networks,
                self.arities,
                self.n_classes,
                left_out=draws.all_rows(held),
                sample=draws.first_rows(held),
                **limits,
            )
        )
        rows = draws.arrange(result.sample, held)
        counts = [c.merge(NetworkCounts.count(c.network, rows)) for c in result.counts]
        return Counted(counts, result.counts[0], rows)

    def _is_counted(self, networks: Sequence[Network]) -> bool:
        nominal = bool(self.survey.is_nominal.all())
        return nominal and all(not any(network.parents) for network in networks)

    def _count_margins(self, network: Network) -> NetworkCounts:
        """Counts of a network without arcs: the survey has them."""
        plan = plan_trees(network, self.arities, self.n_classes)
        trees = [_tree_of_table(self.survey.class_counts[None, :], with_path=False)]
        for i in plan.targets[1:]:
            feature = self.survey.features[i]
            assert isinstance(feature, LabelCounts)
            shape = (self.n_classes, int(self.arities[i]))
            table = np.zeros(shape, dtype=feature.counts.dtype)
            known = self._label_codes[i] >= 0
            np.add.at(table.T, self._label_codes[i][known], feature.counts[known])
            trees.append(_tree_of_table(table, with_path=True))
        return NetworkCounts(network, trees[0], trees[1:])


def plan_pair_passes(arities: NDArray[np.int32], n_classes: int, max_cells: int) -> list[list[int]]:
    """The features to count pairs of in each pass, so that every pair is counted and fits.

    >>> plan_pair_passes(np.full(4, 10, dtype=np.int32), n_classes=2, max_cells=1200)
    [[0, 1, 2, 3]]
    >>> plan_pair_passes(np.full(4, 10, dtype=np.int32), n_classes=2, max_cells=500)
    [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    """
    wide = arities.astype(np.float64)
    n_cells = n_classes * (wide.sum() ** 2 - (wide**2).sum()) / 2.0
    if n_cells <= max_cells:
        return [list(range(len(arities)))]
    most = np.sqrt(2.0 * max_cells / n_classes)
    groups: list[list[int]] = [[]]
    for i in np.argsort(-wide, kind="stable").tolist():
        if groups[-1] and wide[[*groups[-1], i]].sum() > most / 2:
            groups.append([])
        groups[-1].append(i)
    return [sorted([*first, *second]) for first, second in combinations(groups, 2)]


def join_information(parts: Sequence[tuple[list[int], Information]]) -> Information:
    """The information of all features from that of some of them at a time."""
    if len(parts) == 1:
        return parts[0][1]
    d = 1 + max(max(features) for features, _ in parts)
    n_classes = parts[0][1].n_seen.shape[1]
    mutual, conditional = np.zeros(d), np.zeros((d, d))
    n_seen = np.zeros((d, n_classes), dtype=np.int64)
    for features, part in parts:
        mutual[features], n_seen[features] = part.mutual, part.n_seen
        conditional[np.ix_(features, features)] = part.conditional
    return Information(mutual, conditional, n_seen, parts[0][1].total)


def _own(labels: NDArray[Any]) -> NDArray[Any]:
    """The same labels in an array that shares nothing with a saved state.

    Resumed work is then saved as the same bytes as work that was never interrupted.
    """
    if labels.dtype != object:
        return np.array(labels.tolist(), dtype=labels.dtype.str)
    shared = [sys.intern(label) if type(label) is str else label for label in labels.tolist()]
    return np.array(shared, dtype=object)


def _tree_of_table(table: NDArray[Any], *, with_path: bool) -> CountTree:
    """The tree of counts of shape (contexts, outcomes)."""
    context, outcome = (column.astype(np.int32) for column in np.nonzero(table))
    (tree,) = count_trees(
        [context, outcome],
        list(table.shape),
        [1],
        [[0] if with_path else []],
        weight=table[context, outcome].astype(np.float64),
    )
    return tree
