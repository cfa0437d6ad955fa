"""Trees of counts: what every model learns and every smoother reads."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priorwise import _core
from priorwise.common.stored.checks import check_numbers, require

MAX_DENSE_OUTCOMES = 4
"""Up to this many outcomes every node lists them all; beyond, only those seen below it."""

ROUNDING = 1e-9
"""Share of a sum of weights that is taken as an error of rounding."""


class CountTree(_core.CountTree):
    """Counts of outcomes for every context on a path, flat and in level order.

    The root is the empty context; a node at level l is a context of l values. Nodes are numbered
    level by level, so a parent precedes its children, and the children of a node are contiguous and
    sorted by value. Only contexts that occur have a node, so memory is proportional to the contexts
    seen and not to the product of the arities.

    Each node has the number of its `parent` and the `value` that leads to it, both -1 at the root;
    ``level_start`` is the first node of each level. Node u owns the cells
    ``row_start[u]:row_start[u + 1]``, one per outcome it lists. Each cell has its `outcome`, the
    cell of that outcome at the parent (`parent_cell`, -1 at the root) and its `counts`: rows, or
    sums of weights, at an inner node the sum of its children. A smoother returns one probability
    per cell; `rows` spreads those into a table, `count_rows` the counts.

    >>> tree = CountTree.from_rows([[0, 0, 1]], [0, 1, 1], n_outcomes=2)
    >>> tree.count_rows().tolist()
    [[1.0, 2.0], [1.0, 1.0], [0.0, 1.0]]
    """

    @classmethod
    def from_rows(
        cls,
        path: Sequence[ArrayLike],
        outcome: ArrayLike,
        n_outcomes: int,
        *,
        weight: ArrayLike | None = None,
    ) -> CountTree:
        """Count rows given as one array of codes per level of the path, and their outcomes.

        A code of -1 is a missing value, as in `count_trees`.
        """
        columns = [as_codes(column) for column in [*path, outcome]]
        arities = [int(column.max(initial=0)) + 1 for column in columns[:-1]] + [n_outcomes]
        depth = len(columns) - 1
        (tree,) = count_trees(columns, arities, [depth], [list(range(depth))], weight=weight)
        return tree

    @property
    def n_nodes(self) -> int:
        return len(self.parent)

    @property
    def n_cells(self) -> int:
        return len(self.counts)

    @property
    def depth(self) -> int:
        """Levels below the root."""
        return len(self.level_start) - 2

    @cached_property
    def level(self) -> NDArray[np.int32]:
        """Level of each node; 0 at the root."""
        return np.repeat(
            np.arange(self.depth + 1, dtype=np.int32), self.level_start[1:] - self.level_start[:-1]
        )

    def find(
        self, path: Sequence[ArrayLike], n_rows: int | None = None, n_jobs: int = 1
    ) -> NDArray[np.int32]:
        """The deepest node of each row's context.

        A code of -1, or a value never seen in that context, ends the walk: the row backs
        off to the node reached so far. A path shorter than the tree stops at an inner node.
        """
        columns = [as_codes(column) for column in path]
        if len(columns) > self.depth:
            raise ValueError(f"path must have at most {self.depth} levels, got {len(columns)}")
        if n_rows is None:
            n_rows = len(columns[0]) if columns else 0
        return _core.find_tree_nodes(self, columns, n_rows, n_jobs)

    def rows(
        self,
        cells: NDArray[np.float64],
        nodes: ArrayLike | None = None,
        *,
        rest: str | None,
    ) -> NDArray[np.float64]:
        """Spread one probability per cell into rows over all outcomes, for some or all nodes.

        Outcomes that a node of a sparse tree does not list share what the listed ones leave of
        one: in proportion to the parent's row (``rest="parent"``), evenly (``rest="uniform"``) or
        not at all (``rest=None``). `Smoother.rows` shares as the smoother does. A node that lists
        nothing copies its parent; above the root everything is uniform. Cells of shape
        (n_draws, n_cells) give rows of shape (n_draws, n_nodes, n_outcomes).
        """
        chosen = np.arange(self.n_nodes) if nodes is None else np.asarray(nodes)
        draws = cells.shape[:-1]
        if self.is_dense:
            return np.asarray(cells.reshape(*draws, self.n_nodes, self.n_outcomes)[..., chosen, :])
        table = np.zeros((*draws, len(chosen), self.n_outcomes))
        known: dict[int, NDArray[np.float64]] = {}
        for i, node in enumerate(chosen):
            table[..., i, :] = self._sparse_row(int(node), cells, rest, known)
        return table

    def count_rows(self, nodes: ArrayLike | None = None) -> NDArray[np.float64]:
        """Counts of all outcomes, listed or not, for some or all nodes."""
        return self.rows(self.counts, nodes, rest=None)

    def _sparse_row(
        self,
        node: int,
        cells: NDArray[np.float64],
        rest: str | None,
        known: dict[int, NDArray[np.float64]],
    ) -> NDArray[np.float64]:
        shape = (*cells.shape[:-1], self.n_outcomes)
        if node < 0:
            return np.full(shape, 1.0 / self.n_outcomes)
        if node not in known:
            first, last = self.row_start[node : node + 2]
            listed, own = self.outcome[first:last], cells[..., first:last]
            row = np.zeros(shape)
            if rest is not None:
                copies = rest == "parent" or first == last
                above = int(self.parent[node]) if copies else -1
                row = self._sparse_row(above, cells, rest, known).copy()
                row[..., listed] = 0.0
                # The row above may leave these outcomes nothing, because of rounding.
                while above >= 0 and (empty := ~row.any(axis=-1, keepdims=True)).any():
                    above = int(self.parent[above])
                    row = np.where(empty, self._sparse_row(above, cells, rest, known), row)
                    row[..., listed] = 0.0
                left = np.maximum(0.0, 1.0 - own.sum(axis=-1, keepdims=True))
                total = row.sum(axis=-1, keepdims=True)
                row *= np.divide(left, total, out=np.zeros_like(total), where=total > 0.0)
            row[..., listed] = own
            known[node] = row
        return known[node]

    def leaf_rows(self) -> tuple[list[NDArray[np.int32]], NDArray[np.int32], NDArray[np.float64]]:
        """The tree as weighted rows: codes of each level, outcomes and weights.

        The codes of a row that ends above the last level are -1 from there on.
        """
        n_last = self.totals[self.level_start[-2] :].sum()
        if self.totals[0] - n_last <= min(0.5, ROUNDING * self.totals[0]):
            first_cell = int(self.row_start[self.level_start[-2]])
            weight = self.counts[first_cell:]
        else:
            first_cell = 0
            below = np.bincount(
                self.parent_cell[self.row_start[1] :],
                weights=self.counts[self.row_start[1] :],
                minlength=self.n_cells,
            )
            weight = self.counts - below
            weight[weight <= np.minimum(0.5, ROUNDING * self.counts)] = 0.0
        chosen = np.flatnonzero(weight)
        node: NDArray[Any] = np.searchsorted(self.row_start, first_cell + chosen, side="right") - 1
        path = []
        for level in range(self.depth, 0, -1):
            is_here = node >= self.level_start[level]
            path.append(np.where(is_here, self.value[node], np.int32(-1)))
            node = np.where(is_here, self.parent[node], node)
        return path[::-1], self.outcome[first_cell + chosen], weight[chosen]

    def merge(self, other: CountTree) -> CountTree:
        """The tree of the rows of both."""
        if (self.depth, self.n_outcomes) != (other.depth, other.n_outcomes):
            raise ValueError(
                f"other must have depth {self.depth} and {self.n_outcomes} outcomes, "
                f"got {other.depth} and {other.n_outcomes}"
            )
        mine, theirs = self.leaf_rows(), other.leaf_rows()
        path = [np.concatenate(pair) for pair in zip(mine[0], theirs[0], strict=True)]
        return CountTree.from_rows(
            path,
            np.concatenate([mine[1], theirs[1]]),
            self.n_outcomes,
            weight=np.concatenate([mine[2], theirs[2]]),
        )

    def subtract(self, other: CountTree) -> CountTree:
        """The tree of the rows of this one that `other` does not have.

        ValueError if `other` has more rows of a context and outcome.
        """
        mine, theirs = self.leaf_rows(), other.leaf_rows()
        cells = [np.concatenate(pair) for pair in zip(mine[0], theirs[0], strict=True)]
        cells.append(np.concatenate([mine[1], theirs[1]]))
        distinct, place = np.unique(np.array(cells), axis=1, return_inverse=True)
        n_cells, place = distinct.shape[1], place.ravel()
        had = np.bincount(place[: len(mine[1])], mine[2], n_cells)
        taken = np.bincount(place[len(mine[1]) :], theirs[2], n_cells)
        rounding = ROUNDING * np.maximum(had, taken)
        if (taken - had > rounding).any():
            raise ValueError("other must hold rows that were counted, got more rows than there are")
        left = np.where(had - taken <= rounding, 0.0, had - taken)
        kept = np.flatnonzero(left)
        *path, outcome = (column[kept] for column in distinct)
        return CountTree.from_rows(path, outcome, self.n_outcomes, weight=left[kept])

    def recode(
        self, path: Sequence[NDArray[np.int32]], outcomes: NDArray[np.int32], n_outcomes: int
    ) -> CountTree:
        """The tree with other codes: ``path[l][v]`` for value v of level l, ``outcomes[v]``."""
        codes, outcome, weight = self.leaf_rows()
        # A code of -1 stays what it is.
        new = [np.where(old < 0, old, names[old]) for old, names in zip(codes, path, strict=True)]
        return CountTree.from_rows(new, outcomes[outcome], n_outcomes, weight=weight)

    def with_outcomes(self, n_outcomes: int) -> CountTree:
        """The same counts where more outcomes exist."""
        if n_outcomes < self.n_outcomes:
            raise ValueError(f"n_outcomes must be at least {self.n_outcomes}, got {n_outcomes}")
        if n_outcomes == self.n_outcomes:
            return self
        path, outcome, weight = self.leaf_rows()
        return CountTree.from_rows(path, outcome, n_outcomes, weight=weight)

    def truncate(self, depth: int) -> CountTree:
        """The tree without the levels below `depth`."""
        if depth >= self.depth:
            return self
        n_nodes = self.level_start[depth + 1]
        n_cells = self.row_start[n_nodes]
        return CountTree(
            self.parent[:n_nodes],
            self.value[:n_nodes],
            self.level_start[: depth + 2],
            self.row_start[: n_nodes + 1],
            self.outcome[:n_cells],
            self.parent_cell[:n_cells],
            self.counts[:n_cells],
            self.n_outcomes,
        )

    def merge_rarest(self, n_nodes: int, other: Sequence[int]) -> CountTree:
        """The tree with at most about `n_nodes` nodes: the rarest contexts are counted as one.

        Of each parent, contexts with the fewest rows become a single one of value
        ``other[level]``, which no row has: rows of a context that was merged away back off to
        the parent. The deepest level goes first; the first level, the class, stays.
        """
        tree = self
        for level in range(self.depth, 1, -1):
            if tree.n_nodes <= n_nodes:
                break
            first, last = (int(u) for u in tree.level_start[level : level + 2])
            # What is merged leaves one context behind for each parent.
            n_parents = int(tree.level_start[level] - tree.level_start[level - 1])
            n_kept = max(0, last - first - (tree.n_nodes - n_nodes) - n_parents)
            by_rows = np.argsort(-tree.totals[first:last], kind="stable")
            rare = np.zeros(tree.n_nodes, dtype=bool)
            rare[first + by_rows[n_kept:]] = True
            tree = tree._merge_nodes(rare, level, other)
        return tree

    def _merge_nodes(self, rare: NDArray[np.bool_], level: int, other: Sequence[int]) -> CountTree:
        path, outcome, weight = self.leaf_rows()
        node = self.find(path[:level], n_rows=len(outcome))
        for deeper in range(level - 1, self.depth):
            path[deeper] = np.where(rare[node], np.int32(other[deeper]), path[deeper])
        return CountTree.from_rows(path, outcome, self.n_outcomes, weight=weight)

    def with_counts(self, counts: ArrayLike) -> CountTree:
        """The tree of the same contexts with other counts, one per cell."""
        return CountTree(
            self.parent,
            self.value,
            self.level_start,
            self.row_start,
            self.outcome,
            self.parent_cell,
            np.ascontiguousarray(counts, dtype=np.float64),
            self.n_outcomes,
        )


def count_trees(
    columns: Sequence[NDArray[np.int32]],
    arities: Sequence[int],
    targets: Sequence[int],
    paths: Sequence[Sequence[int]],
    *,
    weight: ArrayLike | None = None,
    min_rows: float = 0.0,
    n_jobs: int = 1,
) -> list[CountTree]:
    """Count one tree per target, over shared columns of codes; threads work on trees.

    Tree i counts the outcomes of column ``targets[i]`` in the contexts of the columns
    ``paths[i]``, outermost first. Values of all columns but the outermost that fewer than
    `min_rows` rows share get no node: those rows are counted in the nodes above alone. So are rows
    that miss a value of their path (a code of -1); rows that miss the outcome are not counted.
    O(rows x depth) per tree.

    >>> a, b = np.array([0, 1, 1], dtype=np.int32), np.array([1, 0, 1], dtype=np.int32)
    >>> [tree.n_nodes for tree in count_trees([a, b], [2, 2], [0, 1], [[], [0]])]
    [1, 3]
    """
    if weight is not None:
        weight = np.ascontiguousarray(weight, dtype=np.float64)
    return _core.fill_count_trees(
        CountTree,
        columns if isinstance(columns, np.ndarray) else list(columns),
        np.asarray(arities, dtype=np.int32),
        list(targets),
        [list(path) for path in paths],
        weight,
        MAX_DENSE_OUTCOMES,
        min_rows,
        n_jobs,
    )


def as_codes(column: ArrayLike) -> NDArray[np.int32]:
    return np.ascontiguousarray(column, dtype=np.int32)


def label_contexts(tree: CountTree, labels: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Return for each level the label that each node of a tree has there, None below the node."""
    named = [np.full(tree.n_nodes, None, dtype=object) for _ in range(tree.depth)]
    node = np.arange(tree.n_nodes)
    while (node > 0).any():
        for level, (out, words) in enumerate(zip(named, labels, strict=True), start=1):
            here = np.flatnonzero(tree.level[node] == level)
            out[here] = np.array([*words, None], dtype=object)[tree.value[node[here]]]
        node = np.maximum(tree.parent[node], 0)
    return [column.tolist() for column in named]


def check_cells(tree: CountTree, cells: Any) -> None:
    """Raise unless the numbers of the cells of a tree are distributions, node by node."""
    check_numbers("probabilities", cells, tree.n_cells, least=0.0, most=1.0 + 1e-6)
    sums = np.add.reduceat(np.append(cells, 0.0), tree.row_start[:-1])
    n_listed = np.diff(tree.row_start)
    sums[n_listed == 0] = 0.0
    require((sums <= 1.0 + 1e-6).all(), "probabilities of a context must sum to at most one")
    require(
        (sums[n_listed == tree.n_outcomes] >= 1.0 - 1e-6).all(),
        "probabilities of a context must sum to one",
    )
