"""The hierarchical Dirichlet model by its own story: forwards, and as an uncollapsed sampler.

    phi_root ~ Dirichlet(c0 / K);  phi_u ~ Dirichlet(c phi_parent);  rows at leaves ~ phi_leaf

Given phi above it, a cell with n rows seats them one by one: row i opens a table by a coin of
probability a / (a + i), a = c phi_parent. The tables t are the parent's rows. Nothing here uses
Stirling numbers, windows or warm starts, which is what makes it a check of the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from priorwise.counts import CountTree

ROOT_CONCENTRATION = 2.0


@dataclass
class HdpStory:
    """A dense tree whose nodes are groups' members, and Gamma(shape, rate) on concentrations."""

    tree: CountTree
    group: np.ndarray
    shape: float
    rate: float

    def __post_init__(self) -> None:
        assert self.tree.is_dense
        self.n_groups = max(1, int(self.group.max(initial=0)) + 1)
        starts = self.tree.level_start
        self.levels = [slice(starts[d], starts[d + 1]) for d in range(self.tree.depth + 1)]
        self.parent = self.tree.parent

    def node_concentration(self, c: np.ndarray) -> np.ndarray:
        return np.append(ROOT_CONCENTRATION, c[self.group[1:]])

    def draw_concentrations(self, rng: np.random.Generator) -> np.ndarray:
        return rng.gamma(self.shape, 1.0 / self.rate, self.n_groups)

    def draw_phi(self, n: np.ndarray, c: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """phi of every node, root first, given its rows n (none: from the prior)."""
        phi = np.empty_like(n)
        for alpha, level in self._walk_down(n, c, phi):
            phi[level] = draw_dirichlet(alpha, rng)
        return phi

    def mean_phi(self, n: np.ndarray, c: np.ndarray) -> np.ndarray:
        phi = np.empty_like(n)
        for alpha, level in self._walk_down(n, c, phi):
            phi[level] = alpha / alpha.sum(axis=1, keepdims=True)
        return phi

    def _walk_down(self, n: np.ndarray, c: np.ndarray, phi: np.ndarray):
        concentration = self.node_concentration(c)[:, None]
        for d, level in enumerate(self.levels):
            above = phi[self.parent[level]] if d else np.full(n.shape[1], 1.0 / n.shape[1])
            yield n[level] + concentration[level] * above, level

    def draw_rows(self, phi: np.ndarray, leaf_sizes: np.ndarray, rng: np.random.Generator):
        """The same tree with rows drawn anew at its leaves."""
        n = np.zeros_like(phi)
        leaves = self.levels[-1]
        n[leaves] = rng.multinomial(leaf_sizes, phi[leaves])
        for level in self.levels[:0:-1]:
            np.add.at(n, self.parent[level], n[level])
        return replace(self.tree, counts=n.ravel())

    def seat_rows(
        self, tree: CountTree, phi: np.ndarray, c: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Tables t of every cell, leaves first, given phi; and the rows n that follow."""
        n = tree.counts.reshape(phi.shape).copy()
        n[: self.levels[-1].start] = 0.0
        t = np.zeros_like(n)
        concentration = self.node_concentration(c)[:, None]
        for level in self.levels[:0:-1]:
            t[level] = draw_tables(n[level], concentration[level] * phi[self.parent[level]], rng)
            np.add.at(n, self.parent[level], t[level])
        return n, t

    def update_concentrations(
        self, n: np.ndarray, t: np.ndarray, c: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """With q_j ~ Beta(c, N_j): c ~ Gamma(shape + sum t, rate - sum log q)."""
        shape, rate = np.full(self.n_groups, self.shape), np.full(self.n_groups, self.rate)
        group, totals = self.group[1:], n.sum(axis=1)[1:]
        seen = totals > 0
        q = rng.beta(c[group[seen]], totals[seen])
        np.add.at(shape, group, t.sum(axis=1)[1:])
        np.add.at(rate, group[seen], -np.log(q))
        return rng.gamma(shape) / rate

    def sample(
        self, n_sweeps: int, n_burn_in: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """After each kept sweep: the mean of phi given t and c, and c."""
        c = np.full(self.n_groups, self.shape / self.rate)
        phi = self.draw_phi(self.tree.counts.reshape(self.tree.n_nodes, -1), c, rng)
        means, concentrations = [], []
        for sweep in range(n_burn_in + n_sweeps):
            n, t = self.seat_rows(self.tree, phi, c, rng)
            c = self.update_concentrations(n, t, c, rng)
            phi = self.draw_phi(n, c, rng)
            if sweep >= n_burn_in:
                means.append(self.mean_phi(n, c))
                concentrations.append(c)
        return np.array(means), np.array(concentrations)


def draw_dirichlet(alpha: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One Dirichlet variate per row, by logarithms: small parameters underflow otherwise."""
    boosted = rng.standard_gamma(alpha + 1.0)
    logs = np.log(boosted) + np.log(rng.random(alpha.shape)) / np.maximum(alpha, 1e-300)
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def draw_tables(n: np.ndarray, a: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """How many of n coins with probabilities a / (a + i), i < n, come up heads, per cell."""
    sizes = n.ravel().astype(int)
    cell = np.repeat(np.arange(sizes.size), sizes)
    i = np.arange(cell.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    weight = np.maximum(a.ravel()[cell], 1e-300)
    heads = (i == 0) | (rng.random(cell.size) * (weight + i) < weight)
    return np.bincount(cell, weights=heads, minlength=sizes.size).reshape(n.shape)
