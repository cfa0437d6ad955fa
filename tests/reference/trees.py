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


def validate(tree: CountTree) -> None:
    """Raise unless this is a tree of counts whose inner nodes hold the sums of their children.

    The second is true of all trees whose rows end at leaves.
    """
    tree.with_counts(tree.counts)  # the constructor validates
    inner = np.repeat(np.diff(tree.child_start) > 0, np.diff(tree.row_start))
    first = int(tree.row_start[1])
    sums = np.bincount(tree.parent_cell[first:], tree.counts[first:], minlength=tree.n_cells)
    if not np.allclose(sums[inner], tree.counts[inner], rtol=1e-9, atol=1e-9):
        raise ValueError("not a tree of counts: an inner node must hold the sum of its children")


def without_row(
    tree: CountTree, path: Sequence[int], outcome: int, weight: float = 1.0
) -> CountTree:
    """The tree with a row taken out of every node on its path; nodes left without rows stay."""
    counts = tree.counts.copy()
    node = int(tree.find([np.array([code]) for code in path], n_rows=1)[0])
    cells = range(tree.row_start[node], tree.row_start[node + 1])
    (cell,) = (one for one in cells if tree.outcome[one] == outcome)
    assert tree.level[node] == tree.depth
    assert counts[cell] >= weight
    counts[cell] -= weight
    # Above, sums and not differences: a small count that a large one has swallowed would become
    # negative.
    while tree.parent_cell[cell] >= 0:
        cell = int(tree.parent_cell[cell])
        counts[cell] = counts[tree.parent_cell == cell].sum()
    return tree.with_counts(counts)
