"""Hierarchical shrinkage."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.common.validation import check_number
from priorwise.counts import CountTree
from priorwise.smoothing.base import TunedSmoother, path_to

LAM_CANDIDATES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)


class HierarchicalShrinkage(TunedSmoother):
    """Shrink each node towards its parent by one strength for the whole tree.

    With theta = n / N the frequencies of a node (Agarwal et al. 2022)::

        p_u = p_parent + (theta_u - theta_parent) / (1 + lam / N_parent)

    The root counts one more row spread evenly over the outcomes, so that no probability is
    zero. A context without rows copies its parent. Limits: lam -> 0 gives frequencies,
    lam -> inf gives the root's row everywhere.

    Parameters
    ----------
    lam : float or "cv", default="cv"
        The strength, in rows of the parent; above 0. "cv" lets the model choose among 0.1, 0.3, 1,
        3, 10, 30, 100 and 300 on held-out rows.

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

    def path_shares(self, tree: CountTree, node: int) -> NDArray[np.float64]:
        path = path_to(tree, node)
        totals = tree.totals[path]
        # What a step down keeps; the step from the uniform row to the root keeps N / (N + 1).
        keeps = np.append(1.0, totals[:-1] / (totals[:-1] + float(self.lam)))
        shares = np.append(0.0, keeps - np.append(keeps[1:], 0.0))
        shares[0] = shares[1] / (totals[0] + 1.0)
        shares[1] -= shares[0]
        return shares
