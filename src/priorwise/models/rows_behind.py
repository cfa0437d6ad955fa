"""How many rows stand behind estimates of the contexts of a tree of counts, and draws of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from priorwise.common.numeric import draw_dirichlet, safe_log
from priorwise.counts import CountTree
from priorwise.smoothing import HDP, Smoother
from priorwise.smoothing.hdp import draw_missing_levels

LEAST_COUNT = 1e-3
TINY = 1e-100
"""Probabilities below it are taken as this large."""
MAX_VARIANCE = 1e6
"""Variances are cut off here: such a probability may be anything."""


def count_rows_behind(
    counts: CountTree, node_proba: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return one over the rows that the estimate of each node is worth, and how children differ.

    An estimate p that lies a part l of the way from the parent's to the frequencies of N rows is
    that of N + c rows with c = N (1 - l) / l, of which c are the parent's. The second number is the
    mean of 1 / (c + 1) over the children: a row that stops at an inner node, since its value is
    new, belongs to a child that differs from the node as the others do.
    """
    totals = np.maximum(counts.totals, LEAST_COUNT)
    frequency = counts.count_rows() / totals[:, None]
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


def draw_contexts(
    smoother: Smoother,
    tree: CountTree,
    probabilities: NDArray[np.float64],
    nodes: NDArray[np.int32],
    *,
    n_given: int,
    n_draws: int,
    seed: int,
) -> NDArray[np.float64]:
    """Return draws (n_draws, n_nodes, n_outcomes) of the distributions of contexts.

    `nodes` are the deepest nodes of contexts of `n_given` values. A context without rows differs
    from the one above as its siblings do. HDP with whole counts draws from its posterior; other
    estimates are taken as the means of Dirichlet distributions of the rows behind them.
    """
    level, whole = tree.level[nodes], bool((tree.counts == np.floor(tree.counts)).all())
    if isinstance(smoother, HDP) and whole:
        cells, concentrations = smoother.sample_with_concentrations(
            tree, n_samples=n_draws, seed=seed
        )
        draws = tree.rows(cells, nodes, rest=smoother.rest)
        draw_missing_levels(draws, level, concentrations[:, :n_given], seed)
        return draws
    node_proba = tree.rows(probabilities, rest=smoother.rest)
    inverse, children = count_rows_behind(tree, node_proba)
    inverse = inverse[nodes] + np.where(level < n_given, children[nodes], 0.0)
    alpha = node_proba[nodes] / inverse[:, None]
    shape = (n_draws, *alpha.shape)
    return draw_dirichlet(np.broadcast_to(alpha, shape), np.random.default_rng(seed))


def find_ends(
    draws: NDArray[np.float64], place: NDArray[np.intp], proba: NDArray[np.float64], level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return intervals between quantiles of draws; `place` is that of each row among them."""
    lower, upper = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)[:, place]
    return np.minimum(lower, proba), np.maximum(upper, proba)


def log_odds_variance(draws: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the variance over draws, the first axis, of the log-odds of each outcome."""
    own, others = np.maximum(draws, TINY), np.maximum(1.0 - draws, TINY)
    return np.minimum((np.log(own) - np.log(others)).var(axis=0), MAX_VARIANCE)


def split_steps(
    smoother: Smoother,
    tree: CountTree,
    probabilities: NDArray[np.float64],
    node: NDArray[np.int32],
    log_proba: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what each value on the path to a node adds to the log probabilities, and its rows.

    Both have the shape (n_rows, n_levels, n_outcomes). `log_proba` are those of the contexts whose
    deepest nodes are given. The value after the deepest node answers for what backing off does.
    """
    shape = (len(node), tree.depth, log_proba.shape[1])
    terms, support, log_proba = np.zeros(shape), np.zeros(shape), log_proba.copy()
    row = np.arange(len(node))
    while tree.depth and len(row):
        level, used = tree.level[node], tree.level[node] > 0
        above = safe_log(tree.rows(probabilities, node, rest=smoother.rest))
        terms[row, np.minimum(level, tree.depth - 1)] += log_proba[row] - above
        support[row[used], level[used] - 1] = tree.totals[node[used], None]
        log_proba[row] = above
        row, node = row[used], tree.parent[node[used]]
    return terms, support
