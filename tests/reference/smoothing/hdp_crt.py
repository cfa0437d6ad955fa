"""The hierarchical Dirichlet model by its own story: forwards, and as an uncollapsed sampler.

    phi_root ~ Dirichlet(c0 / K);  phi_u ~ Dirichlet(c phi_parent);  rows at leaves ~ phi_leaf

Given phi above it, a cell with n rows seats them one by one: row i opens a table by a coin of
probability a / (a + i), a = c phi_parent. The tables t are the parent's rows. Nothing here uses
Stirling numbers, windows or warm starts, which is what makes it a check of the kernel.

Arrays are (chains, nodes, outcomes) or (chains, groups): independent chains run side by side.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from priorwise.counts import CountTree

ROOT_CONCENTRATION = 2.0


@dataclass
class HdpStory:
    """Which nodes there are, which share a concentration, and c ~ Gamma(shape, rate)."""

    tree: CountTree
    group: np.ndarray
    shape: float
    rate: float
    n_chains: int = 1
    discount: np.ndarray | None = None
    """(chains, groups), for Pitman-Yor processes; then phi can be drawn from the prior alone."""

    def __post_init__(self) -> None:
        assert self.tree.is_dense
        self.n_groups = max(1, int(self.group.max(initial=0)) + 1)
        starts = self.tree.level_start
        self.levels = [slice(starts[d], starts[d + 1]) for d in range(self.tree.depth + 1)]
        counts = self.tree.counts.reshape(self.tree.n_nodes, self.tree.n_outcomes)
        self.observed = np.repeat(counts[None], self.n_chains, axis=0)

    def draw_concentrations(self, rng: np.random.Generator) -> np.ndarray:
        return rng.gamma(self.shape, 1.0 / self.rate, (self.n_chains, self.n_groups))

    def draw_phi(self, n: np.ndarray, c: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """phi of every node, root first, given its rows n (zeros: from the prior)."""
        phi = np.empty_like(n)
        assert self.discount is None or not n.any()
        for alpha, level in self._walk_down(n, c, phi):
            if self.discount is not None and level.start > 0:
                discount = self.discount[:, self.group[level]]
                phi[:, level] = draw_pitman_yor(alpha, discount, rng)
            else:
                phi[:, level] = draw_dirichlet(alpha, rng)
        return phi

    def mean_phi(self, n: np.ndarray, c: np.ndarray) -> np.ndarray:
        phi = np.empty_like(n)
        for alpha, level in self._walk_down(n, c, phi):
            phi[:, level] = alpha / alpha.sum(axis=-1, keepdims=True)
        return phi

    def _walk_down(
        self, n: np.ndarray, c: np.ndarray, phi: np.ndarray
    ) -> Iterator[tuple[np.ndarray, slice]]:
        for d, level in enumerate(self.levels):
            above = phi[:, self.tree.parent[level]] if d else np.full(1, 1.0 / n.shape[-1])
            yield n[:, level] + self._concentration(c, level) * above, level

    def _concentration(self, c: np.ndarray, level: slice) -> np.ndarray:
        if level.start == 0:
            return np.full((len(c), 1, 1), ROOT_CONCENTRATION)
        return c[:, self.group[level], None]

    def draw_rows(
        self, phi: np.ndarray, leaf_sizes: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Counts of every node, from so many rows drawn at every leaf."""
        n = np.zeros_like(phi)
        n[:, self.levels[-1]] = rng.multinomial(leaf_sizes, phi[:, self.levels[-1]])
        for level in self.levels[:0:-1]:
            self._add_to_parents(n, n[:, level], level)
        return n

    def seat_rows(
        self, counts: np.ndarray, phi: np.ndarray, c: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rows n that follow from the tables, and tables t of every cell given phi."""
        # Rows that end at a node; those of its children come to it as tables.
        n = counts.astype(phi.dtype)
        for level in self.levels[1:]:
            self._add_to_parents(n, -counts[:, level], level)
        t = np.zeros_like(n)
        for level in self.levels[:0:-1]:
            a = self._concentration(c, level) * phi[:, self.tree.parent[level]]
            t[:, level] = draw_tables(n[:, level], a, rng)
            self._add_to_parents(n, t[:, level], level)
        return n, t

    def _add_to_parents(self, n: np.ndarray, passed: np.ndarray, level: slice) -> None:
        for i, parent in enumerate(self.tree.parent[level]):
            n[:, parent] += passed[:, i]

    def update_concentrations(
        self, n: np.ndarray, t: np.ndarray, c: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """With q_j ~ Beta(c, N_j): c ~ Gamma(shape + sum t, rate - sum log q)."""
        shape, rate = np.full(c.shape, self.shape), np.full(c.shape, self.rate)
        sizes, tables = n.sum(axis=-1), t.sum(axis=-1)
        for node, group in enumerate(self.group):
            if node == 0:
                continue
            seen = sizes[:, node] > 0
            shape[:, group] += tables[:, node]
            rate[seen, group] -= draw_log_beta(c[seen, group], sizes[seen, node], rng)
        return rng.gamma(shape) / rate

    def posterior_means(
        self, n_sweeps: int, n_burn_in: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Each chain's average of the mean of phi given t and c."""
        c = self.draw_concentrations(rng)
        phi = self.draw_phi(self.observed, c, rng)
        total = np.zeros_like(phi)
        for sweep in range(n_burn_in + n_sweeps):
            n, t = self.seat_rows(self.observed, phi, c, rng)
            c = self.update_concentrations(n, t, c, rng)
            phi = self.draw_phi(n, c, rng)
            if sweep >= n_burn_in:
                total += self.mean_phi(n, c)
        return total / n_sweeps


def draw_log_gamma(shape: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The logarithm, because a Gamma variate of small shape underflows."""
    shape = np.maximum(shape, 1e-300)
    return np.log(rng.standard_gamma(shape + 1.0)) + np.log(rng.random(shape.shape)) / shape


def draw_log_beta(a: np.ndarray, b: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    log_a, log_b = draw_log_gamma(a, rng), draw_log_gamma(b, rng)
    return log_a - np.logaddexp(log_a, log_b)


def draw_dirichlet(alpha: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One Dirichlet variate per row."""
    logs = draw_log_gamma(alpha, rng)
    weights = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def draw_pitman_yor(
    alpha: np.ndarray, discount: np.ndarray, rng: np.random.Generator, n_sticks: int = 300
) -> np.ndarray:
    """One Pitman-Yor process per row of c times the base, by breaking sticks."""
    c = alpha.sum(axis=-1)
    upper = np.cumsum(alpha / c[..., None], axis=-1)
    result, left = np.zeros_like(alpha), np.ones_like(c)
    for stick in range(n_sticks):
        share = rng.beta(1.0 - discount, c + (stick + 1) * discount)
        place = (rng.random(c.shape)[..., None] >= upper[..., :-1]).sum(axis=-1)
        size = (left * share)[..., None]
        np.put_along_axis(
            result, place[..., None], np.take_along_axis(result, place[..., None], -1) + size, -1
        )
        left = left * (1.0 - share)
    result += left[..., None] * alpha / c[..., None]
    return result / result.sum(axis=-1, keepdims=True)


def draw_tables(n: np.ndarray, a: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """How many of n coins with probabilities a / (a + i), i < n, come up heads, per cell."""
    sizes = n.ravel().astype(int)
    cell = np.repeat(np.arange(sizes.size), sizes)
    i = np.arange(cell.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    weight = np.maximum(a.ravel()[cell], 1e-300)
    heads = (i == 0) | (rng.random(cell.size) * (weight + i) < weight)
    return np.bincount(cell, weights=heads, minlength=sizes.size).reshape(n.shape)
