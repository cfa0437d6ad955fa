"""Choosing how a tree grows and is smoothed, on rows that neither grew nor filled it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priorwise.models.candidates import squared_error
from priorwise.models.row_groups import RowGroups
from priorwise.models.trees.tree_growth import TreeGrowth
from priorwise.models.trees.tree_rows import TreeRows
from priorwise.smoothing import Smoother
from priorwise.structure.trees import DecisionTree

MAX_HELD_ROWS = 2000
MAX_WIDTH = 1024


@dataclass(frozen=True)
class TreeSetting:
    """One way to make a tree: how it grows, how soft its thresholds are, how it is smoothed."""

    growth: TreeGrowth
    softness: float
    smoother: Smoother


def choose_setting(
    growths: Sequence[TreeGrowth],
    softness: Sequence[float],
    smoothers: Sequence[Smoother],
    rows: TreeRows,
    groups: RowGroups,
    *,
    n_folds: int,
    curtailment: float | None,
    seed: int,
) -> TreeSetting:
    """The setting with the least squared error by k folds; the first of equals.

    A tree of each growth is grown and smoothed on k - 1 folds and judged on at most 2000 rows
    of the other. With fewer than two distinct rows the last smoother, which smooths most.
    """
    if len(growths) * len(softness) * len(smoothers) == 1:
        return TreeSetting(growths[0], softness[0], smoothers[0])
    if groups.n_groups < 2:
        return TreeSetting(growths[0], softness[0], smoothers[-1])
    losses = np.zeros((len(growths), len(softness), len(smoothers)))
    scale = feature_scale(rows)
    weights = rows.weights
    for training, held in groups.folds(n_folds, seed):
        part = np.zeros(rows.n_rows)
        part[training] = weights[training]
        if not part.any():
            continue
        held = held[np.linspace(0, len(held) - 1, min(len(held), MAX_HELD_ROWS)).astype(int)]
        for g, growth in enumerate(growths):
            tree = growth.grow(rows, groups, part, seed)
            losses[g] += _losses(
                tree, softness, smoothers, rows, held, weights[held], scale, curtailment
            )
    best = [int(i) for i in np.unravel_index(int(np.argmin(losses)), losses.shape)]
    return TreeSetting(growths[best[0]], softness[best[1]], smoothers[best[2]])


def smooth_nodes(
    tree: DecisionTree, smoother: Smoother, curtailment: float | None, seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Smoothed cells, and the row every node answers with.

    With curtailment a node of fewer rows answers with its nearest ancestor that has enough
    (Zadrozny and Elkan 2001).
    """
    counts = tree.counts
    cells = smoother.smooth(counts, seed)
    table = counts.rows(cells, None, smoother.rest)
    if curtailment is not None:
        ancestor = np.arange(counts.n_nodes)
        small = counts.totals < curtailment
        for first, last in zip(counts.level_start[1:-1], counts.level_start[2:], strict=True):
            above = ancestor[counts.parent[first:last]]
            ancestor[first:last] = np.where(small[first:last], above, ancestor[first:last])
        table = table[ancestor]
    return cells, np.ascontiguousarray(table)


def feature_scale(rows: TreeRows) -> NDArray[np.float64]:
    """Standard deviation of each numeric feature, 0 for nominal ones."""
    scale = np.zeros(len(rows.columns))
    for i, column in enumerate(rows.columns):
        if column.dtype != np.float64:
            continue
        known = ~np.isnan(column)
        weight = rows.weights[known]
        if weight.sum() > 0.0:
            mean = np.average(column[known], weights=weight)
            scale[i] = np.sqrt(np.average((column[known] - mean) ** 2, weights=weight))
    return scale


def bandwidths(
    tree: DecisionTree, softness: float, scale: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Bandwidth of every node's threshold: softness standard deviations of its feature."""
    return np.where(tree.is_leaf, 0.0, softness * scale[np.maximum(tree.feature, 0)])


def _losses(
    tree: DecisionTree,
    softness: Sequence[float],
    smoothers: Sequence[Smoother],
    rows: TreeRows,
    held: NDArray[np.intp],
    weight: NDArray[np.float64],
    scale: NDArray[np.float64],
    curtailment: float | None,
) -> NDArray[np.float64]:
    """Summed squared error of the held rows for each softness and smoother."""
    columns = [column[held] for column in rows.columns]
    node = tree.find(columns, len(held), rows.n_jobs)
    losses = np.zeros((len(softness), len(smoothers)))
    at_once = max(1, MAX_WIDTH // rows.n_classes)
    for first in range(0, len(smoothers), at_once):
        batch = smoothers[first : first + at_once]
        tables = np.hstack([smooth_nodes(tree, s, curtailment)[1] for s in batch])
        for b, soft in enumerate(softness):
            if soft == 0.0:
                answers = tables[node]
            else:
                bandwidth = bandwidths(tree, soft, scale)
                answers = tree.blend(columns, len(held), tables, bandwidth, rows.n_jobs)
            for s in range(len(batch)):
                proba = answers[:, s * rows.n_classes : (s + 1) * rows.n_classes]
                losses[b, first + s] = weight @ squared_error(proba, rows.y[held])
    return losses
