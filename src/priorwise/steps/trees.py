"""Binary trees whose leaves have a row of numbers each: single trees, forests, boosters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.common.records import number, numbers, part
from priorwise.common.texts import count
from priorwise.counts.packed_trees import NodeRows, PackedTrees, SingleRows, expand_rows
from priorwise.data.columns import Columns
from priorwise.steps.explanation import Explanation
from priorwise.steps.intervals import OF_TREES
from priorwise.steps.step import Floats, Names, Step


@dataclass(frozen=True, eq=False)
class Trees(Step):
    """Packed trees with a row of numbers for every node; the result is `factor` times their mean.

    Splits into several branches are chains of nodes, which `owner` joins: nodes of a chain have the
    same owner, the node of the decision tree that they are part of. It is empty if every node is
    one of its own. At a node with a `bandwidth` h above zero the part Phi((x - threshold) / h) of a
    row goes to the second child and the rest to the first; empty if all thresholds are hard. With
    `normalise` the result is divided by its sum.

    `weight` is that of the training rows of each node; empty if it is the threshold of leaves.
    With a `strength` c above zero, rows follow from the counts of classes
    at the leaves: p = (n + c p_parent) / (N + c).
    """

    trees: PackedTrees = part(PackedTrees)
    rows: NodeRows = part((np.ndarray, _core.SparseNodeRows))
    factor: float = number(least=0.0)
    normalise: bool = part(bool)
    owner: NDArray[np.int32] = numbers("n_owners", dtype=np.int32, least=0)
    bandwidth: Floats = numbers("n_bandwidths", least=0.0)
    weight: Floats = numbers("n_weights", least=0.0)
    strength: float = number(least=0.0, default=0.0)

    def check_rules(self) -> None:
        n_nodes = self.trees.n_nodes
        if isinstance(self.rows, np.ndarray):
            if self.rows.ndim != 2 or self.rows.dtype not in (np.float32, np.float64):
                raise ValueError("rows must be a matrix of numbers")
            if not _core.are_within(self.rows.reshape(-1), -np.inf, np.inf):
                raise ValueError("rows must be finite numbers")
            n_rows = len(self.rows)
        else:
            if self.rows.trees is not self.trees:
                raise ValueError("rows must be those of the trees")
            n_rows = n_nodes
        if n_rows != n_nodes or self.n_trees == 0:
            raise ValueError("every node needs a row of numbers, and there must be a tree")
        for name in ("owner", "bandwidth", "weight"):
            if len(getattr(self, name)) not in (0, n_nodes):
                raise ValueError(f"{name} must have a number for every node, or none")

    def check_features(self, is_nominal: NDArray[np.bool_], n_labels: list[int]) -> None:
        self.check_splits(len(is_nominal))
        if self.factor != 1.0 or not self._has_probabilities:
            raise ValueError("rows must be probabilities that sum to one")

    @cached_property
    def _has_probabilities(self) -> bool:
        """Whether the rows of the nodes are distributions; a member and its pool both ask."""
        rows = self.rows
        return not isinstance(rows, np.ndarray) or _core.are_distributions(rows)

    def check_splits(self, n_features: int) -> None:
        """Raise ValueError if the trees split a feature beyond the first `n_features`."""
        # Splits compare codes and numbers alike.
        if self.trees.n_features > n_features:
            raise ValueError("trees must split features of the table")

    @property
    def n_classes(self) -> int:
        rows = self.rows
        return int(rows.shape[1] if isinstance(rows, np.ndarray) else rows.width)

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return self.trees.n_trees

    @property
    def independence(self) -> float:
        return OF_TREES

    def predict(self, columns: Columns, n_threads: int = 1) -> Floats:
        proba = self.sum(columns, n_threads)
        if not self.normalise:
            return proba
        # Means of 32-bit probabilities do not sum to one exactly.
        return np.asarray(proba / proba.sum(axis=1, keepdims=True))

    def sum(self, columns: Columns, n_threads: int = 1) -> Floats:
        """Return `factor` times the mean over the trees of the rows that rows reach."""
        mean = self.average(columns, self.rows, n_threads)
        return mean if self.factor == 1.0 else self.factor * mean

    def average(self, columns: Columns, rows: NodeRows, n_threads: int = 1) -> Floats:
        """Return the mean over the trees of what rows of the table reach in rows of the nodes."""
        features = columns.in_feature_order()
        if isinstance(rows, np.ndarray) and rows.dtype == np.float64:
            if len(self.bandwidth) == 0:
                leaves = _core.find_forest_leaves(self.trees, features, columns.n_rows, n_threads)
                return rows[leaves[0]]
            every = np.arange(self.trees.n_nodes, dtype=np.int32)
            return _core.blend_rows(
                self.trees, every, self.bandwidth, features, columns.n_rows,
                np.ascontiguousarray(rows), n_threads,
            )  # fmt: skip
        singles = cast(SingleRows, rows)
        return _core.average_forest(self.trees, features, columns.n_rows, singles, n_threads)

    def split(self, columns: Columns, n_threads: int = 1) -> tuple[Floats, Floats]:
        """Return the mean of the roots' rows, and what each feature adds on the paths of rows.

        Both times the `factor`; the parts have the shape (n_rows, n_features, n_classes).
        """
        roots = expand_rows(self.rows)[self.trees.tree_start[:-1]]
        bias = roots.mean(axis=0, dtype=np.float64)
        return self.factor * bias, self.factor * self._contribute(columns, self.rows, n_threads)

    def explain(self, columns: Columns, names: Names, n_threads: int = 1) -> Explanation:
        """A step from a node to its child changes the probabilities: the change is the feature's.

        Changes are averaged over the trees.
        """
        bias, changes = self.split(columns, n_threads)
        return Explanation.from_probability_changes(
            names.classes, names.features, bias, changes, self.sum(columns, n_threads),
            support=self._find_support(columns, n_threads),
        )  # fmt: skip

    def describe(self) -> str:
        n_nodes, n_leaves = self.trees.n_nodes, int(self.trees.is_leaf.sum())
        if self.n_trees == 1:
            return f"a tree with {count(n_nodes, 'node')}, {n_leaves:,} of them leaves"
        return f"{self.n_trees:,} trees with {n_nodes:,} nodes"

    def _contribute(self, columns: Columns, rows: NodeRows, n_threads: int) -> Floats:
        """Return the steps of rows of the nodes along the paths, the mean over the trees."""
        features = columns.in_feature_order()
        if not isinstance(rows, np.ndarray) or rows.dtype == np.float32:
            singles = cast(SingleRows, rows)
            return _core.contribute_forest(self.trees, features, columns.n_rows, singles, n_threads)
        rows = cast(Floats, rows)
        parent, split = self.trees.find_parents(), self.trees.nodes["split"] >> 4
        parts = np.zeros((columns.n_rows, len(features), rows.shape[1]))
        for feature in np.unique(split[~self.trees.is_leaf]).tolist():
            on_path = sum_changes(rows, parent, split == feature)
            parts[:, feature] = self.average(columns, on_path, n_threads)
        return parts

    def _find_leaf_rows(self) -> Floats:
        """Return the weight of the rows of each leaf; inner nodes of random trees have none."""
        if len(self.weight):
            return self.weight
        return np.where(self.trees.is_leaf, self.trees.nodes["threshold"], 0.0)

    def _find_support(self, columns: Columns, n_threads: int) -> Floats:
        """Return the rows behind what each feature adds, of shape (n_rows, n_features, n_classes).

        Of a single tree, those of the node below the last split on the feature; of a forest, the
        mean over all splits on the feature that a row passes.
        """
        parent, weight = self.trees.find_parents(), self.weight
        if self.n_trees == 1 and len(weight):
            support = self._find_last_rows(columns, parent, n_threads)
        else:
            if len(weight) == 0:
                weight = sum_leaves(parent, self._find_leaf_rows())
            is_step = parent >= 0
            if len(self.owner):
                is_step &= self.owner != self.owner[np.maximum(parent, 0)]
            steps = sum_paths(parent, np.column_stack([np.where(is_step, weight, 0.0), is_step]))
            sums = self._contribute(columns, steps.astype(np.float32), n_threads)
            support = sums[:, :, 0] / np.maximum(sums[:, :, 1], 1e-9)
        return np.repeat(support[:, :, None], self.n_classes, axis=2)

    def _find_last_rows(self, columns: Columns, parent: NDArray[np.intp], n_threads: int) -> Floats:
        """Return the weight of the node below the last split on each feature on a row's path."""
        features = columns.in_feature_order()
        support = np.zeros((columns.n_rows, len(features)))
        leaves = _core.find_forest_leaves(self.trees, features, columns.n_rows, n_threads)
        row, node, split = np.arange(columns.n_rows), leaves[0], self.trees.nodes["split"] >> 4
        while len(row := row[node > 0]):
            node = node[node > 0]
            above = parent[node]
            feature, is_step = split[above], self.owner[node] != self.owner[above]
            # Rows of a node grow towards the root: the least are those below the last split.
            first = is_step & (support[row, feature] == 0.0)
            support[row[first], feature[first]] = self.weight[node[first]]
            node = above
        return support


Places = NDArray[np.intp]


def list_levels(parent: Places) -> Iterator[Places]:
    """Yield the nodes of each level of all trees, the roots first."""
    depth, above = np.zeros(len(parent)), parent.copy()
    depth[parent >= 0] = 1.0
    while len(inner := np.flatnonzero(above >= 0)):
        # Each pass doubles the part of the path that a node has summed.
        depth[inner] += depth[above[inner]]
        above[inner] = above[above[inner]]
    order = np.argsort(depth, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(depth[order])) + 1)


def sum_leaves(parent: Places, leaf_rows: Floats) -> Floats:
    """Return the rows of each node, given those of the leaves: inner nodes have what is below."""
    is_leaf = np.ones(len(parent), dtype=bool)
    is_leaf[parent[parent >= 0]] = False
    rows = np.where(is_leaf, leaf_rows, 0.0)
    for nodes in list(list_levels(parent))[:0:-1]:
        np.add.at(rows, parent[nodes], rows[nodes])
    return rows


def sum_paths(parent: Places, steps: Floats) -> Floats:
    """Return the sums of rows of numbers over the path from below the root to each node."""
    sums = np.where(parent[:, None] < 0, 0.0, steps)
    for nodes in list(list_levels(parent))[1:]:
        sums[nodes] += sums[parent[nodes]]
    return sums


def sum_changes(rows: Floats, parent: Places, counts: NDArray[np.bool_]) -> Floats:
    """Return the changes of rows of numbers on the path to each node at splits that count."""
    above = np.maximum(parent, 0)
    steps = np.where(counts[above][:, None], rows - rows[above], 0.0)
    return sum_paths(parent, steps)
