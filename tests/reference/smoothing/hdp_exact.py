"""The exact posterior mean of the hierarchical Dirichlet and Pitman-Yor models, by enumeration.

All pseudo-counts t are listed; the concentrations are integrated on a grid. Given t::

    p(data, t | c) = Dirichlet integral at the root
                     * prod_u c^T_u Gamma(c) / Gamma(c + N_u) prod_k S(n_uk, t_uk)

and with a discount a, (c | a)_T_u = c (c + a) ... (c + (T_u - 1) a) in the place of c^T_u and
generalised Stirling numbers; so the posteriors of different groups' concentrations are
independent. For trees of some eight rows and two levels.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from functools import cache

import numpy as np
from scipy.special import gammaln

from reference.trees import Context, DictTree, Table

from .pitman_yor import discounted_row

ROOT_CONCENTRATION = 2.0
Counts = dict[Context, tuple[int, ...]]


def tied_group(context: Context, tying: str) -> object:
    """What nodes that share a concentration have in common."""
    return {"level": len(context), "single": 0, "parent": context[:-1], "none": context}[tying]


class ExactPosterior:
    def __init__(
        self, tree: DictTree, tying: str, shape: float, rate: float, discount: float = 0.0
    ) -> None:
        self.tree, self.tying, self.discount = tree, tying, discount
        # Gauss-Legendre in log c, over all the prior's mass that matters.
        x, weight = np.polynomial.legendre.leggauss(160)
        low, high = np.log(1e-4 * shape / rate), np.log(40.0 * (shape + 8) / rate)
        log_c = low + (x + 1) * (high - low) / 2
        self.c = np.exp(log_c)
        # One factor c for the measure d log c.
        self.log_prior = np.log(weight) + shape * log_c - rate * self.c

    def mean(self) -> Table:
        """The posterior mean of phi at every context."""
        log_weights, means = [], []
        for n, t, log_stirling in self._all_pseudo_counts():
            densities, log_evidence = self._integrate_concentrations(n, t)
            log_weights.append(log_stirling + log_evidence + self._root_integral(n[()]))
            means.append(self._mean_given(n, t, densities))
        weights = np.exp(np.array(log_weights) - max(log_weights))
        weights /= weights.sum()
        return {
            context: sum(w * mean[context] for w, mean in zip(weights, means, strict=True))
            for context in self.tree.contexts
        }

    def _all_pseudo_counts(self) -> Iterator[tuple[Counts, Counts, float]]:
        ending = {c: tuple(int(k) for k in self.tree.ending(c)) for c in self.tree.contexts}
        yield from self._complete(ending, {}, 0.0, self.tree.depth)

    def _complete(
        self, n: Counts, t: Counts, log_stirling: float, level: int
    ) -> Iterator[tuple[Counts, Counts, float]]:
        """Every choice of what the nodes of a level pass on, then of the levels above."""
        if level == 0:
            yield n, t, log_stirling
            return
        nodes = [c for c in self.tree.contexts if len(c) == level]
        parents = [c for c in self.tree.contexts if len(c) == level - 1]
        choices = [
            itertools.product(*[range(1, k + 1) if k else (0,) for k in n[node]]) for node in nodes
        ]
        for chosen in itertools.product(*choices):
            passed = dict(zip(nodes, chosen, strict=True))
            log_s = sum(
                np.log(float(discounted_row(rows, Fraction(self.discount))[tables]))
                for node in nodes
                for rows, tables in zip(n[node], passed[node], strict=True)
            )
            above = {
                parent: tuple(
                    sum(column)
                    for column in zip(
                        n[parent], *(passed[c] for c in self.tree.children(parent)), strict=True
                    )
                )
                for parent in parents
            }
            yield from self._complete(n | above, t | passed, log_stirling + log_s, level - 1)

    def _integrate_concentrations(
        self, n: Counts, t: Counts
    ) -> tuple[dict[object, np.ndarray], float]:
        """The posterior of each group's c on the grid, and the log of all their integrals."""
        members: dict[object, list[Context]] = {}
        for context in t:
            members.setdefault(tied_group(context, self.tying), []).append(context)
        densities, log_evidence = {}, 0.0
        for group, contexts in members.items():
            tables = tuple(sorted(sum(t[context]) for context in contexts))
            sizes = tuple(sorted(sum(n[context]) for context in contexts))
            densities[group], log_integral = self._group_posterior(tables, sizes)
            log_evidence += log_integral
        return densities, log_evidence

    @cache  # noqa: B019 - as short-lived as the object
    def _group_posterior(
        self, tables: tuple[int, ...], sizes: tuple[int, ...]
    ) -> tuple[np.ndarray, float]:
        log_density = self.log_prior.copy()
        for i in itertools.chain(*map(range, tables)):
            log_density = log_density + np.log(self.c + self.discount * i)
        for size in sizes:
            log_density = log_density + gammaln(self.c) - gammaln(self.c + size)
        density = np.exp(log_density - log_density.max())
        return density / density.sum(), float(log_density.max() + np.log(density.sum()))

    def _root_integral(self, n: tuple[int, ...]) -> float:
        alpha = ROOT_CONCENTRATION / len(n)
        return float(np.sum(gammaln(np.array(n) + alpha)) - gammaln(sum(n) + ROOT_CONCENTRATION))

    def _mean_given(self, n: Counts, t: Counts, densities: dict[object, np.ndarray]) -> Table:
        """E[phi | t]: along a path either all nodes share one c or no two do."""
        c = self.c[:, None]
        on_grid: Table = {}
        for context in self.tree.contexts:
            rows = np.array(n[context], dtype=float)
            if not context:
                uniform = np.full(len(rows), 1.0 / len(rows))
                root = (rows + ROOT_CONCENTRATION * uniform) / (rows.sum() + ROOT_CONCENTRATION)
                on_grid[context] = np.tile(root, (len(self.c), 1))
                continue
            above = on_grid[context[:-1]]
            if self.tying != "single" and len(context) > 1:
                # c of the parent is another, independent one: its mean is all that counts.
                group = tied_group(context[:-1], self.tying)
                above = densities[group] @ above
            tables = np.array(t[context], dtype=float)
            kept, shared = rows - self.discount * tables, c + self.discount * tables.sum()
            on_grid[context] = (kept + shared * above) / (rows.sum() + c)
        table = {
            context: densities[tied_group(context, self.tying)] @ phi
            for context, phi in on_grid.items()
            if context
        }
        table[()] = on_grid[()][0]
        return table
