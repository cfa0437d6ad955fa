"""Growing one decision tree: C4.5, then pruning, then counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from priorwise.common.numeric import pick
from priorwise.counts.draws import MAX_JUDGED_ROWS, deal_into_folds, draw_by_group
from priorwise.models.candidates import squared_error
from priorwise.models.training_table import TrainingTable
from priorwise.smoothing import Smoother
from priorwise.smoothing.base import checked_smooth
from priorwise.structure.trees import C45, DecisionTree
from priorwise.structure.trees.monotone import bound_tree
from priorwise.structure.trees.pruning import reduced_error_splits, weakest_links

CRITERIA = ("gain-ratio", "gain")
"""What best splits are chosen by."""

PRUNING_SHARE = 1.0 / 3.0
"""Share of the rows that reduced-error pruning holds back."""

MAX_PRICES = 50
"""Most prices of a leaf that cost-complexity pruning tries."""

Weight = NDArray[np.float64]


@dataclass(frozen=True)
class TreeGrowth:
    """How a tree grows, is pruned, and which rows count.

    A share `honest` of the rows counts at the nodes but chooses no split; `n_folds` folds choose
    the price of a leaf for `pruning` "cost-complexity"; "reduced-error" is the other kind.
    """

    rules: C45
    pruning: str | None = None
    honest: float = 0.0
    n_folds: int = 5

    def grow(self, table: TrainingTable, weight: Weight, seed: int) -> DecisionTree:
        """Return the tree of the rows whose `weight` is above zero."""
        seeds = [int(s) for s in np.random.SeedSequence(seed).generate_state(3)]
        grow_weight, count_weight = self._divide(weight, table.group, seeds[0])
        grow = partial(
            self.rules.grow, table.sorted_columns, table.y, table.n_classes,
            n_values=table.encoder.arities() if table.encoder.declared == "count" else None,
            seed=seeds[1], n_jobs=table.n_threads,
        )  # fmt: skip
        if self.pruning == "reduced-error":
            generator = np.random.default_rng(seeds[2])
            held = draw_by_group(table.group, table.n_rows, generator) < PRUNING_SHARE
            growing = grow_weight * ~held
            if not growing.any():
                growing = grow_weight
            # All rows follow the splits, whichever of them chose these.
            tree, leaf = grow(grow_weight=growing, count_weight=grow_weight + count_weight)
            grown = tree.recount(leaf, table.y, growing)
            splits = reduced_error_splits(grown, leaf, table.y, grow_weight * held)
            smaller, number = grown.cut(splits)
            leaf = np.where(leaf < 0, np.int32(-1), number[leaf])
            return smaller.recount(leaf, table.y, count_weight)
        tree, _ = grow(grow_weight=grow_weight, count_weight=count_weight)
        if self.pruning == "cost-complexity":
            # The links are of the rows that grew the tree, without those that only count.
            grown = tree
            if self.honest > 0.0:
                grown, _ = grow(grow_weight=grow_weight)
                if grown.n_nodes != tree.n_nodes:  # counted rows opened branches of their own
                    grown = tree
            price = self._choose_price(grow, table, grow_weight, grown, seeds[2])
            tree, _ = tree.cut(weakest_links(grown) > price)
        return tree

    def _divide(
        self, weight: Weight, group: NDArray[np.intp] | None, seed: int
    ) -> tuple[Weight, Weight]:
        """Return the weights of the rows that grow the tree and of those that count in it."""
        if self.honest > 0.0:
            drawn = draw_by_group(group, len(weight), np.random.default_rng(seed))
            counted = drawn < self.honest
            grow_weight, count_weight = weight * ~counted, weight * counted
            if grow_weight.any() and count_weight.any():
                return grow_weight, count_weight
        return weight, weight

    def _choose_price(
        self, grow: partial, table: TrainingTable, weight: Weight, tree: DecisionTree, seed: int
    ) -> float:
        """Return the price of a leaf with the least squared error on held-out rows."""
        links = np.unique(weakest_links(tree))
        links = links[np.isfinite(links)]
        if len(links) == 0 or table.n_rows < 2:
            return -np.inf
        if len(links) > MAX_PRICES:
            links = links[np.linspace(0, len(links) - 1, MAX_PRICES).round().astype(int)]
        # Between two links the tree is the same: try the geometric middles, and no pruning.
        prices = np.concatenate([[-np.inf], np.sqrt(links[:-1] * links[1:]), [links[-1]]])
        losses = np.zeros(len(prices))
        for part, held in fold_weights(table, weight, self.n_folds, seed):
            fold_tree, _ = grow(grow_weight=part)
            fold_links = weakest_links(fold_tree)
            columns = [column[held] for column in table.feature_columns]
            node = fold_tree.find(columns, len(held), table.n_threads)
            counts = fold_tree.counts
            frequencies = counts.count_rows() / counts.totals[:, None]
            for i, price in enumerate(prices):
                kept = fold_tree.kept_ancestors(fold_links > price)
                error = squared_error(frequencies[kept[node]], table.y[held])
                losses[i] += float(weight[held] @ error)
        # The smallest tree of those with the least error.
        return float(prices[::-1][pick(losses[::-1])])


def fold_weights(
    table: TrainingTable, weight: Weight, n_folds: int, seed: int
) -> Iterator[tuple[Weight, NDArray[np.intp]]]:
    """Yield, for each fold, the weights without it and its rows; classes are spread evenly."""
    fold = deal_into_folds(table.y, n_folds, np.random.default_rng(seed), table.group)
    for k in range(n_folds):
        part, held = np.where(fold == k, 0.0, weight), np.flatnonzero(fold == k)
        if part.any() and len(held):
            yield part, held


MAX_WIDTH = 1024
"""Most probabilities of one row, smoothers times classes, that are computed at once."""


@dataclass(frozen=True)
class TreeSetting:
    """One way to make a tree: how it grows, how soft its thresholds are, how it is smoothed."""

    growth: TreeGrowth
    softness: float
    smoother: Smoother
    error: float = np.inf
    """Mean squared error on held-out rows, infinite if the setting was not judged."""


def choose_setting(
    growths: Sequence[TreeGrowth],
    softness: Sequence[float],
    smoothers: Sequence[Smoother],
    table: TrainingTable,
    *,
    n_folds: int,
    curtailment: float | None,
    seed: int,
) -> TreeSetting:
    """Return the setting with the least squared error by k folds; the first of several.

    A tree of each growth is grown and smoothed on k - 1 folds and judged on at most
    `MAX_JUDGED_ROWS` rows of the other. A table of one row gets the last smoother, which smooths
    most.
    """
    if len(growths) * len(softness) * len(smoothers) == 1:
        return TreeSetting(growths[0], softness[0], smoothers[0])
    if table.n_rows < 2:
        return TreeSetting(growths[0], softness[0], smoothers[-1])
    losses = np.zeros((len(growths), len(softness), len(smoothers)))
    scale = feature_scale(table)
    weight, judged_weight = table.weights, 0.0
    for part, held in fold_weights(table, weight, n_folds, seed):
        held = held[np.linspace(0, len(held) - 1, min(len(held), MAX_JUDGED_ROWS)).astype(int)]
        rows = table.take(held)
        judged_weight += float(rows.weights.sum())
        for g, growth in enumerate(growths):
            tree = growth.grow(table, part, seed)
            node_proba = []
            for smoother in smoothers:
                monotone = growth.rules.monotone
                proba = smooth_nodes(tree, smoother, curtailment, monotone=monotone)[1]
                node_proba.append(proba)
            losses[g] += _losses(tree, softness, node_proba, rows, scale)
    best = [int(i) for i in np.unravel_index(pick(losses.ravel()), losses.shape)]
    error = float(losses.min()) / judged_weight
    return TreeSetting(growths[best[0]], softness[best[1]], smoothers[best[2]], error)


def smooth_nodes(
    tree: DecisionTree,
    smoother: Smoother,
    curtailment: float | None,
    seed: int = 0,
    monotone: Sequence[int] = (),
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the smoothed cells of the counts, and the probabilities of every node.

    With curtailment a node of fewer rows has the probabilities of its nearest ancestor that has
    enough (Zadrozny and Elkan 2001). Features with a direction in `monotone` bound probabilities.
    """
    counts = tree.counts
    cells = checked_smooth(smoother)(counts, seed)
    proba = counts.rows(cells, rest=smoother.rest)
    if curtailment is not None:
        proba = proba[tree.large_ancestors(curtailment)]
    if len(monotone):
        proba = bound_tree(tree, proba, monotone)
    return cells, np.ascontiguousarray(proba)


def feature_scale(table: TrainingTable) -> NDArray[np.float64]:
    """Return the standard deviation of each numeric feature, 0 for nominal ones."""
    scale = np.zeros(len(table.feature_columns))
    for i, column in enumerate(table.feature_columns):
        if column.dtype != np.float64:
            continue
        known = ~np.isnan(column)
        largest = np.abs(column[known]).max(initial=0.0)
        if largest > 0.0:
            # Divided by the largest number, squares neither overflow nor vanish.
            values, weight = column[known] / largest, table.weights[known]
            share = weight / weight.max()
            mean = np.average(values, weights=share)
            scale[i] = largest * np.sqrt(np.average((values - mean) ** 2, weights=share))
    return scale


def bandwidths(
    tree: DecisionTree, softness: float, scale: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the bandwidth of every node's threshold: softness times its feature's scale."""
    return np.where(tree.is_leaf, 0.0, softness * scale[np.maximum(tree.feature, 0)])


def _losses(
    tree: DecisionTree,
    softness: Sequence[float],
    node_proba: Sequence[NDArray[np.float64]],
    rows: TrainingTable,
    scale: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the sum of squared errors of held-out rows for each softness and smoother.

    `node_proba` are the probabilities of the nodes by each smoother.
    """
    columns, n_rows, n_classes = rows.feature_columns, rows.n_rows, rows.n_classes
    node = tree.find(columns, n_rows, rows.n_threads)
    losses = np.zeros((len(softness), len(node_proba)))
    n_together = max(1, MAX_WIDTH // n_classes)
    for first in range(0, len(node_proba), n_together):
        batch = node_proba[first : first + n_together]
        tables = np.hstack(batch)
        for b, soft in enumerate(softness):
            if soft == 0.0:
                answers = tables[node]
            else:
                bandwidth = bandwidths(tree, soft, scale)
                answers = tree.blend(columns, n_rows, tables, bandwidth, rows.n_threads)
            for s in range(len(batch)):
                proba = answers[:, s * n_classes : (s + 1) * n_classes]
                losses[b, first + s] = rows.weights @ squared_error(proba, rows.y)
    return losses
