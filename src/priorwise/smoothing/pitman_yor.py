"""Smoothing by a hierarchical Pitman-Yor process."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.common.docstrings import describe
from priorwise.common.validation import check_number
from priorwise.counts import CountTree
from priorwise.smoothing.base import TREE
from priorwise.smoothing.hdp import HDP, tie_nodes

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
