"""Twins of the smoothers that learn something: from a tree to a table of estimates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from priorwise.counts import CountTree
from priorwise.smoothing.hdp import PRIORS, tie_nodes
from reference.trees import Context, DictTree, Table, as_dict_tree, contexts_of

from . import hdp_fixed_point as fixed_point
from . import hgs as by_rows
from .hdp_crt import HdpStory
from .hdp_exact import tied_group

Twin = Callable[[CountTree], Table]


def hdp_fixed_point(tying: str, prior: str) -> Twin:
    chosen = PRIORS[prior]

    def smooth(tree: CountTree) -> Table:
        def group_of(context: Context) -> object:
            return tied_group(context, tying)

        return fixed_point.solve(
            as_dict_tree(tree), group_of, chosen.shape, chosen.rate, chosen.start
        )[0]

    return smooth


def hdp_by_coins(tying: str, prior: str) -> Twin:
    chosen = PRIORS[prior]

    def smooth(tree: CountTree) -> Table:
        story = HdpStory(tree, tie_nodes(tree, tying), chosen.shape, chosen.rate, n_chains=100)
        means = story.posterior_means(150, 100, np.random.default_rng(1)).mean(axis=0)
        return dict(zip(contexts_of(tree), means, strict=True))

    return smooth


def hgs(mode: str, loss: str) -> Twin:
    def smooth(tree: CountTree) -> Table:
        twin = as_dict_tree(tree)
        weigh = _optimise if mode == "optimised" else _descend
        return by_rows.estimate(twin, weigh(twin, loss))

    return smooth


def _optimise(tree: DictTree, loss: str, prior_sd: float = 1.5) -> by_rows.Weights:
    """One weight per level, by a method without derivatives."""
    pull = 1.0 / (2.0 * prior_sd**2 * tree.counts[()].sum())

    def by_level(log_alpha: np.ndarray) -> by_rows.Weights:
        return {c: float(np.exp(log_alpha[min(len(c), tree.depth - 1)])) for c in tree.contexts}

    def cost(log_alpha: np.ndarray) -> float:
        return by_rows.loss(tree, by_level(log_alpha), loss) + pull * float(log_alpha @ log_alpha)

    found = minimize(cost, np.zeros(tree.depth), method="Nelder-Mead", options={"xatol": 1e-4})
    return by_level(found.x)


def _descend(tree: DictTree, loss: str, step: float = 0.01, tol: float = 1e-4) -> by_rows.Weights:
    """The papers' gradient descent, with the gradient by finite differences."""
    alpha = dict.fromkeys(tree.contexts, 1.0)
    cost = by_rows.loss(tree, alpha, loss)
    while True:
        gradient = {
            c: (by_rows.loss(tree, alpha | {c: alpha[c] + 1e-6}, loss) - cost) / 1e-6 for c in alpha
        }
        moved = {c: max(0.0, alpha[c] - step * gradient[c]) for c in alpha}
        previous, cost = cost, by_rows.loss(tree, moved, loss)
        if cost > previous:
            return alpha
        alpha = moved
        if previous - cost <= tol:
            return alpha
