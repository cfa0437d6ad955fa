"""Smoothers with a formula for each node: pseudo-counts added, or shrinkage towards the parent."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.common.numeric import half_decades
from priorwise.common.validation import check_number
from priorwise.counts import CountTree
from priorwise.smoothing.base import Shrinkage, Smoother, TunedSmoother, path_to, share_rows

M_CANDIDATES = (0.0, 0.05, 0.2, 1.0, 5.0, 20.0)
WEIGHT_CANDIDATES = half_decades(-1.0, 1.5)
"""Weights of the row of a parent that are tried, in rows. Smaller ones gain nothing: trees, forests
and networks of 8 sets have the same log-loss with 0.03 (2026-11)."""
LARGEST = float(np.finfo(np.float64).max)


class MLE(Smoother, name="mle"):
    """Frequencies, unsmoothed.

    For counts n_k (total N)::

        p_k = n_k / N

    This is the only smoother that may answer zero. A context without rows copies its parent; a
    tree without rows is uniform. Where every class of a network has the joint probability zero,
    the network answers with its class prior.

    Examples
    --------
    >>> tree = CountTree.from_rows([], [0, 0, 0, 1], n_outcomes=3)
    >>> MLE().smooth(tree)
    array([0.75, 0.25, 0.  ])
    """

    rest = "uniform"
    cheap = True

    def shrinkage(self, tree: CountTree) -> Shrinkage:
        return Shrinkage(np.zeros(tree.n_nodes), towards_parent=False)


class Laplace(Smoother, name="laplace"):
    """Add one row of every outcome.

    For counts n_k (total N) over K outcomes::

        p_k = (n_k + 1) / (N + K)

    Parameters
    ----------
    backoff : bool, default=True
        Whether a context without rows copies its nearest ancestor with rows. Otherwise it is
        uniform, as the formula says for N = 0.

    Examples
    --------
    >>> tree = CountTree.from_rows([], [0, 0, 1], n_outcomes=3)
    >>> Laplace().smooth(tree)
    array([0.5       , 0.33333333, 0.16666667])
    """

    rest = "uniform"
    cheap = True

    def __init__(self, backoff: bool = True) -> None:
        self.backoff = backoff

    def shrinkage(self, tree: CountTree) -> Shrinkage:
        return Shrinkage(np.full(tree.n_nodes, float(tree.n_outcomes)), towards_parent=False)


class MEstimate(TunedSmoother, name="m-estimate"):
    """Shrink each node towards uniform with constant weight.

    For counts n_k (total N) over K outcomes::

        p_k = (n_k + m / K) / (N + m)

    Limits: m -> 0 gives frequencies, m -> inf gives uniform; m = K is Laplace.

    Parameters
    ----------
    m : float or "cv", default=1.0
        Weight of the uniform distribution, in rows; at least 0. "cv" lets the model choose among
        0, 0.05, 0.2, 1, 5 and 20 on held-out rows (Petitjean et al. 2018, section 6.1).
    backoff : bool, default=True
        Whether a context without rows copies its nearest ancestor with rows. Otherwise it is
        uniform, as the formula says for N = 0.

    Examples
    --------
    >>> tree = CountTree.from_rows([], [0, 0, 1], n_outcomes=2)
    >>> MEstimate(m=1.0).smooth(tree)
    array([0.625, 0.375])
    """

    rest = "uniform"
    cheap = True
    tuned, rule, grid = "m", "at least 0", M_CANDIDATES

    def __init__(self, m: float | str = 1.0, *, backoff: bool = True) -> None:
        self.m = m
        self.backoff = backoff

    def shrinkage(self, tree: CountTree) -> Shrinkage:
        m = check_number("m", self._tuned_number(), least=0.0)
        return Shrinkage(np.full(tree.n_nodes, float(m)), towards_parent=False)


class ParentEstimate(TunedSmoother, name="parent"):
    """Shrink each node towards its parent with constant weight: the m-estimate down a path.

    With theta above the root uniform, and weight 1 at the root::

        theta_u = (n_u + m theta_parent) / (N_u + m)

    Limits: m -> 0 gives frequencies, m -> inf gives the root's row everywhere.

    Parameters
    ----------
    m : float or "cv", default="cv"
        Weight of the parent's row, in rows; above 0. "cv" lets the model choose among powers
        of ten, half a decade apart, from 0.1 to 31.6 on held-out rows.

    Examples
    --------
    >>> tree = CountTree.from_rows([[0, 0, 0, 1]], [0, 0, 1, 1], n_outcomes=2)
    >>> ParentEstimate(m=1.0).rows(tree)
    array([[0.5  , 0.5  ],
           [0.625, 0.375],
           [0.25 , 0.75 ]])
    """

    cheap = True
    tuned, rule, grid = "m", "above 0", WEIGHT_CANDIDATES

    def __init__(self, m: float | str = "cv") -> None:
        self.m = m

    def shrinkage(self, tree: CountTree) -> Shrinkage:
        weight = np.full(tree.n_nodes, float(check_number("m", self._tuned_number(), above=0.0)))
        weight[0] = 1.0
        return Shrinkage(weight, towards_parent=True)


class MBranch(Smoother, name="m-branch"):
    """Shrink each node towards its parent, more strongly the higher it stands.

    Along a branch, with theta above the root uniform (Ferri et al. 2003; thesis Eqs. 17-18)::

        theta_u = (n_u + m_u theta_parent) / (N_u + m_u)
        m_u = m (1 + (1 - 1 / h_u) sqrt(N))

    h is the height of a node (1 at a leaf, whose weight is m) and N the rows of the whole tree.

    Parameters
    ----------
    m : float, default=4.0
        Weight of the parent's row at a leaf, in rows; above 0.

    Examples
    --------
    >>> tree = CountTree.from_rows([[0, 0, 0, 1]], [0, 0, 1, 1], n_outcomes=2)
    >>> MBranch(m=1.0).rows(tree)
    array([[0.5  , 0.5  ],
           [0.625, 0.375],
           [0.25 , 0.75 ]])
    """

    cheap = True
    inner_is_prior = True

    def __init__(self, m: float = 4.0) -> None:
        self.m = m

    def shrinkage(self, tree: CountTree) -> Shrinkage:
        m = check_number("m", self.m, above=0.0)
        height = _core.node_heights(tree)
        with np.errstate(over="ignore"):
            weight = m * (1.0 + (1.0 - 1.0 / height) * np.sqrt(tree.totals[0]))
        return Shrinkage(np.minimum(weight, LARGEST), towards_parent=True)


LAM_CANDIDATES = half_decades(-1.0, 2.5)


class HierarchicalShrinkage(TunedSmoother, name="shrinkage"):
    """Shrink each node towards its parent by one strength for the whole tree.

    With theta = n / N the frequencies of a node (Agarwal et al. 2022)::

        p_u = p_parent + (theta_u - theta_parent) / (1 + lam / N_parent)

    The root counts one more row spread evenly over the outcomes, so that no probability is
    zero. A context without rows copies its parent. Limits: lam -> 0 gives frequencies,
    lam -> inf gives the root's row everywhere.

    Parameters
    ----------
    lam : float or "cv", default="cv"
        The strength, in rows of the parent; above 0. "cv" lets the model choose among powers of
        ten, half a decade apart, from 0.1 to 316 on held-out rows.

    Examples
    --------
    >>> tree = CountTree.from_rows([[0, 0, 0, 1]], [0, 0, 1, 1], n_outcomes=2)
    >>> HierarchicalShrinkage(lam=4.0).rows(tree).round(3)
    array([[0.5  , 0.5  ],
           [0.583, 0.417],
           [0.25 , 0.75 ]])
    """

    tuned, rule, grid = "lam", "above 0", LAM_CANDIDATES

    def __init__(self, lam: float | str = "cv") -> None:
        self.lam = lam

    def smooth(self, tree: CountTree, seed: int = 0) -> NDArray[np.float64]:
        lam = check_number("lam", self._tuned_number(), above=0.0)
        return _core.shrink_hierarchically(tree, float(lam))

    def own_shares(self, tree: CountTree) -> NDArray[np.float64]:
        above = tree.totals[np.maximum(tree.parent, 0)]
        strength = np.where(tree.parent < 0, 1.0, float(self.lam))
        return np.where(tree.totals > 0.0, share_rows(above, strength), 0.0)

    def path_shares(self, tree: CountTree, node: int) -> NDArray[np.float64]:
        path = path_to(tree, node)
        totals = tree.totals[path]
        # What a step down keeps; the step from the uniform row to the root keeps N / (N + 1).
        keeps = np.append(1.0, totals[:-1] / (totals[:-1] + float(self.lam)))
        shares = np.append(0.0, keeps - np.append(keeps[1:], 0.0))
        shares[0] = shares[1] / (totals[0] + 1.0)
        shares[1] -= shares[0]
        return shares


class LevelShrinkage(Smoother, name="level"):
    """Shrink each node towards its parent, with one weight per level.

    Down a path, with uniform above the root, whose weight is 1::

        theta_u = (n_u + c theta_parent) / (N_u + c)

    c of a level, between 1/8 and 1024, maximises the leave-one-out likelihood of the rows,
    sum log[(n - 1 + c q) / (N - 1 + c)], q the parent's leave-one-out estimate. This is an
    empirical Bayes relative of HDP that takes a few passes over the cells.

    Examples
    --------
    >>> tree = CountTree.from_rows([[0, 0, 0, 1]], [0, 0, 1, 1], n_outcomes=2)
    >>> LevelShrinkage().rows(tree)[0]
    array([0.5, 0.5])
    """

    def shrinkage(self, tree: CountTree) -> Shrinkage:
        return Shrinkage(_core.level_weights(tree)[tree.level], towards_parent=True)
