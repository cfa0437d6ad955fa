"""Counts of many trees, batch by batch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.counts.tree import CountTree, count_trees

MAX_TABLE_CELLS = 65_536
"""A tree of at most this many possible cells is counted in a table; others by contexts."""


@dataclass(frozen=True)
class TreePlan:
    """Which trees to count: outcomes of column ``targets[i]`` in contexts of ``paths[i]``."""

    arities: tuple[int, ...]
    targets: tuple[int, ...]
    paths: tuple[tuple[int, ...], ...]

    def n_cells(self, i: int) -> int:
        """Combinations of values that tree i could meet."""
        return math.prod(self.arities[column] for column in (*self.paths[i], self.targets[i]))


@dataclass(eq=False)
class Tally:
    """Counts of the trees of a plan over some rows; tallies of batches merge.

    Few possible contexts are counted in a table, by index and without sorting; where there are too
    many, a tree holds those that occur. Trees of similar size are merged first, so that a long
    stream costs O(contexts log batches) and not O(contexts x batches).
    """

    plan: TreePlan
    tables: dict[int, NDArray[np.int64]]
    runs: dict[int, list[CountTree]] = field(default_factory=dict)
    """For each tree that has no table, trees of parts of the rows, the largest first; for others,
    trees of the rows that have a missing value."""

    @classmethod
    def count(
        cls, plan: TreePlan, columns: Sequence[NDArray[np.int32]], *, n_jobs: int = 1
    ) -> Tally:
        """Count one batch of coded rows."""
        small = [i for i in range(len(plan.targets)) if plan.n_cells(i) <= MAX_TABLE_CELLS]
        large = [i for i in range(len(plan.targets)) if plan.n_cells(i) > MAX_TABLE_CELLS]
        tables = {i: np.zeros(plan.n_cells(i), dtype=np.int64) for i in small}
        missing = _core.add_to_tables(
            list(columns),
            np.array(plan.arities, dtype=np.int32),
            [plan.targets[i] for i in small],
            [list(plan.paths[i]) for i in small],
            list(tables.values()),
            n_jobs,
        )
        runs: dict[int, list[CountTree]] = {}
        if large:
            targets, paths = [plan.targets[i] for i in large], [plan.paths[i] for i in large]
            trees = count_trees(columns, plan.arities, targets, paths, n_jobs=n_jobs)
            runs = {i: [tree] for i, tree in zip(large, trees, strict=True)}
        for i in small if missing else ():
            tree = _count_incomplete(plan, i, columns, missing)
            if tree.totals[0] > 0:
                runs[i] = [tree]
        return cls(plan, tables, runs)

    def merge(self, other: Tally) -> Tally:
        """The counts of the rows of both; neither may be used afterwards."""
        for i, table in other.tables.items():
            self.tables[i] += table
        for i, runs in other.runs.items():
            self.runs[i] = _merge_runs([*self.runs.get(i, []), *runs])
        return self

    @property
    def n_contexts(self) -> int:
        """Contexts that occur at least, those of tables left out."""
        runs = [runs for i, runs in self.runs.items() if i not in self.tables]
        return sum(max(tree.n_nodes for tree in of_tree) for of_tree in runs)

    def merge_rarest(self, max_contexts: int) -> None:
        """Count the rarest contexts as one, so that about half of `max_contexts` are left.

        Tables stay as they are: their size is bounded.
        """
        share = max_contexts / (2.0 * self.n_contexts)
        for i in self.runs.keys() - self.tables.keys():
            tree = self._tree(i)
            other = [self.plan.arities[column] for column in self.plan.paths[i]]
            self.runs[i] = [tree.merge_rarest(int(share * tree.n_nodes), other)]

    def trees(self) -> list[CountTree]:
        """The trees of all rows, in the order of the plan."""
        return [self._tree(i) for i in range(len(self.plan.targets))]

    def _tree(self, i: int) -> CountTree:
        if i in self.runs:
            first, *others = self.runs[i]
            for tree in reversed(others):
                first = first.merge(tree)
            self.runs[i] = [first]
            return first.merge(self._tree_of_table(i)) if i in self.tables else first
        return self._tree_of_table(i)

    def _tree_of_table(self, i: int) -> CountTree:
        arities = [self.plan.arities[c] for c in (*self.plan.paths[i], self.plan.targets[i])]
        table = self.tables[i]
        seen = np.flatnonzero(table)
        *path, outcome = np.unravel_index(seen, arities)
        return CountTree.from_rows(path, outcome, arities[-1], weight=table[seen])


def _count_incomplete(
    plan: TreePlan, i: int, columns: Sequence[NDArray[np.int32]], missing: list[int]
) -> CountTree:
    """Count the rows of tree i that miss a value of some of the columns `missing`."""
    used = [*plan.paths[i], plan.targets[i]]
    incomplete = np.zeros(len(columns[0]), dtype=bool)
    for column in {*used} & {*missing}:
        incomplete |= columns[column] < 0
    *path, outcome = (columns[column][incomplete] for column in used)
    return CountTree.from_rows(path, outcome, plan.arities[plan.targets[i]])


def _merge_runs(runs: list[CountTree]) -> list[CountTree]:
    runs = sorted(runs, key=lambda tree: -tree.n_nodes)
    while len(runs) > 1 and 2 * runs[-1].n_nodes > runs[-2].n_nodes:
        shorter, longer = runs.pop(), runs.pop()
        runs.append(longer.merge(shorter))
        runs.sort(key=lambda tree: -tree.n_nodes)
    return runs
