"""A decision tree: a tree of counts and the splits that lead down it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priorwise import _core
from priorwise.common.docstrings import hook
from priorwise.common.records import Record, numbers, part
from priorwise.counts import CountTree
from priorwise.counts.packed_trees import (
    EQUAL_BIT,
    MISSING_BIT,
    PackedTrees,
    find_first_nodes,
)


def describe_branch(model: Any, node: int) -> str:
    """Return the condition of rows of the parent that reach a node; "all rows" for the root.

    `model` has a `tree_`, an `encoder_` and `feature_labels_`.
    """
    tree = model.tree_
    if node == 0:
        return "all rows"
    parent, branch = int(tree.counts.parent[node]), int(tree.counts.value[node])
    feature = int(tree.feature[parent])
    name = model.feature_labels_[feature]
    if tree.kind[parent] == NUMERIC:
        threshold = model.encoder_.name_threshold(feature, float(tree.threshold[parent]))
        if threshold == "inf":
            return f"{name} is known" if branch == BELOW else f"{name} is missing"
        signs = {BELOW: f"<= {threshold}", ABOVE: f"> {threshold}"}
        return f"{name} {signs.get(branch, 'is missing')}"
    labels = model.encoder_.category_labels(feature)
    if tree.kind[parent] == EQUAL:
        sign = "=" if branch else "!="
        return f"{name} {sign} {labels[int(tree.threshold[parent])]}"
    label = labels[branch]
    return f"{name} is missing" if label is None else f"{name} = {label}"


LEAF, NUMERIC, NOMINAL, EQUAL = range(4)
"""Kinds of split. EQUAL is one code (branch 1) against the rest (branch 0)."""

BELOW, ABOVE, MISSING = range(3)
"""Branches of a numeric split; those of a nominal split are the codes."""

MAX_DENSE_CLASSES = 64
"""Up to this many classes every node counts them all; beyond, only those seen below it."""


@dataclass(frozen=True, eq=False)
class DecisionTree(Record):
    """Counts of classes at every node, and the split of every node that is no leaf.

    A number goes to branch 0 if it is at most the threshold, to branch 1 if above, to branch
    `missing_value` if it is NaN. A code goes to the branch of that code, an unknown one of an
    EQUAL split to `missing_value`. Where the branch has no node the row stops.

    Rows walk down binary nodes. A node of the tree has one of them, which has its feature and its
    threshold, or several: those of a nominal split search the code, one may ask whether the value
    is missing, and rows that stop have leaves.

    Parameters
    ----------
    trees : PackedTrees
        One tree of binary nodes.
    owner : int32 array, one entry per binary node
        The node that the binary node belongs to.
    counts : CountTree
        Outcomes are the classes; a node's value is the branch that leads to it.
    gain : float64 array, one entry per node
        Nats of information the split gains, summed over the rows that grew it.

    Examples
    --------
    >>> from priorwise import ProbabilityTreeClassifier
    >>> X, y = [[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1]
    >>> tree = ProbabilityTreeClassifier("laplace", criterion="gain").fit(X, y).tree_
    >>> tree.n_nodes, tree.threshold.tolist()[0]
    (3, 2.5)
    """

    trees: PackedTrees = part(PackedTrees)
    owner: NDArray[np.int32] = numbers("n_packed", dtype=np.int32, least=0)
    counts: CountTree = part(CountTree)
    gain: NDArray[np.float64] = numbers("n_nodes")

    def check_rules(self) -> None:
        """Raise ValueError unless the binary nodes, the counts and the gains fit together."""
        n_nodes = self.counts.n_nodes
        if len(self.owner) != self.trees.n_nodes or self.owner.max(initial=0) >= n_nodes:
            raise ValueError("every binary node must belong to a node")
        if len(self.gain) != n_nodes or len(np.unique(self.owner)) != n_nodes:
            raise ValueError("every node must have a binary node and a gain")

    @cached_property
    def first(self) -> NDArray[np.intp]:
        """The first binary node of each node."""
        return find_first_nodes(self.owner, self.n_nodes)

    @cached_property
    def is_leaf(self) -> NDArray[np.bool_]:
        """Whether each node is a leaf."""
        return self.trees.is_leaf[self.first]

    @cached_property
    def feature(self) -> NDArray[np.int32]:
        """The feature that each node splits on; -1 at a leaf."""
        split = self.trees.nodes["split"][self.first] >> 4
        return np.where(self.is_leaf, np.int32(-1), split)

    @cached_property
    def kind(self) -> NDArray[np.uint8]:
        """The kind of each node: LEAF, NUMERIC, NOMINAL or EQUAL."""
        split = self.trees.nodes["split"][self.first]
        numeric = (self._n_inner == 1) | self._asks_missing
        kind = np.where(split & EQUAL_BIT, EQUAL, np.where(numeric, NUMERIC, NOMINAL))
        return np.where(self.is_leaf, LEAF, kind).astype(np.uint8)

    @cached_property
    def threshold(self) -> NDArray[np.float64]:
        """The threshold of each numeric split, the code of an EQUAL split, else NaN."""
        threshold = self.trees.nodes["threshold"][self.first]
        return np.where((self.kind == NUMERIC) | (self.kind == EQUAL), threshold, np.nan)

    @cached_property
    def missing_value(self) -> NDArray[np.int32]:
        """The branch of missing numbers, and of unknown codes at EQUAL splits; else -1.

        Where rows with such values do not come it is any branch.
        """
        split = self.trees.nodes["split"][self.first]
        side = np.where(split & MISSING_BIT, ABOVE, BELOW)
        of_numbers = np.where(self._asks_missing, MISSING, side)
        of_codes = np.where((self.kind == EQUAL) & (self._n_inner == 1), BELOW, -1)
        return np.where(self.kind == NUMERIC, of_numbers, of_codes).astype(np.int32)

    @cached_property
    def _n_inner(self) -> NDArray[np.intp]:
        """Number of binary nodes of each node that are no leaves."""
        return np.bincount(self.owner[~self.trees.is_leaf], minlength=self.n_nodes)

    @cached_property
    def _asks_missing(self) -> NDArray[np.bool_]:
        """Whether one of the binary nodes of each node asks whether a number is missing."""
        nodes = self.trees.nodes
        asks = (nodes["split"] & MISSING_BIT != 0) & (nodes["threshold"] == np.inf)
        return np.bincount(self.owner[asks], minlength=self.n_nodes) > 0

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return self.counts.n_nodes

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(self.is_leaf.sum())

    @hook
    def find(
        self, columns: Sequence[NDArray[Any]], n_rows: int, n_jobs: int = 1
    ) -> NDArray[np.int32]:
        """Return the deepest node that each row reaches; features are numbers or codes."""
        leaves = _core.find_forest_leaves(self.trees, columns, n_rows, n_jobs)
        return self.owner.take(leaves[0])

    @hook
    def blend(
        self,
        columns: Sequence[NDArray[Any]],
        n_rows: int,
        node_rows: NDArray[np.float64],
        bandwidth: NDArray[np.float64],
        n_jobs: int = 1,
    ) -> NDArray[np.float64]:
        """Average rows of `node_rows` over the nodes that the parts of each row reach.

        At a numeric split with bandwidth h > 0 the part Phi((x - threshold) / h) of a row goes
        above and the rest below (Quinlan 1993, section 8.4; Geurts and Wehenkel 2005). Parts
        below 1e-4 of a row are not split further. The bandwidths of nodes are empty if all
        thresholds are hard.
        """
        if len(bandwidth) == 0:
            return node_rows.take(self.find(columns, n_rows, n_jobs), axis=0)
        return _core.blend_rows(
            self.trees, self.owner, bandwidth[self.owner], columns, n_rows,
            np.ascontiguousarray(node_rows), n_jobs,
        )  # fmt: skip

    @hook
    def recount(
        self, leaf: NDArray[np.int32], outcome: NDArray[np.int32], weight: ArrayLike | None = None
    ) -> DecisionTree:
        """Return the same splits with the counts of other rows.

        `leaf` is what each row reaches, -1 for rows that do not count.
        """
        tree = self.counts
        weights = None if weight is None else np.ascontiguousarray(weight, dtype=np.float64)
        counts = _core.count_leaves(
            CountTree, tree.parent, tree.value, tree.level_start, leaf, outcome, weights,
            tree.n_outcomes, tree.n_outcomes <= MAX_DENSE_CLASSES,
        )  # fmt: skip
        trees = self.trees
        leaf_weight = counts.totals[self.owner[trees.is_leaf]]
        trees = PackedTrees(trees.tree_start, trees.split, trees.threshold, leaf_weight)
        return replace(self, trees=trees, counts=counts)

    @hook
    def kept_ancestors(self, splits: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return each node's deepest ancestor or self that remains if only some nodes split."""
        tree = self.counts
        ancestor = np.arange(tree.n_nodes)
        for first, last in zip(tree.level_start[1:-1], tree.level_start[2:], strict=True):
            above = tree.parent[first:last]
            stays = (ancestor[above] == above) & splits[above]
            ancestor[first:last] = np.where(stays, ancestor[first:last], ancestor[above])
        return ancestor

    @hook
    def large_ancestors(self, min_rows: float) -> NDArray[np.intp]:
        """Return each node's deepest ancestor or self that has enough rows, or the root."""
        tree = self.counts
        ancestor, small = np.arange(tree.n_nodes), tree.totals < min_rows
        for first, last in zip(tree.level_start[1:-1], tree.level_start[2:], strict=True):
            above = ancestor[tree.parent[first:last]]
            ancestor[first:last] = np.where(small[first:last], above, ancestor[first:last])
        return ancestor

    @hook
    def feature_shares(self, n_features: int) -> NDArray[np.float64]:
        """Return the gains summed by feature, as shares; all zero for a tree without splits."""
        inner = ~self.is_leaf
        sums = np.bincount(self.feature[inner], self.gain[inner], minlength=n_features)
        return np.asarray(sums / sums.sum() if sums.sum() > 0.0 else sums)

    @hook
    def cut(self, splits: NDArray[np.bool_]) -> tuple[DecisionTree, NDArray[np.int32]]:
        """Remove the splits of some nodes.

        Return the smaller tree, and the number in it of every old node; of removed nodes, that of
        the leaf above.
        """
        tree = self.counts
        splits = np.asarray(splits, dtype=bool) & ~self.is_leaf
        ancestor = self.kept_ancestors(splits)
        stays = ancestor == np.arange(tree.n_nodes)
        number = (np.cumsum(stays) - 1).astype(np.int32)[ancestor]
        kept = np.flatnonzero(stays)
        leaf = ~splits[kept]
        parent = tree.parent[kept]
        parent[1:] = number[parent[1:]]
        cell_stays = np.repeat(stays, np.diff(tree.row_start))
        cell_number = np.cumsum(cell_stays, dtype=np.int32) - 1
        parent_cell = tree.parent_cell[cell_stays]
        parent_cell[parent_cell >= 0] = cell_number[parent_cell[parent_cell >= 0]]
        level_start = np.searchsorted(kept, tree.level_start).astype(np.int64)
        counts = CountTree(
            parent=parent,
            value=tree.value[kept],
            level_start=level_start[: np.searchsorted(level_start, len(kept)) + 1],
            row_start=np.append(0, np.cumsum(np.diff(tree.row_start)[kept])).astype(np.int64),
            outcome=tree.outcome[cell_stays],
            parent_cell=parent_cell,
            counts=tree.counts[cell_stays],
            n_outcomes=tree.n_outcomes,
        )
        nodes, owner = _core.pack_tree(
            counts,
            feature=np.where(leaf, np.int32(-1), self.feature[kept]),
            kind=np.where(leaf, np.uint8(LEAF), self.kind[kept]),
            threshold=np.where(leaf, np.nan, self.threshold[kept]),
            missing_value=np.where(leaf, np.int32(-1), self.missing_value[kept]),
        )
        trees = PackedTrees.from_nodes(np.array([0, len(owner)]), nodes)
        return DecisionTree(trees, owner, counts, np.where(leaf, 0.0, self.gain[kept])), number
