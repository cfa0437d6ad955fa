"""Choosing how a tree grows and is smoothed, on rows that neither grew it nor count in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priorwise.models.candidates import squared_error
from priorwise.models.training_table import TrainingTable
from priorwise.models.trees.tree_growth import TreeGrowth, fold_weights
from priorwise.smoothing import Smoother
from priorwise.structure.trees import DecisionTree
from priorwise.structure.trees.monotone import bound_tree

MAX_HELD_ROWS = 2000
"""Most held-out rows of a fold that settings are judged on."""

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
    `MAX_HELD_ROWS` rows of the other. A table of one row gets the last smoother, which smooths
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
        held = held[np.linspace(0, len(held) - 1, min(len(held), MAX_HELD_ROWS)).astype(int)]
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
    best = [int(i) for i in np.unravel_index(int(np.argmin(losses)), losses.shape)]
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
    cells = smoother.smooth(counts, seed)
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
