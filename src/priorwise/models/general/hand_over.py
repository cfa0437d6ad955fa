"""A network handed over to other libraries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.runtime import import_extra
from priorwise.data.bif import BifVariable


def list_variables(
    network: Any, table_of: Callable[[int], NDArray[np.float64]]
) -> list[BifVariable]:
    """Return the variables of a network with names and states as texts, which must differ."""
    names = [str(name) for name in network.variables_]
    _check_distinct("names of variables", names)
    variables = []
    for i, categories in enumerate(network.categories_):
        states = ["missing" if one is None else str(one) for one in categories.labels]
        _check_distinct(f"states of {names[i]!r}", states)
        parents = tuple(names[parent] for parent in network.structure_.parents[i])
        variables.append(BifVariable(names[i], tuple(states), parents, table_of(i)))
    return variables


def _check_distinct(what: str, texts: list[str]) -> None:
    if len(set(texts)) < len(texts):
        raise ValueError(f"{what} must differ as texts, got {texts!r:.80}")


def as_pyagrum(variables: Sequence[BifVariable]) -> Any:
    pyagrum = import_extra("pyagrum", "to_pyagrum", "pyagrum")
    network = pyagrum.BayesNet()
    for one in variables:
        network.add(pyagrum.LabelizedVariable(one.name, one.name, list(one.states)))
    for one in variables:
        for parent in one.parents:
            network.addArc(parent, one.name)
    for one in variables:
        # There the axes of a table are the variable's parents in reverse order of their addition.
        tensor = network.cpt(one.name)
        axes = {name: place for place, name in enumerate((*one.parents, one.name))}
        order = [axes[name] for name in reversed(tensor.names)]
        tensor[:] = np.ascontiguousarray(np.transpose(one.table, order))
    return network


def as_pgmpy(variables: Sequence[BifVariable]) -> Any:
    models = import_extra("pgmpy.models", "to_pgmpy", "pgmpy")
    factors = import_extra("pgmpy.factors.discrete", "to_pgmpy", "pgmpy")
    arcs = [(parent, one.name) for one in variables for parent in one.parents]
    model = models.DiscreteBayesianNetwork(arcs)
    model.add_nodes_from([one.name for one in variables])
    states = {one.name: list(one.states) for one in variables}
    for one in variables:
        values = np.moveaxis(one.table, -1, 0).reshape(len(one.states), -1)
        model.add_cpds(
            factors.TabularCPD(
                one.name, len(one.states), values, list(one.parents) or None,
                [len(states[parent]) for parent in one.parents] or None,
                state_names={name: states[name] for name in (one.name, *one.parents)},
            )
        )  # fmt: skip
    return model
