"""Smoothing by a hierarchical Dirichlet or Pitman-Yor process."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.common.docstrings import describe, hook
from priorwise.common.numeric import draw_dirichlet
from priorwise.common.validation import check_choice, check_number
from priorwise.counts import CountTree
from priorwise.smoothing.base import TREE, Shrinkage, Smoother

ROOT_CONCENTRATION = 2.0
MAX_PASSES = 200
PASS_TOLERANCE = 2e-3


@dataclass(frozen=True)
class Prior:
    """Gamma(shape, rate) prior of the concentrations, and where inference starts."""

    shape: float
    rate: float

    @property
    def start(self) -> float:
        """The mean of the prior, at most `MAX_START`."""
        return min(self.shape / self.rate, MAX_START)


PRIORS = {"diffuse": Prior(1.0, 0.02), "network": Prior(1.0, 0.1), "thesis": Prior(2.0, 1.0)}
MAX_START = 20.0


class HDP(Smoother, name="hdp"):
    """Posterior mean under a hierarchical Dirichlet model of the tree.

    The model (Petitjean et al. 2018, section 4), with K outcomes::

        phi_root ~ Dirichlet(2 / K, ..., 2 / K)
        phi_u    ~ Dirichlet(c phi_parent),   c ~ Gamma(shape, rate)
        rows at a leaf ~ Multinomial(phi_leaf)

    Every node passes part t of its counts n up to its parent, t between 1 and n where n > 0;
    given what the children passed, phi_u has the mean (n + c phi_parent) / (N + c). A large c
    makes siblings alike; nodes tied together share one c, learnt from the counts.

    Parameters
    ----------
    inference : {"variational", "gibbs"}, default="variational"
        "variational" iterates expected pseudo-counts and expected concentrations to a fixed
        point. It is deterministic, about as close to the posterior mean as some thousand sweeps,
        and takes a hundredth of their time. "gibbs" samples, from a warm start at that fixed
        point; prefer it for `tying="none"` and for tables of fewer than 30 rows. It needs
        whole counts with a sum of at most 2**53. Pseudo-counts of millions hardly move within
        `n_iter` sweeps, as a sweep changes each by at most 20.
    tying : {"level", "single", "parent", "none"}, default="level"
        Which nodes share a concentration: those of a level, all, siblings, or none.
    prior : {"diffuse", "network", "thesis"}, default="diffuse"
        Gamma(1, 0.02), Gamma(1, 0.1) or Gamma(2, 1). The second suits tables of a Bayesian
        network, whose contexts differ; the third pulls c towards 2 and smooths deep trees too
        little.
    prior_shape : float, optional
        Shape of the Gamma prior, from 1e-9 to 1e9, instead of that of `prior`.
    prior_rate : float, optional
        Rate of the Gamma prior, from 1e-9 to 1e9, instead of that of `prior`.
    n_iter : int, default=500
        Number of Gibbs sweeps that are averaged.
    n_burn_in : int, default=100
        Number of Gibbs sweeps before them.

    Examples
    --------
    >>> tree = CountTree.from_rows([[0, 0, 0, 1]], [0, 0, 1, 1], n_outcomes=2)
    >>> HDP().rows(tree).sum(axis=1).round(12)
    array([1., 1., 1.])
    """

    inner_is_prior = True

    def __init__(
        self,
        inference: str = "variational",
        *,
        tying: str = "level",
        prior: str = "diffuse",
        prior_shape: float | None = None,
        prior_rate: float | None = None,
        n_iter: int = 500,
        n_burn_in: int = 100,
    ) -> None:
        self.inference = inference
        self.tying = tying
        self.prior = prior
        self.prior_shape = prior_shape
        self.prior_rate = prior_rate
        self.n_iter = n_iter
        self.n_burn_in = n_burn_in

    def smooth(self, tree: CountTree, seed: int = 0) -> NDArray[np.float64]:
        check_choice("inference", self.inference, ("variational", "gibbs"))
        if self.inference == "gibbs":
            return self._run_gibbs(tree, seed, n_draws=0)[0]
        return _core.solve_process(*self._problem(tree))[0]

    @describe(TREE)
    def sample(
        self, tree: CountTree, *, n_samples: int = 1000, seed: int = 0
    ) -> NDArray[np.float64]:
        """Draw from the posterior of every node's probabilities, by Gibbs sampling.

        Sampling runs for `n_iter` sweeps, or `n_samples` if that is more, and the draws are
        spread over them evenly.

        Parameters
        ----------
        tree : CountTree
            Whole counts with a sum of at most 2**53.

        Returns
        -------
        array of shape (n_samples, n_cells)
            Draws of phi itself, for credible intervals.
        """
        return self.sample_with_concentrations(tree, n_samples=n_samples, seed=seed)[0]

    @hook
    def sample_with_concentrations(
        self, tree: CountTree, *, n_samples: int = 1000, seed: int = 0
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Draw as `sample` does, and return the concentrations, of shape (n_samples, n_levels).

        They are those of a context without rows at each level below the root: that of the level, or
        of a node of the level drawn at random where nodes have concentrations of their own.
        """
        check_number("n_samples", n_samples, least=1)
        _, draws, concentrations = self._run_gibbs(tree, seed, n_draws=int(n_samples))
        group, generator = tie_nodes(tree, self.tying), np.random.default_rng(seed)
        levels = []
        for first, last in itertools.pairwise(tree.level_start[1:]):
            nodes = generator.integers(first, last, len(draws))
            levels.append(concentrations[np.arange(len(draws)), group[nodes]])
        return draws, np.column_stack([np.empty((len(draws), 0)), *levels])

    @describe(TREE)
    def concentrations(self, tree: CountTree) -> NDArray[np.float64]:
        """Return the concentration of each node at the fixed point; that of the root is given.

        Returns
        -------
        array of shape (n_nodes,)
            Concentrations, in rows.
        """
        group = tie_nodes(tree, self.tying)
        return np.append(
            ROOT_CONCENTRATION, _core.solve_process(*self._problem(tree))[2][group[1:]]
        )

    def shrinkage(self, tree: CountTree) -> Shrinkage:
        # Concentrations would be too large: they belong to the counts that are passed up.
        return Shrinkage(_core.level_weights(tree)[tree.level], towards_parent=True)

    def _prior(self) -> Prior:
        check_choice("prior", self.prior, tuple(PRIORS))
        named = PRIORS[self.prior]
        if self.prior_shape is None and self.prior_rate is None:
            return named
        shape = named.shape if self.prior_shape is None else self.prior_shape
        rate = named.rate if self.prior_rate is None else self.prior_rate
        check_number("prior_shape", shape, least=1e-9, most=1e9)
        check_number("prior_rate", rate, least=1e-9, most=1e9)
        return Prior(shape, rate)

    def _first_discount(self) -> float | None:
        """Return the discount at which inference starts; None without discounts."""
        return None

    def _learns_discounts(self) -> bool:
        return False

    def _problem(self, tree: CountTree) -> tuple[Any, ...]:
        """Return what `solve_process` takes to find the fixed point, deterministically."""
        prior, group, discount = self._prior(), tie_nodes(tree, self.tying), self._first_discount()
        start = np.full(int(group.max(initial=0)) + 1, prior.start)
        return (
            tree, group, start, None if discount is None else np.full(len(start), discount),
            self._learns_discounts(), prior.shape, prior.rate, ROOT_CONCENTRATION, MAX_PASSES,
            PASS_TOLERANCE,
        )  # fmt: skip

    def _run_gibbs(
        self, tree: CountTree, seed: int, n_draws: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean of phi, draws of phi, and draws of the concentration of each group.

        With discounts, the concentrations are those of Dirichlet distributions of the same
        variance.
        """
        n_iter = int(check_number("n_iter", self.n_iter, least=1))
        n_burn_in = int(check_number("n_burn_in", self.n_burn_in, least=0))
        prior = self._prior()
        _, passed, concentration, discount, _ = _core.solve_process(*self._problem(tree))
        has_discounts = self._first_discount() is not None
        mean, draws, concentrations, discounts, *_ = _core.sample_process(
            tree, tie_nodes(tree, self.tying), passed, concentration,
            discount if has_discounts else None, self._learns_discounts(), prior.shape, prior.rate,
            ROOT_CONCENTRATION, n_burn_in + max(n_iter, n_draws), n_burn_in, n_draws, seed,
        )  # fmt: skip
        if has_discounts:
            concentrations = (concentrations + discounts) / (1.0 - discounts)
        return mean, draws, concentrations


def draw_missing_levels(
    rows: NDArray[np.float64],
    level: NDArray[np.int32],
    n_known: NDArray[np.int32] | int,
    concentrations: NDArray[np.float64],
    seed: int,
) -> None:
    """Replace draws of nodes by draws of contexts below them that have no rows.

    A context without rows differs from the one above as its siblings do: each level that is
    missing adds a draw from the Dirichlet distribution around the level above. `rows` are draws of
    shape (n_samples, n_nodes, n_outcomes) of nodes at these levels, which stand for contexts of
    `n_known` values; the columns of `concentrations` are levels, from the first below the root.
    """
    generator = np.random.default_rng(seed)
    for above, concentration in enumerate(concentrations.T):
        missing = np.flatnonzero((level <= above) & (above < n_known))
        alpha = concentration[:, None, None] * rows[:, missing]
        rows[:, missing] = draw_dirichlet(alpha, generator)


def tie_nodes(tree: CountTree, tying: str) -> NDArray[np.int32]:
    """Return the number of the concentration that each node uses; -1 at the root.

    >>> tree = CountTree.from_rows([[0, 0, 1], [0, 1, 1]], [0, 1, 1], n_outcomes=2)
    >>> tie_nodes(tree, "level"), tie_nodes(tree, "parent")
    (array([-1,  0,  0,  1,  1,  1], dtype=int32), array([-1,  0,  0,  1,  1,  2], dtype=int32))
    """
    check_choice("tying", tying, ("level", "single", "parent", "none"))
    group: NDArray[Any]
    if tying == "level":
        group = tree.level - 1
    elif tying == "single":
        group = np.zeros(tree.n_nodes, dtype=np.int32)
    elif tying == "parent":
        group = np.append(-1, np.unique(tree.parent[1:], return_inverse=True)[1])
    else:
        group = np.arange(-1, tree.n_nodes - 1)
    group = np.array(group, dtype=np.int32)
    group[0] = -1
    return group


MAX_DISCOUNT = 0.95
FIRST_DISCOUNT = 0.3
"""Where the search for discounts starts."""


class PitmanYor(HDP, name="pitman-yor"):
    """Posterior mean under a hierarchical Pitman-Yor model of the tree.

    The model of `HDP` with a discount a beside each concentration (Teh 2006)::

        phi_root ~ Dirichlet(2 / K, ..., 2 / K)
        phi_u    ~ PitmanYor(c, a, phi_parent),   c ~ Gamma(shape, rate),   a ~ Beta(1, 3)

    Of counts n a node passes t on, T in all; phi_u then has the mean
    (n - a t + (c + a T) phi_parent) / (N + c). A discount makes room for many rare outcomes: the
    share of a node that goes to its parent's estimate grows with the number of its outcomes. With
    a = 0 the model is that of `HDP`. It pays where outcomes are many and follow a power law, such
    as words.

    Parameters
    ----------
    discount : float, optional
        The discount of all nodes, from 0 to 0.95. By default each group of tied nodes has one that
        is learnt: "variational" takes the one of largest approximate posterior probability,
        "gibbs" samples it among 0.01, 0.03, ..., 0.95.

    Examples
    --------
    >>> tree = CountTree.from_rows([[0, 0, 0, 1]], [0, 1, 2, 2], n_outcomes=9)
    >>> PitmanYor().rows(tree).sum(axis=1).round(12)
    array([1., 1., 1.])
    """

    def __init__(
        self,
        inference: str = "variational",
        *,
        discount: float | None = None,
        tying: str = "level",
        prior: str = "diffuse",
        prior_shape: float | None = None,
        prior_rate: float | None = None,
        n_iter: int = 500,
        n_burn_in: int = 100,
    ) -> None:
        super().__init__(
            inference, tying=tying, prior=prior, prior_shape=prior_shape, prior_rate=prior_rate,
            n_iter=n_iter, n_burn_in=n_burn_in,
        )  # fmt: skip
        self.discount = discount

    @describe(TREE)
    def discounts(self, tree: CountTree) -> NDArray[np.float64]:
        """Return the discount of each node at the fixed point; the root has none.

        Returns
        -------
        array of shape (n_nodes,)
            Discounts, from 0 to 0.95.
        """
        group = tie_nodes(tree, self.tying)
        return np.append(0.0, _core.solve_process(*self._problem(tree))[3][group[1:]])

    def _first_discount(self) -> float:
        if self.discount is None:
            return FIRST_DISCOUNT
        return float(check_number("discount", self.discount, least=0.0, most=MAX_DISCOUNT))

    def _learns_discounts(self) -> bool:
        return self.discount is None
