"""Growing one decision tree: C4.5, then pruning, then counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priorwise.models.candidates import squared_error
from priorwise.models.row_groups import RowGroups
from priorwise.models.trees.tree_rows import TreeRows
from priorwise.smoothing import MLE
from priorwise.structure.trees import C45, DecisionTree
from priorwise.structure.trees.pruning import reduced_error_splits, weakest_links

PRUNING_SHARE = 1.0 / 3.0
MAX_PRICES = 50

Weight = NDArray[np.float64] | None


@dataclass(frozen=True)
class TreeGrowth:
    """How a tree grows, is pruned, and which rows it counts."""

    rules: C45
    pruning: str | None = None
    honest: float = 0.0
    n_folds: int = 5

    def grow(self, rows: TreeRows, groups: RowGroups, weight: Weight, seed: int) -> DecisionTree:
        """The tree of the rows of positive weight.

        With `honest` above 0 that share of the rows gives the counts and the others grow.
        """
        seeds = [int(s) for s in np.random.SeedSequence(seed).generate_state(3)]
        grow_weight, count_weight = weight, weight
        if self.honest > 0.0:
            weights = np.ones(rows.n_rows) if weight is None else weight
            counted = groups.sample(self.honest, seeds[0])
            grow_weight, count_weight = weights * ~counted, weights * counted
            if not grow_weight.any() or not count_weight.any():
                grow_weight = count_weight = weights
        if self.pruning == "reduced-error":
            return self._prune_by_error(rows, groups, grow_weight, count_weight, seeds)
        tree, _ = self._grow(rows, grow_weight, count_weight, seeds[1])
        if self.pruning == "cost-complexity":
            # The links are of the rows that grew the tree; those that count came later.
            grown = tree
            if self.honest > 0.0:
                grown, _ = self._grow(rows, grow_weight, None, seeds[1])
                if grown.n_nodes != tree.n_nodes:  # counted rows opened branches of their own
                    grown = tree
            price = self._choose_price(rows, groups, grow_weight, grown, seeds)
            tree, _ = tree.cut(weakest_links(grown) > price)
        return tree

    def _grow(
        self, rows: TreeRows, grow_weight: Weight, count_weight: Weight, seed: int
    ) -> tuple[DecisionTree, NDArray[np.int32]]:
        return self.rules.grow(
            rows.table, rows.y, rows.n_classes,
            grow_weight=grow_weight, count_weight=count_weight, seed=seed, n_jobs=rows.n_jobs,
        )  # fmt: skip

    def _prune_by_error(
        self,
        rows: TreeRows,
        groups: RowGroups,
        grow_weight: Weight,
        count_weight: Weight,
        seeds: list[int],
    ) -> DecisionTree:
        weights = np.ones(rows.n_rows) if grow_weight is None else grow_weight
        counts = np.ones(rows.n_rows) if count_weight is None else count_weight
        held = groups.sample(PRUNING_SHARE, seeds[2])
        growing, pruning = weights * ~held, weights * held
        if not growing.any():
            growing = weights
        # All rows follow the splits, whichever of them chose these.
        tree, leaf = self._grow(rows, growing, weights + counts, seeds[1])
        grown = tree.recount(leaf, rows.y, growing)
        smaller, number = grown.cut(reduced_error_splits(grown, leaf, rows.y, pruning))
        leaf = np.where(leaf < 0, np.int32(-1), number[leaf])
        return smaller.recount(leaf, rows.y, counts)

    def _choose_price(
        self,
        rows: TreeRows,
        groups: RowGroups,
        weight: Weight,
        tree: DecisionTree,
        seeds: list[int],
    ) -> float:
        """The price of a leaf with the least squared error on held-back rows."""
        found = np.unique(weakest_links(tree))
        found = found[np.isfinite(found)]
        if len(found) == 0 or groups.n_groups < 2:
            return -np.inf
        if len(found) > MAX_PRICES:
            found = found[np.linspace(0, len(found) - 1, MAX_PRICES).round().astype(int)]
        # Between two links the tree is the same: try the geometric middles, and no pruning.
        prices = np.concatenate([[-np.inf], np.sqrt(found[:-1] * found[1:]), [found[-1]]])
        losses = np.zeros(len(prices))
        weights = np.ones(rows.n_rows) if weight is None else weight
        for training, held in groups.folds(self.n_folds, seeds[2]):
            part = np.zeros(rows.n_rows)
            part[training] = weights[training]
            if not part.any():
                continue
            fold_tree, _ = self._grow(rows, part, None, seeds[1])
            links = weakest_links(fold_tree)
            node = fold_tree.find(rows.columns, rows.n_rows, rows.n_jobs)[held]
            frequencies = fold_tree.counts.rows(MLE().smooth(fold_tree.counts))
            for i, price in enumerate(prices):
                kept = fold_tree.kept_ancestors(links > price)
                error = squared_error(frequencies[kept[node]], rows.y[held])
                losses[i] += float(weights[held] @ error)
        # Of equals the smallest tree.
        return float(prices[::-1][int(np.argmin(losses[::-1]))])
