"""The table of one variable of a network, p(variable | parents), given or learnt."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.records import Record, part
from priorwise.common.runtime import map_in_threads
from priorwise.common.validation import check_choice
from priorwise.counts import CountTree, TreePlan, count_trees
from priorwise.counts.tree import check_cells
from priorwise.smoothing import Smoother
from priorwise.smoothing.base import checked_smooth
from priorwise.smoothing.hdp import draw_missing_levels
from priorwise.structure.networks import Network

MAX_DENSE_CELLS = 128_000_000
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
            draw_missing_levels(rows, level, one.tree.depth, concentrations, seed + place)
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


def plan_families(network: Network, arities: Sequence[int]) -> TreePlan:
    """Plan one tree per variable; a missing value of a parent has a code of its own."""
    n_variables = network.n_features
    coded = tuple(arity + 1 for arity in arities)
    return TreePlan((*coded, *arities), tuple(range(n_variables, 2 * n_variables)), network.parents)


def family_columns(
    columns: Sequence[NDArray[np.int32]], arities: Sequence[int]
) -> list[NDArray[np.int32]]:
    """Return the columns that `plan_families` counts: as parents, then as variables."""
    parents = [
        np.where(codes < 0, np.int32(arity), codes) if (codes < 0).any() else codes
        for codes, arity in zip(columns, arities, strict=True)
    ]
    return [*parents, *columns]


def learn_tables(
    network: Network,
    families: Sequence[CountTree],
    arities: Sequence[int],
    smoother: Smoother,
    *,
    n_orders: int | None,
    seed: int,
    n_jobs: int,
) -> tuple[list[LearntTable], Network]:
    """Smooth each family in some orders of its parents; return the network in the first order."""
    # Without back-off to contexts above, the order of the parents does not matter.
    if smoother.rest != "parent":
        n_orders = 1

    def learn(variable: int) -> tuple[LearntTable, tuple[int, ...]]:
        parents = network.parents[variable]
        known = [arities[parent] for parent in parents]
        family = families[variable]
        # The seeds of variables are apart, whatever the number of orders is.
        seeds = np.random.SeedSequence([seed, variable]).generate_state(1 + len(parents), np.uint64)
        if len(parents) < 2:
            tree = family if not parents else _reorder(family, known, [[0]])[0]
            orders: list[list[int]] = [list(range(len(parents)))]
            trees = [tree]
        else:
            first = rank_parents(family, known)
            orders = [[one, *(p for p in first if p != one)] for one in first[:n_orders]]
            trees = _reorder(family, known, orders)
        tables = [
            OrderedTable(
                tuple(orders[0].index(place) for place in order),
                tree,
                checked_smooth(smoother)(tree, int(one)),
            )
            for order, tree, one in zip(orders, trees, seeds, strict=False)
        ]
        ranked = tuple(parents[place] for place in orders[0])
        return LearntTable(tables, smoother.rest, smoother.backoff), ranked

    learnt = map_in_threads(
        learn, range(network.n_features), n_jobs=1 if smoother.cheap else n_jobs
    )
    ranked = tuple(parents for _, parents in learnt)
    return [table for table, _ in learnt], Network(
        ranked, network.order, network.feature_names, network.class_name
    )


def rank_parents(family: CountTree, arities: Sequence[int]) -> list[int]:
    """Order the parents of a family by conditional mutual information.

    The first has the largest I(X; P), the next the largest I(X; Q | P), and so on: each time the
    parent that leaves the least conditional entropy, to which (cells - contexts) / 2N is added,
    the first term of Miller and Madow's correction; of equals the earlier one.
    """
    order: list[int] = []
    left = list(range(len(arities)))
    while len(left) > 1:
        trees = _reorder(family, arities, [[*order, parent] for parent in left])
        best = left[int(np.argmin([_conditional_entropy(tree) for tree in trees]))]
        order.append(best)
        left.remove(best)
    return order + left


def _reorder(
    family: CountTree, arities: Sequence[int], paths: Sequence[Sequence[int]]
) -> list[CountTree]:
    """Count a family along other paths of its parents; codes from the arity on are missing."""
    codes, outcome, weight = family.leaf_rows()
    if any((column == arity).any() for column, arity in zip(codes, arities, strict=True)):
        codes = [
            np.where(column == arity, np.int32(-1), column)
            for column, arity in zip(codes, arities, strict=True)
        ]
    elif list(paths) == [list(range(len(arities)))]:
        return [family]
    columns = [np.ascontiguousarray(column) for column in [*codes, outcome]]
    target = len(arities)
    return count_trees(
        columns, [*arities, family.n_outcomes], [target] * len(paths), paths, weight=weight
    )


def _conditional_entropy(tree: CountTree) -> float:
    """Return N times the corrected entropy of the outcome given the deepest contexts, in nats."""
    first = tree.level_start[-2]
    cells = tree.counts[tree.row_start[first] :]
    cells, totals = cells[cells > 0], tree.totals[first:]
    totals = totals[totals > 0]
    entropy = totals @ np.log(totals) - cells @ np.log(cells)
    return float(entropy + 0.5 * (len(cells) - len(totals)))
