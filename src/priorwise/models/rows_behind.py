"""Contexts of a tree of counts: means over their rows, rows behind their estimates, and draws."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from priorwise.common.numeric import draw_dirichlet, safe_log
from priorwise.counts import CountTree
from priorwise.counts.tree import ROUNDING
from priorwise.smoothing import HDP, Smoother
from priorwise.smoothing.hdp import draw_missing_levels

TINY = 1e-100
"""Probabilities below it are taken as this large."""
MAX_VARIANCE = 1e6
"""Variances are cut off here: such a probability may be anything."""


def count_rows_behind(
    smoother: Smoother, tree: CountTree
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return one over the rows that the estimate of each node is worth, and how children differ.

    An estimate of which a part l comes from N rows of its own is that of N + c rows with
    c = N (1 - l) / l, of which c are the parent's if the smoother borrows from there. It is worth
    no more rows than the parent's. Where inner nodes are priors, estimates of their rows are made
    from those of all nodes below, and worth one row more than they have.

    The second number is the mean of 1 / (c + 1) over the children: a row that stops at an inner
    node, since its value is new, belongs to a child that differs from the node as the others do.
    """
    totals, parent, own = tree.totals, np.maximum(tree.parent, 0), smoother.own_shares(tree)
    n_children = np.bincount(parent[1:], minlength=tree.n_nodes)
    spread = own / np.maximum(totals * (1.0 - own) + own, TINY)
    children = np.bincount(parent[1:], spread[1:], minlength=tree.n_nodes)
    if smoother.inner_is_prior:
        own = np.where(n_children > 0, totals / (totals + 1.0), own)
    inverse = own / np.maximum(totals, TINY)
    if smoother.rest == "parent":
        for first, last in pairwise(tree.level_start[1:]):
            above = inverse[parent[first:last]]
            borrowed = inverse[first:last] + (1.0 - own[first:last]) ** 2 * above
            inverse[first:last] = np.maximum(borrowed, above)
    return inverse, children / np.maximum(n_children, 1)


def draw_contexts(
    smoother: Smoother,
    tree: CountTree,
    proba: NDArray[np.float64],
    nodes: NDArray[np.int32],
    n_known: NDArray[np.int32],
    *,
    n_draws: int,
    seed: int,
) -> NDArray[np.float64]:
    """Return draws (n_draws, n_contexts, n_outcomes) of the distributions of contexts.

    `proba` are their estimates, `nodes` the deepest nodes of contexts whose first `n_known` values
    are known. A context with a value that is new differs from the node as the children do. HDP with
    whole counts draws from its posterior; other estimates are taken as the means of Dirichlet
    distributions of the rows behind them. In these an outcome counts at least its part of one row
    that is spread evenly: few rows would else be certain of an outcome that none of them has.
    """
    level, whole = tree.level[nodes], bool((tree.counts == np.floor(tree.counts)).all())
    if isinstance(smoother, HDP) and whole:
        cells, concentrations = smoother.sample_with_concentrations(
            tree, n_samples=n_draws, seed=seed
        )
        draws = tree.rows(cells, nodes, rest=smoother.rest)
        if (cut := (level == n_known) & (level < tree.depth)).any():
            # How the rows of a context fall on those below it is as uncertain as their outcomes.
            shape = (n_draws, tree.n_nodes)
            weight = np.random.default_rng(seed).standard_gamma(rows_ending(tree), shape)
            draws[:, cut] = average_below(tree, cells, weight, nodes[cut], rest=smoother.rest)
        draw_missing_levels(draws, level, n_known, concentrations, seed)
        return draws
    inverse, children = count_rows_behind(smoother, tree)
    inverse = inverse[nodes] + np.where(level < n_known, children[nodes], 0.0)
    alpha = proba / inverse[:, None]
    # A new context may well lack an outcome, as long as its prefix has it.
    is_counted = (level >= n_known)[:, None] | (proba == 0.0)
    alpha = np.where(is_counted, np.maximum(alpha, 1.0 / tree.n_outcomes), alpha)
    shape = (n_draws, *alpha.shape)
    return draw_dirichlet(np.broadcast_to(alpha, shape), np.random.default_rng(seed))


def rows_ending(tree: CountTree) -> NDArray[np.float64]:
    """Return the rows of each node that no node below it has."""
    below = np.bincount(tree.parent[1:], tree.totals[1:], minlength=tree.n_nodes)
    left = tree.totals - below
    return np.where(left <= ROUNDING * tree.totals, 0.0, left)


def average_below(
    tree: CountTree,
    cells: NDArray[np.float64],
    weight: NDArray[np.float64],
    nodes: NDArray[np.int32],
    *,
    rest: str,
) -> NDArray[np.float64]:
    """Return the means, over the rows of some nodes, of the estimates where these rows end.

    `cells` are the estimates, of shape (..., n_cells), and `weight` is that of the rows that end at
    each node, of shape (..., n_nodes). Outcomes that a node does not list share as `rest` says
    what it leaves. Returns the shape (..., n_nodes_chosen, n_outcomes). O(cells).
    """
    node = np.repeat(np.arange(tree.n_nodes), np.diff(tree.row_start))
    total, sums = weight.copy(), cells * weight[..., node]
    for level in range(tree.depth, 0, -1):
        above, own = (slice(*tree.level_start[at : at + 2]) for at in (level - 1, level))
        above_cells, own_cells = (
            slice(*tree.row_start[[part.start, part.stop]]) for part in (above, own)
        )
        parent = _one_hot(tree.parent[own] - above.start, above)
        parent_cell = _one_hot(tree.parent_cell[own_cells] - above_cells.start, above_cells)
        if not tree.is_dense:
            place = node[own_cells] - own.start
            owner = _one_hot(place, own)
            base = cells[..., above_cells]
            if rest == "uniform":
                base = np.full_like(base, 1.0 / tree.n_outcomes)
            left = total[..., own] - sums[..., own_cells] @ owner
            free = 1.0 - base[..., parent_cell.indices] @ owner
            rate = np.divide(left, free, out=np.zeros_like(left), where=free > TINY)
            unlisted = (rate @ parent)[..., node[above_cells] - above.start]
            sums[..., above_cells] += base * (unlisted - rate[..., place] @ parent_cell)
        total[..., above] += total[..., own] @ parent
        sums[..., above_cells] += sums[..., own_cells] @ parent_cell
    means = sums / total[..., node]
    if tree.is_dense:
        return tree.rows(means, nodes, rest=None)
    # Nodes below share alike what they leave for outcomes that a node does not list.
    rows = tree.rows(cells, nodes, rest=rest)
    for place, chosen in enumerate(nodes.tolist()):
        first, last = tree.row_start[chosen : chosen + 2]
        row, listed, mean = rows[..., place, :], tree.outcome[first:last], means[..., first:last]
        row[..., listed] = 0.0
        left, free = 1.0 - mean.sum(axis=-1, keepdims=True), row.sum(axis=-1, keepdims=True)
        row *= np.divide(left, free, out=np.zeros_like(left), where=free > 0.0)
        row[..., listed] = mean
    return rows


def _one_hot(place: NDArray[Any], places: slice) -> csr_array:
    """Return the matrix that sums numbers by their places, of which there are as many as given."""
    shape = (len(place), places.stop - places.start)
    return csr_array((np.ones(len(place)), place, np.arange(len(place) + 1)), shape=shape)


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
    tree: CountTree,
    proba_of: Callable[[NDArray[np.int32]], NDArray[np.float64]],
    node: NDArray[np.int32],
    log_proba: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what each value on the path to a node adds to the log probabilities, and its rows.

    Both have the shape (n_rows, n_levels, n_outcomes). `log_proba` are those of the contexts whose
    deepest nodes are given, `proba_of` returns the estimates of contexts that end at nodes. The
    value after the deepest node answers for what backing off does.
    """
    shape = (len(node), tree.depth, log_proba.shape[1])
    terms, support, log_proba = np.zeros(shape), np.zeros(shape), log_proba.copy()
    row = np.arange(len(node))
    while tree.depth and len(row):
        level, used = tree.level[node], tree.level[node] > 0
        above = safe_log(proba_of(node))
        terms[row, np.minimum(level, tree.depth - 1)] += log_proba[row] - above
        support[row[used], level[used] - 1] = tree.totals[node[used], None]
        log_proba[row] = above
        row, node = row[used], tree.parent[node[used]]
    return terms, support
