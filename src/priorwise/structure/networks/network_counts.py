"""The counts of a network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.common.records import Record, part
from priorwise.counts import CodedRows, CountTree, TreePlan, count_trees
from priorwise.counts.tree import MAX_DENSE_OUTCOMES
from priorwise.data.encoding import TableEncoder
from priorwise.data.encoding.joined_encoder import join_encoders, keep_codes, map_codes
from priorwise.structure.networks.network import Network

MAX_KEPT_CONTEXTS = 200_000
"""Most contexts of trees that are kept rather than counted again; they take some 10 MB."""


class NetworkTrees(Protocol):
    """The count trees of a network, one at a time."""

    @property
    def network(self) -> Network:
        """The network."""

    @property
    def class_tree(self) -> CountTree:
        """The rows of each class."""

    @property
    def factor_trees(self) -> _core.FactorTrees:
        """The trees of the features, in the order of the network, for kernels."""


class CountedWhenAsked:
    """The count trees of a network over rows in memory, of which only small ones are kept.

    More than `max_contexts` contexts in all trees that were asked for raise a ValueError.
    """

    def __init__(self, network: Network, rows: CodedRows, max_contexts: int | None = None) -> None:
        self.network = network
        used = list(network.order)
        (self.class_tree,) = count_trees([rows.y], [rows.n_classes], [0], [[]], weight=rows.weight)
        check_contexts(self.class_tree.n_nodes, max_contexts)
        self.factor_trees = _core.FactorTrees(
            [*(rows.columns[i] for i in used), rows.y],
            np.append(rows.arities[used], rows.n_classes).astype(np.int32),
            rows.weight, rows.n_classes, used, network.parent_places,
            MAX_DENSE_OUTCOMES, MAX_KEPT_CONTEXTS, max_contexts,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class NetworkCounts(Record):
    """The counts of a network: the class alone, and one tree per feature that it uses.

    The trees of features are in the order of the network. Their levels are the class, then the
    parents of the feature; their outcomes are the values of the feature.
    """

    network: Network = part(Network)
    class_tree: CountTree = part(CountTree)
    feature_trees: list[CountTree] = part(CountTree, several=True)

    def check_rules(self) -> None:
        network = self.network
        depths = [1 + len(network.parents[i]) for i in network.order]
        if [tree.depth for tree in self.feature_trees] != depths or self.class_tree.depth != 0:
            raise ValueError("trees must have a level for the class and for each parent")

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
    def factor_trees(self) -> _core.FactorTrees:
        """The trees of the features, for kernels."""
        network = self.network
        return _core.hold_trees(
            self.feature_trees, self.class_tree.n_outcomes, network.order, network.parent_places
        )

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

    def subtract(self, other: NetworkCounts) -> NetworkCounts:
        """Return the counts of the rows that `other` does not have."""
        return NetworkCounts(
            self.network,
            self.class_tree.subtract(other.class_tree),
            [a.subtract(b) for a, b in zip(self.feature_trees, other.feature_trees, strict=True)],
        )

    def scale(self, factor: float) -> NetworkCounts:
        """Return the counts of rows whose weights are multiplied by a factor."""
        class_tree, *trees = (tree.with_counts(tree.counts * factor) for tree in self.trees)
        return NetworkCounts(self.network, class_tree, trees)

    def recode(
        self,
        features: Sequence[NDArray[np.int32]],
        classes: NDArray[np.int32],
        arities: NDArray[np.int32],
        n_classes: int,
    ) -> NetworkCounts:
        """Return the counts in other codes: ``features[i][v]`` for value v of feature i.

        There are `arities` values and `n_classes` classes in the new codes.
        """
        network = self.network
        trees = [
            tree.recode(
                [classes, *(features[j] for j in network.parents[i])], features[i], int(arities[i])
            )
            for i, tree in zip(network.order, self.feature_trees, strict=True)
        ]
        return NetworkCounts(network, self.class_tree.recode([], classes, n_classes), trees)

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


CountedModel = tuple[TableEncoder, NDArray[Any], list[NetworkCounts]]
"""An encoder, the classes, and the counts of each network."""


def add_counts(models: Sequence[CountedModel]) -> CountedModel:
    """Return the sum of models: that of all their rows."""
    encoder, classes, counts = _recode_together(models)
    first, *others = counts
    for other in others:
        first = [mine.merge(theirs) for mine, theirs in zip(first, other, strict=True)]
    return encoder, classes, first


def subtract_counts(models: Sequence[CountedModel]) -> CountedModel:
    """Return the first model without the rows of the others, and without what only they have."""
    encoder, classes, counts = _recode_together(models, subtract=True)
    first, *others = counts
    for other in others:
        first = [mine.subtract(theirs) for mine, theirs in zip(first, other, strict=True)]
    if first[0].class_tree.totals[0] <= 0.0:
        raise ValueError("at least one row must be left, got 0")
    return _forget_unused(encoder, classes, first)


def _recode_together(
    models: Sequence[CountedModel], *, subtract: bool = False
) -> tuple[TableEncoder, NDArray[Any], list[list[NetworkCounts]]]:
    """Return the encoder and the classes of all, and the counts of each in their codes."""
    networks = [counts.network for counts in models[0][2]]
    for _, _, counts in models[1:]:
        if [one.network for one in counts] != networks:
            raise ValueError(
                "other must have the same structure: copy a fitted model, and count each part "
                "with partial_fit, or fit with structure="
            )
    totals = [float(counts[0].class_tree.totals[0]) for _, _, counts in models]
    encoder = join_encoders([model[0] for model in models], totals, subtract=subtract)
    classes = np.unique(np.concatenate([model[1] for model in models]))
    recoded = []
    for old, labels, counts in models:
        maps = map_codes(old, encoder)
        places = np.searchsorted(classes, labels).astype(np.int32)
        recoded.append([one.recode(maps, places, encoder.arities_, len(classes)) for one in counts])
    return encoder, classes, recoded


def _forget_unused(
    encoder: TableEncoder, classes: NDArray[Any], counts: list[NetworkCounts]
) -> CountedModel:
    """Drop labels and missing numbers that no row has and no type lists; classes stay."""
    used: list[NDArray[np.bool_] | None] = [None] * len(encoder.is_nominal_)
    declared = dict(
        zip(
            np.flatnonzero(encoder.is_nominal_).tolist(),
            (np.array(one.declared) > 0.0 for one in encoder.categories_),
            strict=True,
        )
    )
    for one in counts:
        for i, tree in zip(one.network.order, one.feature_trees, strict=True):
            seen = tree.count_rows([0])[0] > 0
            if i in declared and len(declared[i]):
                seen = seen | declared[i]
            before = used[i]
            used[i] = seen if before is None else before | seen
    kept = keep_codes(encoder, used)
    maps, places = map_codes(encoder, kept), np.arange(len(classes), dtype=np.int32)
    recoded = [one.recode(maps, places, kept.arities_, len(classes)) for one in counts]
    return kept, classes, recoded
