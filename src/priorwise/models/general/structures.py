"""The structure of a network: as a user gives it, or learnt from rows."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.validation import check_choice, check_number, name_near
from priorwise.counts import Information, measure_information
from priorwise.data.bif import read_bif_variables
from priorwise.models.general.coded_frame import find_variable
from priorwise.structure.networks import Network
from priorwise.structure.networks.hill_climb import climb_hill
from priorwise.structure.networks.kdb import learn_kdb, learn_tan

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
