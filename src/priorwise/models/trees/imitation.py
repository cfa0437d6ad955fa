"""Growing one tree that imitates a forest (Breiman and Shang 1996)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.data.tables import Columns
from priorwise.models.candidates import squared_error
from priorwise.models.intervals import HELD_OUT
from priorwise.models.memory import TableSize
from priorwise.models.training_table import TrainingTable
from priorwise.models.trees.forest import ProbabilityForestClassifier
from priorwise.models.trees.tree_step import make_step
from priorwise.structure.trees import C45, DecisionTree
from priorwise.structure.trees.monotone import bound_tree

DRAWN_PER_ROW, MAX_DRAWN = 20, 10_000
"""Rows that this forest labels for each training row, and at most, training rows included."""

MAX_COPIES = 60_000
"""Most pairs of a labelled row and a class that the tree grows on."""

N_TREES = 100
"""Trees of the forest that is imitated."""

SWAP_CHANCE = 0.5
"""Chance that a value of such a row is that of another training row."""

MIN_DRAWN = 5.0
"""Least rows of a leaf, of those that the forest labels: smaller leaves gain little."""

LEAST_SHARE = 1e-3
"""Classes of less probability don't help to choose splits."""


def estimate_imitation(size: TableSize) -> float:
    """Bytes at the peak of a fit of a tree that imitates a forest."""
    n_drawn = max(size.n_rows, min(DRAWN_PER_ROW * size.n_rows, MAX_DRAWN))
    n_copies = min(n_drawn * size.n_classes, max(MAX_COPIES, size.n_rows * size.n_classes))
    drawn = n_drawn * (16.0 * size.n_features + 24.0 * size.n_classes)
    forest = 6.0 * N_TREES * size.n_rows
    return size.table_bytes + drawn + 27.0 * n_copies * size.n_features + forest


def grow_forest(table: TrainingTable, seed: int) -> ProbabilityForestClassifier:
    """Return the forest that is to be imitated."""
    forest = ProbabilityForestClassifier(
        N_TREES, splitter="random", counts="all", n_jobs=table.n_threads, random_state=seed
    )
    return forest.fit_table(table)


def out_of_bag_error(forest: ProbabilityForestClassifier, table: TrainingTable) -> float:
    """Return the mean squared error of a forest out of bag; infinite if all rows grew all trees."""
    known = ~np.isnan(forest.oof_proba_[:, 0])
    if not known.any():
        return np.inf
    error = squared_error(forest.oof_proba_[known], table.y[known])
    return float(np.average(error, weights=table.weights[known]))


def imitate(
    forest: ProbabilityForestClassifier, table: TrainingTable, shape: C45, seed: int
) -> dict[str, Any]:
    """Return the fitted attributes of a tree that imitates a forest.

    It grows on the training rows and on rows put together from their values, each with the
    probabilities that the forest gives. Its nodes have the means of these probabilities, and count
    the training rows. `shape` limits the tree; its leaves are counted in rows that the forest
    labels.
    """
    least = max(shape.min_samples_leaf, MIN_DRAWN)
    rules = replace(shape, min_samples_leaf=least, mdl_correction=False, numeric_min_share=0.0)
    n_drawn = max(table.n_rows, min(DRAWN_PER_ROW * table.n_rows, MAX_DRAWN))
    columns = draw_mixed_rows(table, n_drawn, seed)
    proba = forest.step_.predict(columns, forest.n_threads)
    tree = _grow_on_shares(rules, table, columns, np.where(proba < LEAST_SHARE, 0.0, proba), seed)
    leaf = tree.find(columns.in_feature_order(), n_drawn, table.n_threads)
    tree = tree.recount(leaf[: table.n_rows], table.y, table.weights)
    node_proba = mean_of_nodes(tree, leaf, proba)
    if rules.monotone:
        node_proba = bound_tree(tree, node_proba, rules.monotone)
    counts = tree.counts
    node_of_cell = np.repeat(np.arange(counts.n_nodes), np.diff(counts.row_start))
    return {
        "step_": make_step(tree, node_proba, np.empty(0)),
        HELD_OUT: forest.oof_proba_,
        "tree_": tree,
        "smoothing_": forest.smoothing_,
        "criterion_": rules.criterion,
        "nominal_splits_": rules.nominal_splits,
        "teacher_": "forest",
        "softness_": 0.0,
        "probabilities_": node_proba[node_of_cell, counts.outcome],
    }


def _grow_on_shares(
    rules: C45, table: TrainingTable, columns: Columns, shares: NDArray[np.float64], seed: int
) -> DecisionTree:
    """Return the tree of rows that belong to several classes, to each by its share."""
    n_copies = np.cumsum((shares > 0.0).sum(axis=1))
    n_kept = max(int(np.searchsorted(n_copies, MAX_COPIES, side="right")), table.n_rows)
    row, outcome = np.nonzero(shares[:n_kept])
    features = columns.in_feature_order()
    copies = _core.SortedColumns(
        [np.ascontiguousarray(feature[row]) for feature in features], len(row), table.n_threads
    )
    return rules.grow(
        copies, outcome.astype(np.int32), table.n_classes, grow_weight=shares[row, outcome],
        seed=seed, n_jobs=table.n_threads,
    )[0]  # fmt: skip


def draw_mixed_rows(table: TrainingTable, n_drawn: int, seed: int) -> Columns:
    """Return the rows of a table and further ones, in all `n_drawn`, drawn by weight.

    A value of a further row is, with the chance `SWAP_CHANCE`, that of another row drawn for it.
    """
    generator, n_rows = np.random.default_rng(seed), table.n_rows
    chance = None if table.weight is None else table.weight / table.weight.sum()
    n_further = n_drawn - n_rows
    rows = generator.choice(n_rows, n_further, p=chance)

    def mix(column: NDArray[Any]) -> NDArray[Any]:
        others = generator.choice(n_rows, n_further, p=chance)
        taken = np.where(generator.random(n_further) < SWAP_CHANCE, others, rows)
        return np.concatenate([column, column[taken]])

    codes, values = table.columns.nominal_codes, table.columns.values
    mixed = [[mix(column) for column in part] for part in (codes, values)]
    return Columns(
        np.array(mixed[0], dtype=codes.dtype).reshape(len(codes), n_drawn),
        np.array(mixed[1], dtype=values.dtype).reshape(len(values), n_drawn),
        table.columns.is_nominal,
    )


def mean_of_nodes(
    tree: DecisionTree, leaf: NDArray[np.int32], proba: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the mean of the probabilities of the rows that pass each node."""
    n_nodes, n_classes = tree.n_nodes, proba.shape[1]
    sums = np.zeros((n_nodes, n_classes))
    for k in range(n_classes):
        sums[:, k] = np.bincount(leaf, proba[:, k], minlength=n_nodes)
    parent, start = tree.counts.parent, tree.counts.level_start
    for first, last in zip(start[-2:0:-1], start[:1:-1], strict=True):
        np.add.at(sums, parent[first:last], sums[first:last])
    return np.asarray(sums / sums.sum(axis=1, keepdims=True))
