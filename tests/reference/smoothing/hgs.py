"""Hierarchical gradient smoothing, row by row."""

from __future__ import annotations

import numpy as np

from reference.trees import Context, DictTree, Table

Weights = dict[Context, float]
"""alpha by context; those of leaves have no effect."""


def frequencies(tree: DictTree, context: Context) -> np.ndarray:
    """theta: frequencies; an empty context answers with its parent's, the root has a row more."""
    n = tree.counts[context]
    if not context:
        return (n + 1.0 / tree.n_outcomes) / (n.sum() + 1.0)
    return n / n.sum() if n.sum() > 0 else frequencies(tree, context[:-1])


def smooth_towards_ancestors(tree: DictTree, alpha: Weights, context: Context) -> np.ndarray:
    """(n + sum_a alpha_a theta_a) / (N + sum_a alpha_a)."""
    ancestors = [context[:length] for length in range(len(context))]
    numerator = tree.counts[context].copy()
    for a in ancestors:
        numerator = numerator + alpha[a] * frequencies(tree, a)
    return numerator / (tree.counts[context].sum() + sum(alpha[a] for a in ancestors))


def estimate(tree: DictTree, alpha: Weights) -> Table:
    table: Table = {}
    for context in tree.contexts:
        if not context:
            table[context] = frequencies(tree, ())
        elif tree.counts[context].sum() == 0:
            table[context] = table[context[:-1]].copy()
        else:
            table[context] = smooth_towards_ancestors(tree, alpha, context)
    return table


def loss(tree: DictTree, alpha: Weights, kind: str) -> float:
    """Mean loss of the rows, each taken out of the tree and estimated by what is left.

    A row is taken out of every node on its path; a weight below one is taken out whole.
    """
    if tree.depth == 0:
        return 0.0
    cost = 0.0
    for leaf in tree.leaves:
        for outcome, n in enumerate(tree.counts[leaf]):
            if n == 0:
                continue
            left = _without_a_row(tree, leaf, outcome)
            p = smooth_towards_ancestors(left, alpha, leaf)[outcome]
            cost += n * (np.log2(1.0 / p) if kind == "log" else (1.0 - p) ** 2)
    return float(cost / tree.counts[()].sum())


def _without_a_row(tree: DictTree, leaf: Context, outcome: int) -> DictTree:
    counts = {context: n.copy() for context, n in tree.counts.items()}
    for length in range(len(leaf) + 1):
        n = counts[leaf[:length]]
        n[outcome] -= min(1.0, n[outcome])
    return DictTree(tree.depth, tree.n_outcomes, counts)
