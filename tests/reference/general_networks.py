"""Bayesian networks of any graph: every row and its probability, by their definition."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd

from priorwise import BayesianNetwork
from priorwise.models.general.tables import GivenTable


def random_network(n_variables: int, seed: int) -> BayesianNetwork:
    """Return a network of random arcs and tables, some of whose probabilities are zero."""
    rng = np.random.default_rng(seed)
    names = [f"v{i}" for i in range(n_variables)]
    arity = rng.integers(2, 4, n_variables)
    order = rng.permutation(n_variables)
    arcs = [
        (names[order[i]], names[order[j]])
        for j in range(n_variables)
        for i in range(j)
        if rng.random() < 0.4
    ]
    frame = pd.DataFrame({name: rng.integers(0, arity[i], 60) for i, name in enumerate(names)})
    frame = frame.apply(lambda column: column.map(lambda v: f"s{v}"))
    network = BayesianNetwork(arcs, smoothing="laplace").fit(frame)
    for i, name in enumerate(names):
        table = rng.dirichlet(
            np.full(network.table(name).shape[-1], 0.5), network.table(name).shape[:-1]
        )
        table[table < 0.05] = 0.0
        network.tables_[i] = GivenTable(table / table.sum(axis=-1, keepdims=True))
    return network


def enumerate_rows(network: BayesianNetwork) -> tuple[pd.DataFrame, np.ndarray]:
    """Return all combinations of states, and the product of the tables for each."""
    states = network.states_
    rows = pd.DataFrame(list(product(*states.values())), columns=list(states))
    codes = {name: rows[name].map(states[name].index).to_numpy() for name in states}
    p = np.ones(len(rows))
    for name, parents in zip(network.variables_, network.structure_.parents, strict=True):
        family = [*(network.variables_[i] for i in parents), name]
        p *= network.table(name)[tuple(codes[one] for one in family)]
    return rows, p
