"""Smoothers that add pseudo-counts, as recursions over contexts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from reference.trees import Context, DictTree, Table


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


def parent_estimate(tree: DictTree, m: float) -> Table:
    def estimate(context: Context, n: np.ndarray, above: np.ndarray) -> np.ndarray:
        weight = m if context else 1.0
        return (n + weight * above) / (n.sum() + weight)

    return _smooth(tree, estimate)


def level_shrinkage(tree: DictTree) -> Table:
    """One weight per level, by a fine grid over the likelihood of rows really left out."""
    above: Table = {}  # leave-one-out estimates
    weights = [1.0]
    for level in range(tree.depth + 1):
        nodes = [context for context in tree.contexts if len(context) == level]
        if level > 0:
            grid = 2.0 ** np.linspace(-3, 10, 1301)
            gain = sum(_left_out_gain(tree.counts[u], above[u[:-1]], grid) for u in nodes)
            weights.append(float(grid[np.argmax(gain)]))
        uniform = np.full(tree.n_outcomes, 1 / tree.n_outcomes)
        for u in nodes:
            n, base = tree.counts[u], above[u[:-1]] if u else uniform
            others = np.maximum(n - 1, 0)
            total = n.sum() - np.minimum(n, 1)
            above[u] = (others + weights[level] * base) / (total + weights[level])
    return _smooth(
        tree,
        lambda context, n, base: (
            (n + weights[len(context)] * base) / (n.sum() + weights[len(context)])
        ),
    )


def _left_out_gain(n: np.ndarray, base: np.ndarray, c: np.ndarray) -> np.ndarray:
    gain = np.zeros(len(c))
    for rows, q in zip(n, base, strict=True):
        if rows > 0 and n.sum() > 1:
            gain += rows * np.log((rows - 1 + c * q) / (n.sum() - 1 + c))
    return gain


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
