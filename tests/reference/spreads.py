"""Variances of the scores of one packed factor, entry by entry."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq


def trigamma(x: float) -> float:
    return (1 + (1 + x) / (x * (1 + 2 * x))) / x


class SlowFactor:
    """A product of one factor, read without any index."""

    def __init__(self, product: Any) -> None:
        self.p = product
        self.n_classes, self.n_levels = len(product.log_prior), len(product.path) + 1
        self.parent, self.level = {0: -1}, {0: 0}
        for context in range(len(product.value)):
            for child in range(*product.child_start[context : context + 2]):
                self.parent[child], self.level[child] = context, self.level[context] + 1

    def entry(self, context: int, y: int) -> int | None:
        for e in range(*self.p.entry_start[context : context + 2]):
            if self.p.entry_class[e] == y:
                return e
        return None

    def score(self, e: int, x: int, above: float) -> float:
        if self.p.is_dense[0]:
            return float(self.p.score[e * self.p.n_outcomes[0] + x])
        for cell in range(*self.p.cell_start[e : e + 2]):
            if self.p.outcome[cell] == x:
                return float(self.p.score[cell])
        return float(self.p.rest[e]) + (above if self.p.rest_towards_parent[0] else 0.0)

    def scores(self, context: int, y: int, x: int) -> list[tuple[int, int, float]]:
        """Level, entry and score of x on the way from the root to a context."""
        path = [context]
        while self.parent[path[-1]] >= 0:
            path.append(self.parent[path[-1]])
        found = [(-1, 0, self.score(0, x, 0.0))]
        for one in path[::-1]:
            e = self.entry(one, y)
            if e is not None:
                found.append((self.level[one], e, self.score(e, x, found[-1][2])))
        return found

    def concentrations(self) -> list[float]:
        squares = np.full(self.n_levels, 1 / 4)
        terms: list[list[tuple[float, float]]] = [[(1.0, 2.0**63)] for _ in squares]
        for context in range(len(self.p.value)):
            for y in range(self.n_classes):
                e = self.entry(context, y)
                if e is None:
                    continue
                listed = range(self.p.n_outcomes[0])
                if not self.p.is_dense[0]:
                    listed = self.p.outcome[slice(*self.p.cell_start[e : e + 2])]
                pairs = [np.exp([s for *_, s in self.scores(context, y, x)[-2:]]) for x in listed]
                q, p = np.array(pairs).reshape(-1, 2).T
                level = self.level[context]
                squares[level] += ((p - q) ** 2).sum()
                power = np.floor(np.log2(max(1.0, self.p.n_rows[e] + 0.5)))
                terms[level].append((float((q * (1 - q)).sum()), 1.5 * 2.0**power - 0.5))

        def solve(level: int) -> float:
            def excess(log_c: float) -> float:
                c = np.exp(log_c)
                return float(
                    sum(v / (c + 1) * n / (n + c) for v, n in terms[level]) - squares[level]
                )

            return float(np.exp(brentq(excess, np.log(0.05), np.log(1e6), xtol=1e-12)))

        return [solve(level) for level in range(self.n_levels)]

    def spread(self, codes: list[int], y: int, share: float) -> float:
        if codes[self.p.column[0]] < 0:
            return 0.0
        ends = [self.spread_parts(codes, y, end) for end in (0.0, 1.0)]
        roots, assumed = [v**-0.5 for v, _ in ends], [a / v for v, a in ends]
        variance = (roots[0] + share * (roots[1] - roots[0])) ** -2
        part = variance * (assumed[0] + share * (assumed[1] - assumed[0]))
        return float(variance + 1.5 * part**2 / variance)

    def spread_parts(self, codes: list[int], y: int, share: float) -> tuple[float, float]:
        """The variance, and the part that rests on the concentrations, with a share of a row."""
        x, context = codes[self.p.column[0]], 0
        for parent in self.p.path:
            steps = range(*self.p.child_start[context : context + 2])
            below = [c for c in steps if self.p.value[c] == codes[parent]]
            if not below:
                break
            context = below[0]
        by_level = {level: (e, s) for level, e, s in self.scores(context, y, x)}
        concentrations = self.concentrations()
        score = by_level[-1][1]
        total = self.p.n_rows[0] + 2.0
        variance = self.own(total * np.exp(score), total, share)
        assumed = 0.0
        for level, c in enumerate(concentrations):
            q, n = np.exp(score), 0.0
            if level in by_level:
                e, score = by_level[level]
                n = self.p.n_rows[e]
            a = max((n + c) * np.exp(score), 1e-3)
            kept = min(1.0, c * q / a) ** 2
            own = self.own(a, n + c, share)
            variance = own + kept * variance
            assumed = own * c / (n + c) + kept * assumed
        return float(variance), float(assumed)

    @staticmethod
    def own(a: float, total: float, share: float) -> float:
        a = max(a, 1e-3) + share
        return max(0.0, trigamma(a) - trigamma(max(total + share, a)))
