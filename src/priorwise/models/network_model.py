"""A network with its counts and probabilities: what single networks and ensembles are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.counts import (
    CountTree,
    Factor,
    Information,
    TreePlan,
    count_trees,
    measure_information,
)
from priorwise.smoothing import Smoother, smooth_trees
from priorwise.structure import Network


@dataclass(frozen=True)
class CodedRows:
    """Training rows as codes: one contiguous column per feature, class codes, and weights."""

    columns: list[NDArray[np.int32]]
    arities: NDArray[np.int32]
    y: NDArray[np.int32]
    n_classes: int
    weight: NDArray[np.float64] | None = None

    @property
    def n_features(self) -> int:
        return len(self.columns)

    @property
    def n_rows(self) -> int:
        return len(self.y)

    def measure(self, weight: NDArray[np.float64] | None = None, n_jobs: int = 1) -> Information:
        """Mutual information of the features with the class and each other, in nats."""
        return measure_information(
            np.asarray(self.columns), self.y, self.arities, self.n_classes,
            self.weight if weight is None else weight, n_threads=n_jobs,
        )  # fmt: skip

    def take(self, rows: NDArray[np.intp]) -> CodedRows:
        return CodedRows(
            [column[rows] for column in self.columns],
            self.arities,
            self.y[rows],
            self.n_classes,
            None if self.weight is None else self.weight[rows],
        )


@dataclass(frozen=True)
class NetworkCounts:
    """The counts of a network: the class alone, and one tree per feature that it uses."""

    network: Network
    class_tree: CountTree
    feature_trees: list[CountTree]
    """In the order of the network."""

    @classmethod
    def count(
        cls,
        network: Network,
        rows: CodedRows,
        *,
        max_contexts: int | None = None,
        n_jobs: int = 1,
    ) -> NetworkCounts:
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
        check_contexts(sum(tree.n_nodes for tree in trees), max_contexts)
        return cls(network, trees[0], trees[1:])

    def merge(self, other: NetworkCounts) -> NetworkCounts:
        """The counts of the rows of both; `other` may know more values of a feature."""

        def merge(mine: CountTree, theirs: CountTree) -> CountTree:
            return mine.with_outcomes(theirs.n_outcomes).merge(theirs)

        return NetworkCounts(
            other.network,
            merge(self.class_tree, other.class_tree),
            [merge(*pair) for pair in zip(self.feature_trees, other.feature_trees, strict=True)],
        )

    def restrict(self, n_features: int, max_parents: int) -> NetworkCounts:
        """The counts of the first features of the order with at most so many parents each."""
        network = self.network.restrict(n_features, max_parents)
        kept = self.feature_trees[:n_features]
        return NetworkCounts(
            network, self.class_tree, [tree.truncate(1 + max_parents) for tree in kept]
        )


def plan_trees(network: Network, arities: NDArray[np.int32], n_classes: int) -> TreePlan:
    """The trees of a network: the class alone, then each feature given the class and parents.

    The class is the column behind the features.
    """
    class_column = len(arities)
    paths = [(), *((class_column, *network.parents[i]) for i in network.order)]
    return TreePlan((*arities.tolist(), n_classes), (class_column, *network.order), tuple(paths))


def check_contexts(n_contexts: int, max_contexts: int | None, limit: str = "max_contexts") -> None:
    """Raise if more contexts are counted than a limit allows."""
    if max_contexts is not None and n_contexts > max_contexts:
        if limit == "memory_limit":
            raise MemoryError(
                f"memory_limit has room for {max_contexts} contexts, but {n_contexts} occur: allow "
                "more, fewer parents or coarser values, or let on_limit='merge' join the rarest"
            )
        raise ValueError(
            f"max_contexts must be at least the contexts that occur, got {max_contexts} for "
            f"{n_contexts}: allow more, fewer parents, or coarser values"
        )


@dataclass(frozen=True)
class NetworkModel:
    """p(class, features) as a product of factors, in log space."""

    counts: NetworkCounts
    probabilities: list[NDArray[np.float64]]
    """Of the class tree, then of the feature trees; one number per cell."""
    log_prior: NDArray[np.float64]
    factors: list[Factor]

    @classmethod
    def smooth(
        cls, counts: NetworkCounts, smoother: Smoother, *, seed: int = 0, n_jobs: int = 1
    ) -> NetworkModel:
        trees = [counts.class_tree, *counts.feature_trees]
        probabilities = smooth_trees(trees, smoother, seed=seed, n_jobs=n_jobs)
        return cls.build(counts, probabilities, smoother.rest, backoff=smoother.backoff)

    @classmethod
    def build(
        cls,
        counts: NetworkCounts,
        probabilities: list[NDArray[np.float64]],
        rest: str,
        *,
        backoff: bool = True,
    ) -> NetworkModel:
        class_tree, network = counts.class_tree, counts.network
        prior = class_tree.rows(probabilities[0], rest=rest)[0]
        factors = [
            Factor.build(i, network.parents[i], tree, p, rest, class_tree.n_outcomes, backoff)
            for i, tree, p in zip(
                network.order, counts.feature_trees, probabilities[1:], strict=True
            )
        ]
        with np.errstate(divide="ignore"):
            return cls(counts, probabilities, np.log(prior), factors)

    def log_joint(
        self, columns: Sequence[NDArray[np.int32]], n_jobs: int = 1
    ) -> NDArray[np.float64]:
        """log p(class, features of the row), shape (rows, classes)."""
        return _core.predict_joint(self.factors, self.log_prior, list(columns), False, n_jobs)

    def proba(self, columns: Sequence[NDArray[np.int32]], n_jobs: int = 1) -> NDArray[np.float64]:
        """p(class | features of the row), shape (rows, classes)."""
        return _core.predict_joint(self.factors, self.log_prior, list(columns), True, n_jobs)
