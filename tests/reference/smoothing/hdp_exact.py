"""The exact posterior mean of the hierarchical Dirichlet and Pitman-Yor models, by enumeration.

All pseudo-counts t are listed; concentrations and discounts are integrated on a grid. Given t::

    p(data, t | c) = Dirichlet integral at the root
                     * prod_u c^T_u Gamma(c) / Gamma(c + N_u) prod_k S(n_uk, t_uk)

and with a discount a, (c | a)_T_u = c (c + a) ... (c + (T_u - 1) a) in the place of c^T_u and
generalised Stirling numbers; so the posteriors of different groups are independent. For trees of
some eight rows and two levels.
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
    """The posterior for a given discount, or for discounts under Beta(1, 3) if it is None."""

    def __init__(
        self,
        tree: DictTree,
        tying: str,
        shape: float,
        rate: float,
        discount: float | None = 0.0,
    ) -> None:
        self.tree, self.tying = tree, tying
        discounts, log_weights = [Fraction(discount or 0.0)], np.zeros(1)
        if discount is None:
            places, weights = np.polynomial.legendre.leggauss(8)
            discounts = [Fraction((1.0 + place) / 2) for place in places]
            log_weights = np.log(weights) + 2 * np.log([float(1 - a) for a in discounts])
        # Gauss-Legendre in log c, over all the prior's mass that matters.
        x, weight = np.polynomial.legendre.leggauss(160 if discount is not None else 60)
        low, high = np.log(1e-4 * shape / rate), np.log(40.0 * (shape + 8) / rate)
        log_c = low + (x + 1) * (high - low) / 2
        # One factor c for the measure d log c.
        log_prior = np.log(weight) + shape * log_c - rate * np.exp(log_c)
        # All pairs of a concentration and a discount, one after the other.
        self.discounts, self.n_c = discounts, len(log_c)
        self.c = np.tile(np.exp(log_c), len(discounts))
        self.discount = np.repeat([float(a) for a in discounts], self.n_c)
        self.log_prior = np.tile(log_prior, len(discounts)) + np.repeat(log_weights, self.n_c)

    def mean(self) -> Table:
        """The posterior mean of phi at every context."""
        log_weights, means = [], []
        for n, t in self._all_pseudo_counts():
            densities, log_evidence = self._integrate_groups(n, t)
            log_weights.append(log_evidence + self._root_integral(n[()]))
            means.append(self._mean_given(n, t, densities))
        weights = np.exp(np.array(log_weights) - max(log_weights))
        weights /= weights.sum()
        return {
            context: sum(w * mean[context] for w, mean in zip(weights, means, strict=True))
            for context in self.tree.contexts
        }

    def _all_pseudo_counts(self) -> Iterator[tuple[Counts, Counts]]:
        ending = {c: tuple(int(k) for k in self.tree.ending(c)) for c in self.tree.contexts}
        yield from self._complete(ending, {}, self.tree.depth)

    def _complete(self, n: Counts, t: Counts, level: int) -> Iterator[tuple[Counts, Counts]]:
        """Every choice of what the nodes of a level pass on, then of the levels above."""
        if level == 0:
            yield n, t
            return
        nodes = [c for c in self.tree.contexts if len(c) == level]
        parents = [c for c in self.tree.contexts if len(c) == level - 1]
        choices = [
            itertools.product(*[range(1, k + 1) if k else (0,) for k in n[node]]) for node in nodes
        ]
        for chosen in itertools.product(*choices):
            passed = dict(zip(nodes, chosen, strict=True))
            above = {
                parent: tuple(
                    sum(column)
                    for column in zip(
                        n[parent], *(passed[c] for c in self.tree.children(parent)), strict=True
                    )
                )
                for parent in parents
            }
            yield from self._complete(n | above, t | passed, level - 1)

    def _integrate_groups(self, n: Counts, t: Counts) -> tuple[dict[object, np.ndarray], float]:
        """The posterior of each group's c and a on the grid, and the log of all their integrals."""
        members: dict[object, list[Context]] = {}
        for context in t:
            members.setdefault(tied_group(context, self.tying), []).append(context)
        densities, log_evidence = {}, 0.0
        for group, contexts in members.items():
            tables = tuple(sorted(sum(t[context]) for context in contexts))
            sizes = tuple(sorted(sum(n[context]) for context in contexts))
            cells = sorted(
                cell for one in contexts for cell in zip(n[one], t[one], strict=True) if cell[0] > 1
            )
            densities[group], log_integral = self._group_posterior(tables, sizes, tuple(cells))
            log_evidence += log_integral
        return densities, log_evidence

    @cache  # noqa: B019 - as short-lived as the object
    def _group_posterior(
        self,
        tables: tuple[int, ...],
        sizes: tuple[int, ...],
        cells: tuple[tuple[int, int], ...],
    ) -> tuple[np.ndarray, float]:
        log_stirling = [
            sum(np.log(float(discounted_row(rows, a)[own])) for rows, own in cells)
            for a in self.discounts
        ]
        log_density = self.log_prior + np.repeat(log_stirling, self.n_c)
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
        c, discount = self.c[:, None], self.discount[:, None]
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
            kept, shared = rows - discount * tables, c + discount * tables.sum()
            on_grid[context] = (kept + shared * above) / (rows.sum() + c)
        table = {
            context: densities[tied_group(context, self.tying)] @ phi
            for context, phi in on_grid.items()
            if context
        }
        table[()] = on_grid[()][0]
        return table
