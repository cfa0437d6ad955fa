"""The counts of a network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priorwise.counts import CodedRows, CountTree, TreePlan, count_trees
from priorwise.structure.networks.network import Network


@dataclass(frozen=True, eq=False)
class NetworkCounts:
    """The counts of a network: the class alone, and one tree per feature that it uses.

    The trees of features are in the order of the network. Their levels are the class, then the
    parents of the feature; their outcomes are the values of the feature.
    """

    network: Network
    class_tree: CountTree
    feature_trees: list[CountTree]

    @classmethod
    def count(cls, network: Network, rows: CodedRows, *, n_jobs: int = 1) -> NetworkCounts:
        """Count rows in the contexts of a network: class first, then parents by influence."""
        plan = plan_trees(network, rows.arities, rows.n_classes)
        trees = count_trees(
            [*rows.columns, rows.y],
            plan.arities,
            plan.targets,
            plan.paths,
            weight=rows.weight,
            n_jobs=n_jobs,
        )
        return cls(network, trees[0], trees[1:])

    @property
    def trees(self) -> list[CountTree]:
        """The tree of the class, then those of the features."""
        return [self.class_tree, *self.feature_trees]

    @property
    def n_contexts(self) -> int:
        """Number of contexts in all trees."""
        return sum(tree.n_nodes for tree in self.trees)

    def merge(self, other: NetworkCounts) -> NetworkCounts:
        """Return the counts of the rows of both; `other` may know more values of a feature."""

        def merge(mine: CountTree, theirs: CountTree) -> CountTree:
            return mine.with_outcomes(theirs.n_outcomes).merge(theirs)

        return NetworkCounts(
            other.network,
            merge(self.class_tree, other.class_tree),
            [merge(*pair) for pair in zip(self.feature_trees, other.feature_trees, strict=True)],
        )

    def restrict(self, n_features: int, max_parents: int) -> NetworkCounts:
        """Return the counts of the first features of the order, with fewer parents each."""
        network = self.network.restrict(n_features, max_parents)
        trees = []
        for tree in self.feature_trees[:n_features]:
            trees.append(tree.truncate(1 + max_parents))
        return NetworkCounts(network, self.class_tree, trees)


def plan_trees(network: Network, arities: NDArray[np.int32], n_classes: int) -> TreePlan:
    """Plan the trees of a network: the class alone, then each feature given class and parents.

    The class is the column behind the features.
    """
    class_column = len(arities)
    paths = [(), *((class_column, *network.parents[i]) for i in network.order)]
    return TreePlan((*arities.tolist(), n_classes), (class_column, *network.order), tuple(paths))


def check_contexts(n_contexts: int, max_contexts: int | None, limit: str = "max_contexts") -> None:
    """Raise if more contexts are counted than a limit, named `limit`, allows."""
    if max_contexts is not None and n_contexts > max_contexts:
        if limit == "memory_limit":
            raise MemoryError(
                f"memory_limit has room for {max_contexts} contexts, but {n_contexts} occur: "
                "allow more memory, fewer parents or coarser values, or let on_limit='merge' join "
                "the rarest contexts"
            )
        raise ValueError(
            f"max_contexts must be at least the contexts that occur, got {max_contexts} for "
            f"{n_contexts}: allow more, fewer parents, or coarser values"
        )
