"""Exact inference in a network, by elimination of variables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from priorwise import _core
from priorwise.models.general.tables import VariableTable, spread_table

MAX_CELLS = 64_000_000
"""Most cells of the intermediate tables of a query, which take 8 bytes each: 512 MB."""

MAX_BOUND_CELLS = 16_000_000
"""Most cells of all tables of a network that are kept ready for queries; of a larger network, the
tables that a query needs are written out for it."""

Evidence = Mapping[int, NDArray[np.int32]]
"""The states of variables by their places, in each row; all rows know the same variables."""


@dataclass(frozen=True)
class Inference:
    """The tables of a network, ready for queries.

    Variables are named by their places in the network. Those that neither are asked for, nor known,
    nor ancestors of such variables take no part in a query.
    """

    parents: Sequence[Sequence[int]]
    arities: Sequence[int]
    table_of: Callable[[int], NDArray[np.float64]]
    n_jobs: int
    bound: _core.NetworkTables | None

    @classmethod
    def of(
        cls,
        parents: Sequence[Sequence[int]],
        arities: Sequence[int],
        table_of: Callable[[int], NDArray[np.float64]],
        n_jobs: int,
    ) -> Inference:
        """Return the network, its tables bound unless they are large."""
        sizes = (math.prod(arities[j] for j in (*own, i)) for i, own in enumerate(parents))
        all_places = range(len(arities)) if sum(sizes) <= MAX_BOUND_CELLS else ()
        bound = bind_tables(parents, arities, table_of, all_places) if all_places else None
        return cls(parents, arities, table_of, n_jobs, bound)

    def joint(
        self, evidence: Evidence, targets: Sequence[int], n_rows: int = 1
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the joint table of the targets for each row, up to a factor.

        The first result has one axis for rows and one for each target. Without targets it has to be
        multiplied by exp of the second, one number per row, to give the probability of the row.
        """
        joint, scale = self._ask(_core.infer_joint, evidence, targets, n_rows)
        return joint.reshape(n_rows, *(self.arities[i] for i in targets)), scale

    def marginals(
        self, evidence: Evidence, targets: Sequence[int], n_rows: int = 1
    ) -> list[NDArray[np.float64]]:
        """Return the distribution of each target for each row; zeros for impossible rows."""
        joined = self._ask(_core.infer_marginals, evidence, targets, n_rows)
        ends = np.cumsum([self.arities[i] for i in targets])[:-1]
        return np.split(joined, ends, axis=1)

    def best(
        self, evidence: Evidence, targets: Sequence[int], n_rows: int = 1
    ) -> NDArray[np.int32]:
        """Return the states of the targets that are most probable together, per row."""
        best: NDArray[np.int32] = self._ask(_core.infer_best, evidence, targets, n_rows)
        return best

    def draw(self, evidence: Evidence, uniform: NDArray[np.float64]) -> NDArray[np.int32]:
        """Draw the ancestors of known variables by uniform numbers, (rows, variables).

        Others are -1.
        """
        if self.bound is None:
            places = find_ancestors(self.parents, evidence)
            known = {places.index(i): states for i, states in evidence.items()}
            tables = bind_tables(self.parents, self.arities, self.table_of, places)
            drawn = np.full(uniform.shape, -1, dtype=np.int32)
            own = np.ascontiguousarray(uniform[:, places])
            drawn[:, places] = _call(_core.draw_states, tables, *_as_arrays(known, 1), own)
            return drawn
        drawn = _call(_core.draw_states, self.bound, *_as_arrays(evidence, 1), uniform)
        return drawn

    def _ask(
        self, kernel: Callable[..., Any], evidence: Evidence, targets: Sequence[int], n_rows: int
    ) -> Any:
        tables = self.bound
        if tables is None:
            places = find_ancestors(self.parents, [*evidence, *targets])
            tables = bind_tables(self.parents, self.arities, self.table_of, places)
            evidence = {places.index(i): states for i, states in evidence.items()}
            targets = [places.index(i) for i in targets]
        wanted = np.array(targets, dtype=np.int32)
        known, states = _as_arrays(evidence, n_rows)
        return _call(kernel, tables, known, states, wanted, n_threads=self.n_jobs)


def _call(kernel: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    try:
        return kernel(*arguments, max_cells=MAX_CELLS, **options)
    except ValueError as error:
        raise ValueError(
            f"{error}; know more variables or ask for fewer, or use to_pyagrum() or to_pgmpy() and "
            "their approximate inference"
        ) from error


def _as_arrays(evidence: Evidence, n_rows: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the places of known variables, and their states as a matrix (rows x variables)."""
    states = np.empty((n_rows, len(evidence)), dtype=np.int32)
    for column, codes in enumerate(evidence.values()):
        states[:, column] = codes
    return np.array([*evidence], dtype=np.int32), states


def bind_tables(
    parents: Sequence[Sequence[int]],
    arities: Sequence[int],
    table_of: Callable[[int], NDArray[np.float64]],
    places: Sequence[int],
) -> _core.NetworkTables:
    """Return the tables at some places, which hold the parents of each of them."""
    at = {place: k for k, place in enumerate(places)}
    return _core.NetworkTables(
        np.array([arities[i] for i in places], dtype=np.int32),
        [np.array([at[j] for j in parents[i]], dtype=np.int32) for i in places],
        [np.ascontiguousarray(table_of(i), dtype=np.float64).ravel() for i in places],
    )


def find_ancestors(parents: Sequence[Sequence[int]], variables: Iterable[int]) -> list[int]:
    """Return the variables and all that they depend on.

    >>> find_ancestors([[1], [], [0]], [0])
    [0, 1]
    """
    reached: set[int] = set()
    waiting = list(variables)
    while waiting:
        one = waiting.pop()
        if one not in reached:
            reached.add(one)
            waiting += parents[one]
    return sorted(reached)


_KEPT: WeakKeyDictionary[Any, tuple[list[VariableTable], Inference]] = WeakKeyDictionary()
"""The tables of each network that was asked something."""


def keep_inference(network: Any) -> Inference:
    """Return the tables of a `BayesianNetwork`, which are kept until its next `fit`."""
    kept = _KEPT.get(network)
    if kept is None or kept[0] is not network.tables_:
        kept = _KEPT[network] = (network.tables_, _read_network(network))
    return kept[1]


def _read_network(network: Any) -> Inference:
    # What is kept holds tables and names, but not the network, which could then not be freed.
    tables, names, parents = network.tables_, network.variables_, network.structure_.parents
    arities = [table.n_states for table in tables]

    def spread(place: int) -> NDArray[np.float64]:
        return spread_table(tables[place], [arities[i] for i in parents[place]], names[place])

    return Inference.of(parents, arities, spread, int(effective_n_jobs(network.n_jobs)))
