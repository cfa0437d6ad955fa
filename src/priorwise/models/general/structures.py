"""States and structure of a network: as a user gives them, or learnt from rows or passes."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.validation import check_choice, check_number, name_near
from priorwise.counts import (
    CountTree,
    Information,
    PairCounts,
    Tally,
    TreePlan,
    measure_information,
)
from priorwise.data.bif import read_bif_variables
from priorwise.data.cuts.names import WholeRange
from priorwise.data.encoding import TableEncoder
from priorwise.data.survey import Survey
from priorwise.data.survey.batch import RawColumns
from priorwise.data.tables import Categories, RawTable
from priorwise.models.general.tables import family_columns, plan_families
from priorwise.models.given_columns import MAX_NUMBERS
from priorwise.streaming.fit import StreamedModel, StreamNeeds
from priorwise.streaming.passes import CodedBatch, PairPass, Pass
from priorwise.streaming.row_stream import RowStream
from priorwise.structure.networks import Network
from priorwise.structure.networks.hill_climb import climb_hill
from priorwise.structure.networks.network import learn_kdb, learn_tan


@dataclass(frozen=True)
class CodedFrame:
    """The codes of some variables."""

    codes: dict[int, NDArray[np.int32]]  # by variable; -1 where the value is missing or no state
    strange: NDArray[np.bool_]  # rows with a value that is no state of its variable

    @classmethod
    def read(
        cls, table: RawTable, names: Sequence[Hashable], categories: Sequence[Categories]
    ) -> CodedFrame:
        """Code the columns of a table, all of which must be variables."""
        codes: dict[int, NDArray[np.int32]] = {}
        strange = np.zeros(table.n_rows, dtype=bool)
        for column, name in enumerate(table.names):
            place, values = find_variable(names, name, "a column"), table.nominal(column)
            codes[place] = categories[place].encode(values)
            strange |= (codes[place] < 0) & (values.codes >= 0)
        return cls(codes, strange)

    def patterns(self) -> list[tuple[list[int], NDArray[np.intp]]]:
        """Group the rows by the variables that they know: those variables, and the rows."""
        variables = sorted(self.codes)
        known = np.array([self.codes[i] >= 0 for i in variables]).reshape(len(variables), -1)
        if known.all():
            return [(variables, np.arange(len(self.strange)))]
        found, place = np.unique(known, axis=1, return_inverse=True)
        place = place.ravel()
        return [
            ([i for i, is_known in zip(variables, column, strict=True) if is_known],
             np.flatnonzero(place == group))
            for group, column in enumerate(found.T)
        ]  # fmt: skip


def survey_parameters(missing: str, declared: str) -> dict[str, Any]:
    """Return the parameters of an encoder that takes every value as a state."""
    return {
        "missing": missing, "declared": declared, "missing_values": [], "ordinal_features": None,
        "discretizer": WholeRange(),
    }  # fmt: skip


def survey_states(
    table: RawTable, weight: NDArray[np.float64] | None, missing: str, declared: str
) -> Survey:
    """Survey a table, all of whose columns are variables."""
    encoder = TableEncoder(**survey_parameters(missing, declared))
    return RawColumns.read(table, encoder, ["nominal"] * table.n_columns).survey(weight)


def find_states(
    survey: Survey,
    names: Sequence[Hashable],
    states: Mapping[Hashable, Sequence[Hashable]],
    missing: str,
) -> list[Categories]:
    """Return the states of each variable, with the weights of their rows.

    They are those that are given, or else those that the type of a column declares, in their order;
    else the values of the column, sorted. ValueError if a column has no value, one that is none of
    the states given, or more than `MAX_NUMBERS` numbers that no type declares.
    """
    found = []
    for name, labels in zip(names, survey.label_counts(), strict=True):
        listed = states.get(name) or (() if labels.declared is None else labels.labels)
        first = [label for label in listed if label is not None]
        known = Categories.of(first, [0.0] * len(first), frozenset())
        categories, _ = labels.to_categories(frozenset(), missing, known)
        if name in states and len(categories.labels) > len(first):
            label = categories.labels[len(first)]
            raise ValueError(f"column {name!r} must have states of the structure, got {label!r}")
        if not categories.labels:
            raise ValueError(f"column {name!r} must have a value that is not missing")
        if not listed:
            _check_numbers(name, categories.labels)
        found.append(categories)
    return found


def _check_numbers(name: Hashable, labels: Sequence[Hashable]) -> None:
    numbers = [label for label in labels if isinstance(label, int | float)]
    if len(numbers) > MAX_NUMBERS:
        raise ValueError(
            f"column {name!r} must have at most {MAX_NUMBERS} different numbers, each of which is "
            f"a state, got {len(numbers)}: cut them into intervals, for example by "
            f"pandas.qcut(frame[{name!r}], 5), or make the column text if the numbers are codes"
        )


def find_variable(names: Sequence[Hashable], name: Hashable, role: str) -> int:
    """Return the place of a variable by its name."""
    if name not in names:
        known = ", ".join(repr(one) for one in names[:20])
        raise ValueError(f"{role} must be a variable of the network ({known}), got {name!r}")
    return list(names).index(name)


LEARNT = ("chow-liu", "hill-climb", "kdb")
"""Names of the ways to learn a structure."""


@dataclass(frozen=True)
class GivenStructure:
    """Parents and, if they are known, states of variables."""

    arcs: list[tuple[Hashable, Hashable]]
    variables: list[Hashable]  # those that must be columns of the table
    states: dict[Hashable, Sequence[Hashable]]

    def to_network(self, names: Sequence[Hashable]) -> Network:
        """Return the network of the columns of a table."""
        place = {name: i for i, name in enumerate(names)}
        for name in self.variables:
            if name not in place:
                near = name_near(name, names)
                raise ValueError(f"structure must name columns of the table, got {name!r}{near}")
        parents: list[list[int]] = [[] for _ in names]
        for parent, child in self.arcs:
            if place[parent] not in parents[place[child]]:
                parents[place[child]].append(place[parent])
        try:
            return Network.from_parents(parents, [str(name) for name in names], class_name=None)
        except ValueError as error:
            raise ValueError(f"structure must be a graph without cycles: {error}") from error


def read_structure(structure: Any) -> GivenStructure | None:
    """Return a structure that is given by arcs, a graph, a network or a BIF file.

    None if it is the name of a way to learn one.
    """
    if isinstance(structure, str) and structure in LEARNT:
        return None
    if isinstance(structure, str | os.PathLike):
        if not str(structure).endswith((".bif", ".bif.gz")):
            names = ", ".join(repr(name) for name in LEARNT)
            raise ValueError(
                f"structure must be one of {names}, a file ending in .bif or .bif.gz, arcs or a "
                f"graph, got {structure!r}"
            )
        variables = read_bif_variables(structure)
        return GivenStructure(
            [(parent, one.name) for one in variables for parent in one.parents],
            [one.name for one in variables],
            {one.name: one.states for one in variables},
        )
    if hasattr(structure, "structure_") and hasattr(structure, "variables_"):
        names = structure.variables_
        arcs = [(names[a], names[b]) for a, b in structure.structure_.arcs()]
        return GivenStructure(arcs, list(names), dict(structure.states_))
    if hasattr(structure, "nodes") and hasattr(structure, "edges"):
        if hasattr(structure, "is_directed") and not structure.is_directed():
            raise ValueError("structure must be a directed graph, got an undirected one")
        nodes, edges = structure.nodes, structure.edges
        arcs = _check_arcs(edges() if callable(edges) else edges)
        return GivenStructure(arcs, list(nodes() if callable(nodes) else nodes), {})
    arcs = _check_arcs(structure)
    return GivenStructure(arcs, list(dict.fromkeys(name for arc in arcs for name in arc)), {})


def _check_arcs(arcs: Any) -> list[tuple[Hashable, Hashable]]:
    if not isinstance(arcs, Iterable):
        raise TypeError(f"structure must be arcs, a graph, a file or a name, got {arcs!r:.60}")
    result = []
    for arc in arcs.tolist() if isinstance(arcs, np.ndarray) else arcs:
        if isinstance(arc, str) or not isinstance(arc, Sequence) or len(arc) < 2:
            raise ValueError(f"structure must list arcs (parent, child), got {arc!r:.60}")
        result.append((arc[0], arc[1]))
    return result


def find_target(model: Any, names: Sequence[Hashable]) -> int | None:
    """Return the place of the target of a `BayesianNetwork`, None if there is none."""
    if model.target is not None:
        return find_variable(names, model.target, "target")
    if model.structure == "kdb":
        raise ValueError("target must name the class for structure='kdb', got None")
    return None


def learn_structure(
    columns: Sequence[NDArray[np.int32]],
    arities: Sequence[int],
    weight: NDArray[np.float64] | None,
    names: Sequence[Hashable],
    model: Any,
) -> Network:
    """Learn the structure of a `BayesianNetwork` from coded rows, in which -1 is missing."""
    target = find_target(model, names)
    if model.structure == "hill-climb":
        check_choice("search_score", model.search_score, ("bic", "bdeu"))
        check_number("equivalent_sample_size", model.equivalent_sample_size, least=1e-6, most=1e6)
        parents = climb_hill(
            columns, arities, weight,
            score=model.search_score, equivalent_sample_size=model.equivalent_sample_size,
            max_parents=int(model.max_parents),
            n_tabu=int(check_number("n_tabu", model.n_tabu, least=0, whole=True)),
            n_jobs=model.n_jobs,
        )  # fmt: skip
        return Network.from_parents(parents, [str(name) for name in names], class_name=None)
    if len(columns) == 1:
        return Network.from_parents([[]], [str(names[0])], class_name=None)
    given = target if model.structure == "kdb" else None
    codes, classes, other_arities, n_classes = part_columns(columns, arities, given)
    known = classes >= 0
    if not known.all():
        codes, classes = codes[:, known], classes[known]
        weight = None if weight is None else weight[known]
    information = measure_information(
        codes, classes, other_arities, n_classes, weight, n_threads=model.n_jobs
    )
    return learn_from_pairs(information, names, target, model)


def part_columns(
    columns: Sequence[NDArray[np.int32]], arities: Sequence[int], given: int | None
) -> tuple[NDArray[np.int32], NDArray[np.int32], list[int], int]:
    """Return the columns but a given one, that column as classes, and the arities of both.

    Without a given column there is a single class.
    """
    others = [i for i in range(len(columns)) if i != given]
    codes, other_arities = np.stack([columns[i] for i in others]), [arities[i] for i in others]
    if given is None:
        return codes, np.zeros(len(columns[0]), dtype=np.int32), other_arities, 1
    return codes, columns[given], other_arities, arities[given]


def learn_from_pairs(
    information: Information, names: Sequence[Hashable], target: int | None, model: Any
) -> Network:
    """Learn a structure from the information of pairs of columns, given the class of "kdb"."""
    if model.structure == "kdb" and target is not None:
        return _learn_class_network(information, names, target, int(model.max_parents))
    return _learn_chow_liu(information, names, target)


def _learn_chow_liu(
    information: Information, names: Sequence[Hashable], root: int | None
) -> Network:
    """Learn the tree of largest total mutual information (Chow and Liu 1968).

    `information` is that of the columns with a single class. The root is the variable with the
    largest sum of information unless it is given.
    """
    rank = information.conditional.sum(axis=1)
    if root is not None:
        rank = np.where(np.arange(len(rank)) == root, np.inf, rank)
    tree = learn_tan(replace(information, mutual=rank))
    return Network(tree.parents, tree.order, tuple(map(str, names)), None)


def _learn_class_network(
    information: Information, names: Sequence[Hashable], target: int, max_parents: int
) -> Network:
    """Learn a k-dependence network of the columns but the target, which is a parent of all."""
    others = [i for i in range(len(names)) if i != target]
    learnt = learn_kdb(information, max_parents)
    parents: list[tuple[int, ...]] = [()] * len(names)
    for place, i in enumerate(others):
        parents[i] = (target, *(others[j] for j in learnt.parents[place]))
    order = (target, *(others[place] for place in learnt.order))
    return Network(tuple(parents), order, tuple(map(str, names)), None)


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


class VariablePairPass(PairPass):
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
