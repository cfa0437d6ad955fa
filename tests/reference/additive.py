"""Smoothers that add pseudo-counts, as recursions over contexts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .trees import Context, DictTree, Table


def mle(tree: DictTree) -> Table:
    return _smooth(tree, lambda context, n, above: n / n.sum())


def m_estimate(tree: DictTree, m: float, backoff: bool = True) -> Table:
    def estimate(context: Context, n: np.ndarray, above: np.ndarray) -> np.ndarray:
        if n.sum() + m == 0:
            return above
        return (n + m / tree.n_outcomes) / (n.sum() + m)

    return _smooth(tree, estimate, copy_empty=backoff)


def laplace(tree: DictTree) -> Table:
    return _smooth(tree, lambda context, n, above: (n + 1.0) / (n.sum() + tree.n_outcomes))


def m_branch(tree: DictTree, m: float) -> Table:
    n_rows = tree.counts[()].sum()

    def height(context: Context) -> int:
        return 1 + max((height(child) for child in tree.children(context)), default=0)

    def estimate(context: Context, n: np.ndarray, above: np.ndarray) -> np.ndarray:
        weight = m * (1.0 + (1.0 - 1.0 / height(context)) * np.sqrt(n_rows))
        return (n + weight * above) / (n.sum() + weight)

    return _smooth(tree, estimate)


def _smooth(
    tree: DictTree,
    estimate: Callable[[Context, np.ndarray, np.ndarray], np.ndarray],
    copy_empty: bool = True,
) -> Table:
    table: Table = {}
    for context in tree.contexts:
        n = tree.counts[context]
        above = table[context[:-1]] if context else np.full(tree.n_outcomes, 1 / tree.n_outcomes)
        copies = copy_empty and n.sum() == 0
        table[context] = above.copy() if copies else estimate(context, n, above)
    return table
