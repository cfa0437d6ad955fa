"""Smoothing by a hierarchical Pitman-Yor process."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.common.docstrings import describe
from priorwise.common.validation import check_number
from priorwise.counts import CountTree
from priorwise.smoothing.base import TREE
from priorwise.smoothing.hdp import HDP, MAX_PASSES, PASS_TOLERANCE, ROOT_CONCENTRATION, tie_nodes

MAX_DISCOUNT = 0.95
FIRST_DISCOUNT = 0.3
"""Where the search for discounts starts."""
DISCOUNT_STEP = 0.02
"""Discounts that are learnt are rounded to multiples of this before sampling, so that few tables of
Stirling ratios are needed."""

Solved = tuple[
    NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], int
]


class PitmanYor(HDP):
    """Posterior mean under a hierarchical Pitman-Yor model of the tree.

    The model of `HDP` with a discount a beside each concentration (Teh 2006)::

        phi_root ~ Dirichlet(2 / K, ..., 2 / K)
        phi_u    ~ PitmanYor(c, a, phi_parent),   c ~ Gamma(shape, rate)

    Of counts n a node passes t on, T in all; phi_u then has the mean
    (n - a t + (c + a T) phi_parent) / (N + c). A discount makes room for many rare outcomes: the
    share of a node that goes to its parent's estimate grows with the number of its outcomes. With
    a = 0 the model is that of `HDP`. It pays where outcomes are many and follow a power law, such
    as words.

    Parameters
    ----------
    discount : float, optional
        The discount of all nodes, from 0 to 0.95. By default one for each group of tied nodes,
        which maximises an approximation of the probability of the counts under the prior
        Beta(1, 3).

    Examples
    --------
    >>> tree = CountTree.from_rows([[0, 0, 0, 1]], [0, 1, 2, 2], n_outcomes=9)
    >>> tree.rows(PitmanYor().smooth(tree), rest="parent").sum(axis=1).round(12)
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
        return np.append(0.0, self._solve_all(tree)[3][group[1:]])

    def smooth(self, tree: CountTree, seed: int = 0) -> NDArray[np.float64]:
        if self.inference != "variational":
            return super().smooth(tree, seed)
        return self._solve_all(tree)[0]

    def sample_with_concentrations(
        self, tree: CountTree, *, n_samples: int = 1000, seed: int = 0
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        draws, concentrations = super().sample_with_concentrations(
            tree, n_samples=n_samples, seed=seed
        )
        # The Dirichlet distribution of the same variance as the process.
        discounts = self.discounts(tree)[tree.level_start[1:-1]]
        return draws, (concentrations + discounts) / (1.0 - discounts)

    def _solve(
        self, tree: CountTree
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        return self._solve_all(tree)[:3]

    def _solve_all(self, tree: CountTree) -> Solved:
        """Return phi, passed counts, concentrations, discounts and the number of passes."""
        learns = self.discount is None
        first = FIRST_DISCOUNT
        if self.discount is not None:
            first = check_number("discount", self.discount, least=0.0, most=MAX_DISCOUNT)
        _, group, start, shape, rate, _, _, _ = self._problem(tree)
        return _core.solve_pitman_yor(
            tree, group, start, np.full(len(start), float(first)), learns, shape, rate,
            ROOT_CONCENTRATION, MAX_PASSES, PASS_TOLERANCE,
        )  # fmt: skip

    def _run_gibbs(
        self, tree: CountTree, seed: int, n_draws: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        n_iter = int(check_number("n_iter", self.n_iter, least=1))
        n_burn_in = int(check_number("n_burn_in", self.n_burn_in, least=0))
        _, passed, concentration, discount, _ = self._solve_all(tree)
        if self.discount is None:
            rounded = DISCOUNT_STEP * np.round(discount / DISCOUNT_STEP)
            discount = np.minimum(rounded, MAX_DISCOUNT)
        _, group, _, shape, rate, root, _, _ = self._problem(tree)
        mean, draws, concentrations, _, _ = _core.sample_pitman_yor(
            tree, group, passed, concentration, discount, shape, rate, root,
            n_burn_in + max(n_iter, n_draws), n_burn_in, n_draws, seed,
        )  # fmt: skip
        return mean, draws, concentrations
