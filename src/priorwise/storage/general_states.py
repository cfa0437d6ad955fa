"""How Bayesian networks of any graph are stored."""

from __future__ import annotations

from typing import Any

import numpy as np

from priorwise.common.stored.checks import check_numbers, require
from priorwise.common.stored.values import StateType, dataclass_state
from priorwise.common.validation import check_choice
from priorwise.counts import CountTree
from priorwise.data.tables import Categories
from priorwise.models.general.bayesian_network import BayesianNetwork
from priorwise.models.general.tables import GivenTable, LearntTable, OrderedTable
from priorwise.smoothing import Smoother
from priorwise.storage.state_types import estimator_state
from priorwise.storage.table_checks import check_cells, check_fitted
from priorwise.structure.networks import Network

FITTED: dict[str, Any] = {
    "variables_": list,
    "structure_": Network,
    "tables_": list,
    "categories_": list,
    "smoothing_": Smoother,
    "library_": (str, type(None)),
    "seed_": int,
}


def _check_given(table: GivenTable) -> None:
    array = table.array
    require(array.dtype == np.float64 and array.ndim > 0 and array.size > 0, "a table has numbers")
    flat = np.ascontiguousarray(array).ravel()
    check_numbers("probabilities", flat, array.size, least=0.0, most=1.0 + 1e-9)
    require(bool((np.abs(array.sum(axis=-1) - 1.0) < 1e-6).all()), "rows must sum to one")


def _check_ordered(table: OrderedTable) -> None:
    path = table.path
    require(sorted(path) == list(range(len(path))), "each parent must have a level")
    require(table.tree.depth == len(path), "each parent must have a level")
    check_cells(table.tree, table.cells)


def _check_learnt(table: LearntTable) -> None:
    require(len(table.orders) > 0, "a table must have counts")
    check_choice("rest", table.rest, ("parent", "uniform"))
    for one in table.orders:
        require(isinstance(one, OrderedTable), "a table must have counts")
        require(one.tree.n_outcomes == table.n_states, "trees must have the same states")


def _check_network(network: Any) -> None:
    check_fitted(network, *FITTED)
    n_variables = network.structure_.n_features
    for values in (network.variables_, network.tables_, network.categories_):
        require(len(values) == n_variables, "every variable needs a name, states and a table")
    require(len(set(network.variables_)) == n_variables, "names must differ")
    # Names of columns are texts or places; a table of both could not be read.
    kinds = {type(name) for name in network.variables_}
    require(kinds <= {str} or kinds == {int}, "names must be texts, or all of them places")
    require(len(network.structure_.order) == n_variables, "no variable may be left out")
    require(0 <= network.seed_ < 2**31, "seed_ must be a seed")
    require(all(isinstance(own, Categories) for own in network.categories_), "states are missing")
    arities = [len(own.labels) for own in network.categories_]
    for i, table in enumerate(network.tables_):
        require(isinstance(table, GivenTable | LearntTable), "a variable has no table")
        shape = (*(arities[parent] for parent in network.structure_.parents[i]), arities[i])
        if isinstance(table, GivenTable):
            require(table.array.shape == shape, "a table must have all contexts")
        else:
            require(table.n_states == arities[i], "a table must have all states")
            n_levels = {len(one.path) for one in table.orders}
            require(n_levels == {len(shape) - 1}, "each parent must have a level")


STATES: dict[str, StateType] = {
    "GivenTable": dataclass_state(GivenTable, _check_given, array=np.ndarray),
    "OrderedTable": dataclass_state(
        OrderedTable, _check_ordered, path=tuple, tree=CountTree, cells=np.ndarray
    ),
    "LearntTable": dataclass_state(LearntTable, _check_learnt, orders=list, rest=str, backoff=bool),
    "BayesianNetwork": estimator_state(BayesianNetwork, FITTED, _check_network),
}
