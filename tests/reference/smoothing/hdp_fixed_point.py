"""The deterministic fixed point of the hierarchical Dirichlet model, by its equations.

Repeat until nothing moves, at every node::

    a = c exp(digamma(alpha_k) - digamma(sum alpha)) of the parent, alpha = n + c phi_parent
    t = n if n <= 1 else a (digamma(a + n) - digamma(a));  the parent's n is the sum of t
    c : root of  sum_j [T_j - c (digamma(c + N_j) - digamma(c))] + shape - rate c
    phi = (n + c phi_parent) / (N + c)

With a discount d, of a Pitman-Yor process, alpha = n - d t + (c + d T) phi_parent, c + d T is in
the place of c in `a`, t is the mean of `seat_rows`, and c sum_{i < T} 1 / (c + d i) in that of T.

The concentrations are roots by bisection instead of Newton steps.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np
from scipy.optimize import brentq
from scipy.special import digamma

from reference.trees import Context, DictTree, Table

from .pitman_yor import seat_rows

ROOT_CONCENTRATION = 2.0


def solve(
    tree: DictTree,
    group_of: Callable[[Context], Hashable],
    shape: float,
    rate: float,
    start: float,
    n_passes: int = 2000,
    discount: float = 0.0,
) -> tuple[Table, dict[Hashable, float]]:
    """phi of every context, and c of every group."""
    inner = [context for context in tree.contexts if len(context) < tree.depth]
    below = [context for context in tree.contexts if context]
    c = {group_of(context): start for context in below}
    n = {context: counts.copy() for context, counts in tree.counts.items()}
    ending = {context: tree.ending(context) for context in inner}
    tables: Table = {context: np.minimum(n[context], 1.0) for context in below}
    groups: dict[Hashable, list[Context]] = {group: [] for group in c}
    for context in below:
        groups[group_of(context)].append(context)

    def list_alphas() -> Table:
        alpha: Table = {(): n[()] + ROOT_CONCENTRATION / tree.n_outcomes}
        for context in below:  # parents first
            t = tables[context]
            shared = c[group_of(context)] + discount * t.sum()
            alpha[context] = n[context] - discount * t + shared * _mean(alpha[context[:-1]])
        return alpha

    for _ in range(n_passes):
        alpha = list_alphas()
        prior = {u: _geometric_mean(alpha[u]) for u in inner}
        for context in inner:
            n[context] = ending[context]
        for context in reversed(below):
            shared = c[group_of(context)] + discount * tables[context].sum()
            a = shared * prior[context[:-1]]
            rows = n[context]
            with np.errstate(invalid="ignore"):
                expected = a * (digamma(a + rows) - digamma(a))
            if discount:
                pairs = zip(a, rows, strict=True)
                expected = np.array([seat_rows(x, m, discount) for x, m in pairs])
            tables[context] = np.where(rows <= 1, rows, np.minimum(expected, rows))
            n[context[:-1]] = n[context[:-1]] + tables[context]
        moved = 0.0
        for group, members in groups.items():
            passed = np.array([tables[context].sum() for context in members])
            if passed.sum() == 0:
                continue
            sizes = np.array([n[context].sum() for context in members])
            wanted = _mode(passed, sizes, shape, rate, discount, c[group])
            moved = max(moved, abs(np.log(wanted / c[group])))
            c[group] = wanted
        if moved < 1e-10:
            break
    return {u: _mean(alpha) for u, alpha in list_alphas().items()}, c


def _mean(alpha: np.ndarray) -> np.ndarray:
    return alpha / alpha.sum()


def _geometric_mean(alpha: np.ndarray) -> np.ndarray:
    return np.exp(digamma(alpha) - digamma(alpha.sum()))


def _mode(
    passed: np.ndarray, sizes: np.ndarray, shape: float, rate: float, discount: float, near: float
) -> float:
    """The root c, which is looked for beside `near` before it is looked for everywhere."""

    def slope(log_c: float) -> float:
        c = np.exp(log_c)
        # c sum_{i < T} 1 / (c + a i)
        ratio = c / discount if discount else np.inf
        opened = ratio * (digamma(ratio + passed) - digamma(ratio)) if discount else passed
        expected = c * (digamma(c + sizes) - digamma(c))
        return float(opened.sum() - expected.sum() + shape - rate * c)

    low, high = np.log(near) - 0.01, np.log(near) + 0.01
    if slope(low) * slope(high) > 0.0:
        low, high = np.log(1e-6), np.log(1e12)
    return float(np.exp(brentq(slope, low, high, xtol=1e-13)))
