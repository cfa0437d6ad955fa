"""Scores of graphs and hill climbing without a tabu list, slowly."""

from __future__ import annotations

from collections import Counter
from math import lgamma, log

import numpy as np

Graph = list[list[int]]


def score_family(
    columns: list[np.ndarray], arities: list[int], child: int, parents: list[int],
    weight: np.ndarray, score: str, prior_rows: float,
) -> float:  # fmt: skip
    cells: Counter = Counter()
    totals: Counter = Counter()
    for row, w in enumerate(weight):
        context = tuple(int(columns[parent][row]) for parent in parents)
        cells[context, int(columns[child][row])] += w
        totals[context] += w
    n_contexts = float(np.prod([arities[parent] for parent in parents]))
    n_states = arities[child]
    if score == "bic":
        fit = sum(n * log(n / totals[context]) for (context, _), n in cells.items() if n > 0)
        return fit - 0.5 * log(weight.sum()) * n_contexts * (n_states - 1)
    a, b = prior_rows / n_contexts, prior_rows / n_contexts / n_states
    return sum(lgamma(a) - lgamma(a + n) for n in totals.values()) + sum(
        lgamma(b + n) - lgamma(b) for n in cells.values()
    )


def climb(columns: list[np.ndarray], arities: list[int], weight: np.ndarray, score: str,
          prior_rows: float, max_parents: int) -> Graph:  # fmt: skip
    n = len(columns)
    graph: Graph = [[] for _ in range(n)]

    def total(parents: Graph) -> float:
        return sum(
            score_family(columns, arities, i, sorted(own), weight, score, prior_rows)
            for i, own in enumerate(parents)
        )

    while True:
        now, best, best_graph = total(graph), 1e-9, None
        for child in range(n):
            for parent in range(n):
                for changed in _changes(graph, child, parent, max_parents):
                    gain = total(changed) - now
                    if gain > best + 1e-9:
                        best, best_graph = gain, changed
        if best_graph is None:
            return [sorted(own) for own in graph]
        graph = best_graph


def _changes(graph: Graph, child: int, parent: int, max_parents: int) -> list[Graph]:
    if child == parent:
        return []
    changed = [list(own) for own in graph]
    if parent not in graph[child]:
        changed[child].append(parent)
        candidates = [changed]
    else:
        changed[child].remove(parent)
        turned = [list(own) for own in changed]
        turned[parent].append(child)
        candidates = [changed, turned]
    return [
        one for one in candidates
        if max(map(len, one)) <= max_parents and _has_no_circle(one)
    ]  # fmt: skip


def _has_no_circle(graph: Graph) -> bool:
    done: set[int] = set()
    while len(done) < len(graph):
        ready = {i for i, own in enumerate(graph) if i not in done and set(own) <= done}
        if not ready:
            return False
        done |= ready
    return True
