"""The structure of a network: as a user gives it, or learnt from rows."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.validation import name_near
from priorwise.counts import Information, measure_information
from priorwise.data.bif import read_bif_variables
from priorwise.structure.networks import Network
from priorwise.structure.networks.kdb import learn_kdb
from priorwise.structure.networks.tan import learn_tan

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


def learn_chow_liu(
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


def learn_class_network(
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


def measure_columns(
    columns: Sequence[NDArray[np.int32]],
    arities: Sequence[int],
    weight: NDArray[np.float64] | None,
    *,
    target: int | None,
    n_jobs: int,
) -> Information:
    """Measure the information of pairs of columns, given the target if there is one."""
    n_rows = len(columns[0])
    if target is None:
        classes, n_classes = np.zeros(n_rows, dtype=np.int32), 1
    else:
        classes, n_classes = columns[target], arities[target]
    known = classes >= 0
    others = [i for i in range(len(columns)) if i != target]
    codes = np.stack([columns[i] for i in others])
    if not known.all():
        codes, classes = codes[:, known], classes[known]
        weight = None if weight is None else weight[known]
    return measure_information(
        codes, classes, [arities[i] for i in others], n_classes, weight, n_threads=n_jobs
    )
