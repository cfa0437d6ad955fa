"""A general network as a stream of rows sees it: counts of its families, in passes."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

from priorwise.counts import CountTree, PairCounts, Tally, TreePlan
from priorwise.data.encoding import TableEncoder
from priorwise.models.general.coded_frame import find_states, survey_parameters
from priorwise.models.general.families import family_columns, plan_families
from priorwise.models.general.structures import (
    GivenStructure,
    find_target,
    learn_from_pairs,
    learn_structure,
    part_columns,
)
from priorwise.streaming.fit import StreamedModel, StreamNeeds
from priorwise.streaming.passes import CodedBatch, Pass
from priorwise.streaming.row_stream import RowStream
from priorwise.structure.networks import Network


class FamilyPass(Pass[CodedBatch, Tally, list[CountTree]]):
    """Count the families of a network: a variable and its parents."""

    title = "tables of families"

    def __init__(self, plan: TreePlan, n_jobs: int) -> None:
        self.plan = plan
        self.n_jobs = n_jobs

    def map(self, batch: CodedBatch) -> Tally:
        columns = family_columns(batch.rows.columns, batch.rows.arities.tolist())
        return Tally.count(self.plan, columns, n_jobs=self.n_jobs)

    def merge(self, a: Tally, b: Tally) -> Tally:
        return a.merge(b)

    def finish(self, state: Tally) -> list[CountTree]:
        return state.trees()


class VariablePairPass(Pass[CodedBatch, PairCounts, PairCounts]):
    """Count every pair of the other variables by the values of one, or of all by none."""

    title = "pairs of variables"

    def __init__(self, given: int | None, n_threads: int) -> None:
        self.given = given
        self.n_threads = n_threads

    def map(self, batch: CodedBatch) -> PairCounts:
        rows, pairs = batch.rows, PairCounts()
        parted = part_columns(rows.columns, rows.arities.tolist(), self.given)
        pairs.add(*parted, n_threads=self.n_threads)
        return pairs

    def merge(self, a: PairCounts, b: PairCounts) -> PairCounts:
        a.merge(b)
        return a


@dataclass(frozen=True, eq=False)
class StreamedGraph(StreamedModel):
    """A general network that learns by counting, in passes over all rows."""

    given: GivenStructure | None
    missing_values = ()

    def needs(self) -> StreamNeeds:
        return StreamNeeds(n_jobs=self.model.n_jobs, min_classes=1)

    def make_encoder(self, feature_names: list[str]) -> TableEncoder:
        return TableEncoder(
            **survey_parameters(self.model.missing, self.model.declared),
            categorical_features=feature_names,
        )

    def learn(self, rows: RowStream, seed: int) -> tuple[Any, ...]:
        """Return names, states, the network, the counts of its families and the seed."""
        names = list(rows.feature_names)
        network = None if self.given is None else self.given.to_network(names)
        states = {} if self.given is None else self.given.states
        encoder = copy(rows.encoder)
        encoder.categories_ = find_states(rows.survey, names, states, self.model.missing)
        arities = encoder.arities_.tolist()
        if network is None:
            network = self._learn_structure(rows, encoder)
        plan = plan_families(network, arities)
        families = rows.run(FamilyPass(plan, self.model.n_jobs), encoder)
        return names, encoder.categories_, network, families, seed

    def _learn_structure(self, rows: RowStream, encoder: TableEncoder) -> Network:
        names, model = list(rows.feature_names), self.model
        has_missing = model.missing == "ignore" and rows.survey.has_missing_labels
        if model.structure == "hill-climb" or has_missing or len(names) == 1:
            columns, arities = rows.collect(encoder).columns, encoder.arities_.tolist()
            return learn_structure(columns, arities, None, names, model)
        target = find_target(model, names)
        given = target if model.structure == "kdb" else None
        pairs = rows.run(VariablePairPass(given, model.n_jobs), encoder)
        information = pairs.information(n_threads=model.n_jobs)
        return learn_from_pairs(information, names, target, model)
