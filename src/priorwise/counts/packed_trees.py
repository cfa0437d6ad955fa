"""What predictions walk through: binary trees in flat arrays, and factors of networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise import _core

NODE = np.dtype([("threshold", np.float64), ("first", np.int32), ("split", np.int32)])
"""A node of 16 bytes: threshold or code, first child, and the feature above four bits that say
whether a value less than, equal to, missing or greater goes to the second child. The threshold of a
leaf of a pruned forest is the weight of its rows."""

LESS_BIT, EQUAL_BIT, MISSING_BIT, GREATER_BIT = 1, 2, 4, 8
"""Bits of `split`: which values go to the second child."""
IS_SPLIT = LESS_BIT | EQUAL_BIT | MISSING_BIT | GREATER_BIT
"""A node of which none of these bits is set is a leaf."""

SingleRows = NDArray[np.float32] | _core.SparseNodeRows
NodeRows = SingleRows | NDArray[np.float64]
"""A row of numbers for every node of a forest (n_nodes x width), or what they are computed from."""


class PackedTrees(_core.PackedTrees):
    """Binary trees one after the other, for tables that have a row for every node.

    The nodes of a tree are numbered level by level, the two children of a node side by side, in the
    order of their parents; each is a `NODE`. A value greater than the threshold goes to the second
    child; of a nominal feature the code at the threshold does, and all others, unknown ones too, to
    the first. Missing numbers go to the side that the split says. `tree_start` is the first node of
    each tree, and one past the last; `split` has a number for each node, `threshold` one for each
    that splits and `leaf_weight` one for each leaf, in the order of the nodes.
    """

    @classmethod
    def from_nodes(cls, tree_start: NDArray[np.int64], nodes: NDArray[Any]) -> PackedTrees:
        """Make trees of nodes, records or their bytes; children follow from which nodes split."""
        records = nodes.view(NODE)
        split, threshold = np.ascontiguousarray(records["split"]), records["threshold"]
        is_leaf = split & IS_SPLIT == 0
        return cls(tree_start, split, threshold[~is_leaf], threshold[is_leaf])

    def take(self, first: int, last: int) -> PackedTrees:
        """The trees from `first` to the one before `last`."""
        start = self.tree_start[first : last + 1]
        return PackedTrees.from_nodes(start - start[0], self.nodes[start[0] : start[-1]])

    @property
    def nodes(self) -> NDArray[np.void]:
        """The nodes as records."""
        return self.node_bytes.view(NODE)

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        """Whether each node is a leaf."""
        return np.asarray((self.nodes["split"] & IS_SPLIT) == 0)

    @property
    def n_trees(self) -> int:
        return len(self.tree_start) - 1

    def find_parents(self) -> NDArray[np.int64]:
        """The parent of each node, in numbers through all trees; -1 at the roots."""
        start = np.repeat(self.tree_start[:-1], np.diff(self.tree_start))
        parent = np.full(self.n_nodes, -1)
        splits = np.flatnonzero(~self.is_leaf)
        first = start[splits] + self.nodes["first"][splits]
        parent[first] = parent[first + 1] = splits
        return parent

    def unsmooth(self, proba: NDArray[np.float32], strength: float) -> NDArray[np.float64]:
        """The counts of classes at each node of pruned trees, from their smoothed probabilities.

        At the leaves n = (N + c) p - c p_parent, rounded if N is a whole number; inner nodes have
        the sums of their children.
        """
        parent, leaf = self.find_parents(), np.flatnonzero(self.is_leaf)
        total, p = self.nodes["threshold"][leaf, None], proba[leaf].astype(np.float64)
        above, c = proba[parent[leaf]].astype(np.float64), np.full((len(leaf), 1), strength)
        root = parent[leaf] < 0
        above[root], c[root] = 1.0 / proba.shape[1], 1.0
        found = np.maximum((total + c) * p - c * above, 0.0)
        counts = np.zeros(proba.shape)
        counts[leaf] = np.where(total == np.round(total), np.round(found), found)
        for node in range(len(counts) - 1, -1, -1):
            if parent[node] >= 0:
                counts[parent[node]] += counts[node]
        return counts

    def sum_gains(self, gain: NDArray[np.float64], n_features: int) -> NDArray[np.float64]:
        """Shares of the features in the gains of the splits, the mean of the trees."""
        tree = np.repeat(np.arange(self.n_trees), np.diff(self.tree_start))
        splits = np.flatnonzero(~self.is_leaf)
        place = tree[splits] * n_features + (self.nodes["split"][splits] >> 4)
        sums = np.bincount(place, gain[splits], self.n_trees * n_features).reshape(-1, n_features)
        total = sums.sum(axis=1, keepdims=True)
        return np.asarray((sums / np.where(total > 0.0, total, 1.0)).mean(axis=0))


def expand_rows(node_rows: NodeRows) -> NDArray[Any]:
    """The rows of all nodes, shape (n_nodes, width)."""
    if isinstance(node_rows, np.ndarray):
        return node_rows
    return _core.expand_sparse_rows(node_rows)


def find_first_nodes(owner: NDArray[np.int32], n_owners: int) -> NDArray[np.intp]:
    """The first packed node of each node that owns some."""
    first = np.zeros(n_owners, dtype=np.intp)
    # The last value that is assigned to a place remains.
    first[owner[::-1]] = np.arange(len(owner))[::-1]
    return first


Codes = NDArray[np.int32] | Sequence[NDArray[np.int32]]
"""Codes of the features of rows: a matrix (features, rows), or a column for each feature."""


class Factor(_core.Factor):
    """A smoothed count tree whose levels are the class and the parents of one feature.

    For prediction the subtrees of the classes are laid over each other: a *context* stands for the
    same parent values under every class and knows, for each class, the deepest tree node on that
    path. One walk per row then answers for all classes.

    `column` is the feature, `path` its parents, most influential first, `log_p` one log probability
    per cell of the `tree`. In sparse trees, outcomes that a node does not list get `log_rest`
    relative to the parent's row if `rest_towards_parent`, else to the uniform distribution. With
    `backoff` a class that has no rows in a context answers with its nearest context that has some,
    else uniformly.
    """
