"""How far the probabilities of trees may be from the truth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from priorwise.models.intervals import dirichlet_spread
from priorwise.structure.trees import DecisionTree

LEAST_COUNT = 1e-3
FOREST_FACTORS = {
    "constant": -0.62,
    "rows": -0.24,
    "classes": -0.96,
    "gini": 0.76,
    "leaves": 0.15,
    "between": 0.28,
}
BOOSTING_FACTORS = {
    "constant": -0.41,
    "rows": -0.44,
    "classes": -0.66,
    "gini": 0.39,
    "between": 0.22,
}
TREE_FACTORS = {"constant": -0.0, "rows": -0.26, "classes": -0.91, "gini": 0.46, "path": 0.31}
"""Logarithms of constants, and exponents, of `combine_parts`; fitted to generated tables."""


def count_rows_behind(
    tree: DecisionTree, node_proba: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return one over the rows that the estimate of each node is worth, and how children differ.

    An estimate p that lies a part l of the way from the parent's to the frequencies of N rows is
    that of N + c rows with c = N (1 - l) / l, of which c are the parent's. The second number is the
    mean of 1 / (c + 1) over the children: a row that stops at an inner node, since its value is
    new, belongs to a child that differs from the node as the others do.
    """
    counts = tree.counts
    totals = np.maximum(counts.totals, LEAST_COUNT)
    frequency = counts.rows(counts.counts) / totals[:, None]
    parent = np.maximum(counts.parent, 0)
    above = node_proba[parent]
    above[0] = 1.0 / node_proba.shape[1]
    way = frequency - above
    part = ((node_proba - above) * way).sum(axis=1) / np.maximum((way * way).sum(axis=1), 1e-12)
    part = np.clip(part, 1e-3, 1.0 - 1e-3)
    inverse = 1.0 / (totals / part)
    inherited = (1.0 - part) ** 2
    own_spread = 1.0 / (totals * (1.0 - part) / part + 1.0)
    for first, last in zip(counts.level_start[1:-1], counts.level_start[2:], strict=True):
        level = slice(first, last)
        inverse[level] += inherited[level] * inverse[parent[level]]
    n_children = np.bincount(parent[1:], minlength=len(totals))
    children = np.bincount(parent[1:], own_spread[1:], minlength=len(totals))
    return inverse, children / np.maximum(n_children, 1)


def forest_parts(
    proba: NDArray[np.float64], squares: NDArray[np.float64], inverse: NDArray[np.float64]
) -> dict[str, NDArray[np.float64]]:
    """Return what the variance of the scores of a mean of trees is made of.

    `squares` are the means of the trees' squared probabilities, `inverse` that of one over the rows
    of the leaves. "between" is how much the trees differ, "leaves" how few rows their leaves have.
    """
    between = np.maximum(squares - proba * proba, 0.0).sum(axis=1)
    share = between / np.maximum((proba * (1.0 - proba)).sum(axis=1), 1e-12)
    return {
        "leaves": dirichlet_spread(proba, inverse),
        "between": dirichlet_spread(proba, np.clip(share, 1e-6, 1.0)),
    }
