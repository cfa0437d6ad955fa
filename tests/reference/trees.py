"""A tree of counts as a dictionary: context -> counts of its outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from priorwise.counts import CountTree

Context = tuple[int, ...]
Table = dict[Context, np.ndarray]
"""One row of numbers per context."""


@dataclass
class DictTree:
    """Counts of every context that occurs and of every prefix of one; () is the root."""

    depth: int
    n_outcomes: int
    counts: Table

    @property
    def contexts(self) -> list[Context]:
        """Shorter contexts first, so a parent precedes its children."""
        return sorted(self.counts, key=lambda context: (len(context), context))

    @property
    def leaves(self) -> list[Context]:
        return [context for context in self.contexts if len(context) == self.depth]

    def children(self, context: Context) -> list[Context]:
        return [c for c in self.counts if len(c) == len(context) + 1 and c[:-1] == context]

    def ending(self, context: Context) -> np.ndarray:
        """The rows of a context that are in none of its children."""
        below = [self.counts[child] for child in self.children(context)]
        return self.counts[context] - np.sum([np.zeros(self.n_outcomes), *below], axis=0)

    def find(self, context: Sequence[int]) -> Context:
        """The longest prefix of the context that the tree knows."""
        known = tuple(context)
        while known not in self.counts:
            known = known[:-1]
        return known


def count_rows(
    path: Sequence[Sequence[int] | np.ndarray] | np.ndarray,
    outcome: Sequence[int] | np.ndarray,
    n_outcomes: int,
    weight: Sequence[float] | np.ndarray | None = None,
) -> DictTree:
    """Add every row to the context it has and to all prefixes of it.

    A row without an outcome, -1, is left out; a context ends before a missing value, -1.
    """
    tree = DictTree(len(path), n_outcomes, {(): np.zeros(n_outcomes)})
    for r in range(len(outcome)):
        w = 1.0 if weight is None else float(weight[r])
        if w == 0.0 or outcome[r] < 0:
            continue
        context = tuple(int(column[r]) for column in path)
        context = context[: context.index(-1)] if -1 in context else context
        for length in range(len(context) + 1):
            row = tree.counts.setdefault(context[:length], np.zeros(n_outcomes))
            row[outcome[r]] += w
    return tree


def contexts_of(tree: CountTree) -> list[Context]:
    """The context of every node of a flat tree."""
    contexts: list[Context] = [()]
    for node in range(1, tree.n_nodes):
        contexts.append((*contexts[tree.parent[node]], int(tree.value[node])))
    return contexts


def as_table(tree: CountTree, cells: np.ndarray) -> Table:
    """The numbers of a flat tree's cells by context; zero for outcomes a node does not list."""
    table = {}
    for node, context in enumerate(contexts_of(tree)):
        row = np.zeros(tree.n_outcomes)
        for cell in range(tree.row_start[node], tree.row_start[node + 1]):
            row[tree.outcome[cell]] = cells[cell]
        table[context] = row
    return table


def as_dict_tree(tree: CountTree) -> DictTree:
    return DictTree(tree.depth, tree.n_outcomes, as_table(tree, tree.counts))
