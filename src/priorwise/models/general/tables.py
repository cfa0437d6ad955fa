"""The table of one variable of a network: p(variable | parents)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.records import Record, part
from priorwise.common.validation import check_choice
from priorwise.counts import CountTree
from priorwise.counts.tree import check_cells
from priorwise.smoothing.hdp import draw_missing_levels

MAX_DENSE_CELLS = 2**27
"""Most cells of a table that is spread out over all contexts."""

Codes = Sequence[NDArray[np.int32]]


@dataclass(frozen=True, eq=False)
class GivenTable(Record):
    """A table that was read and not learnt: one axis per parent, then the states."""

    array: NDArray[np.float64] = part(np.ndarray)

    def check_rules(self) -> None:
        array = self.array
        if array.dtype != np.float64 or array.ndim == 0 or array.size == 0:
            raise ValueError("a table must hold numbers")
        if array.min() < 0.0 or not (np.abs(array.sum(axis=-1) - 1.0) < 1e-6).all():
            raise ValueError("rows of a table must be probabilities that sum to one")

    @property
    def n_states(self) -> int:
        """Number of states of the variable."""
        return int(self.array.shape[-1])

    def rows(self, parents: Codes, n_rows: int) -> NDArray[np.float64]:
        """Return one distribution per row, by the codes of the parents, none of them missing."""
        rows = self.array[tuple(parents)]
        return rows if parents else np.tile(rows, (n_rows, 1))


@dataclass(frozen=True, eq=False)
class OrderedTable(Record):
    """Counts and probabilities for one order of the parents."""

    path: tuple[int, ...] = part(int, several=True)
    """Places among the parents, the outermost level of the tree first."""
    tree: CountTree = part(CountTree)
    cells: NDArray[np.float64] = part(np.ndarray)
    """The probability of each cell of the tree."""

    def check_rules(self) -> None:
        if sorted(self.path) != list(range(len(self.path))) or self.tree.depth != len(self.path):
            raise ValueError("each parent must have a level")
        check_cells(self.tree, self.cells)

    def find(self, parents: Codes, n_rows: int) -> NDArray[np.int32]:
        """Return the deepest node of each context."""
        return self.tree.find([parents[place] for place in self.path], n_rows=n_rows)


@dataclass(frozen=True, eq=False)
class LearntTable(Record):
    """The mean of estimates for some orders of the parents."""

    orders: list[OrderedTable] = part(OrderedTable, several=True)
    rest: str = part(str)
    """As in `Smoother`."""
    backoff: bool = part(bool)

    def check_rules(self) -> None:
        check_choice("rest", self.rest, ("parent", "uniform"))
        if len({one.tree.n_outcomes for one in self.orders}) != 1:
            raise ValueError("a table must have counts, all of the same states")

    @property
    def n_states(self) -> int:
        return int(self.orders[0].tree.n_outcomes)

    def rows(self, parents: Codes, n_rows: int) -> NDArray[np.float64]:
        result = np.zeros((n_rows, self.n_states))
        for one in self.orders:
            node = one.find(parents, n_rows)
            distinct, place = np.unique(node, return_inverse=True)
            proba = one.tree.rows(one.cells, distinct, rest=self.rest)
            if not self.backoff:
                proba[one.tree.level[distinct] < one.tree.depth] = 1.0 / self.n_states
            result += proba[place]
        return result / len(self.orders)

    def draw(
        self, smoother: Any, parents: Codes, n_rows: int, *, n_samples: int, seed: int
    ) -> NDArray[np.float64]:
        """Draw the distributions of contexts from their posterior: (samples, rows, states).

        The draws of the orders of parents are joined, as the estimates are averaged.
        """
        n_each = math.ceil(n_samples / len(self.orders))
        draws = []
        for place, one in enumerate(self.orders):
            cells, concentrations = smoother.sample_with_concentrations(
                one.tree, n_samples=n_each, seed=seed + place
            )
            node = one.find(parents, n_rows)
            distinct, where = np.unique(node, return_inverse=True)
            rows = np.stack([one.tree.rows(draw, distinct, rest=self.rest) for draw in cells])
            level = one.tree.level[distinct]
            draw_missing_levels(rows, level, concentrations, seed + place)
            draws.append(rows[:, where])
        return np.concatenate(draws)


VariableTable = GivenTable | LearntTable


def spread_table(table: VariableTable, arities: Sequence[int], name: object) -> NDArray[np.float64]:
    """Return a table with one axis per parent, of these arities, and one for the states."""
    if isinstance(table, GivenTable):
        return table.array
    n_contexts = math.prod(arities)
    if n_contexts * table.n_states > MAX_DENSE_CELLS:
        raise ValueError(
            f"the table of {name!r} must have at most {MAX_DENSE_CELLS} cells to be written out, "
            f"got {n_contexts * table.n_states}"
        )
    contexts = list_contexts(arities)
    return table.rows(contexts, n_contexts).reshape(*arities, table.n_states)


def list_contexts(arities: Sequence[int]) -> list[NDArray[np.int32]]:
    """Return the codes of every combination of values, the last varying fastest.

    >>> [codes.tolist() for codes in list_contexts([2, 2])]
    [[0, 0, 1, 1], [0, 1, 0, 1]]
    """
    if not arities:
        return []
    places = np.arange(math.prod(arities))
    return [codes.astype(np.int32) for codes in np.unravel_index(places, tuple(arities))]
