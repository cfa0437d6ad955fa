"""Counts of the families of a network: a variable and its parents, in any order of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from priorwise.common.resources import map_in_threads
from priorwise.counts import CountTree, TreePlan, count_trees
from priorwise.models.general.tables import LearntTable, OrderedTable
from priorwise.smoothing import Smoother
from priorwise.structure.networks import Network


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
                smoother.smooth(tree, int(one)),
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
