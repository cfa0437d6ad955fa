"""The average over all prunings of a tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.common.numeric import half_decades
from priorwise.common.validation import check_number
from priorwise.counts import CountTree
from priorwise.smoothing.base import TunedSmoother, path_to, share_rows, sum_above

RATE_CANDIDATES = half_decades(0.0, -2.0)


class PruningAverage(TunedSmoother, name="pruning-average"):
    """Average the estimates of all prunings of the tree, each weighted by its evidence.

    A leaf of a pruning estimates e, E is the evidence of its rows, and W the weight of all
    prunings below a node (context-tree weighting, Willems et al. 1995; for decision trees, Buntine
    1992), with s the pseudo-count and K outcomes::

        e_k = (n_k + s / K) / (N + s)
        E   = Gamma(s) / Gamma(N + s) prod_k Gamma(n_k + s / K) / Gamma(s / K)
        W_u = stop E_u^rate + (1 - stop) prod_children W,   E_u^rate at a leaf

    One pass up and one down sum over all prunings exactly. The estimate of an inner node is the
    one that it would have as a leaf. A context without rows copies its parent.

    Parameters
    ----------
    rate : float in (0, 1] or "cv", default="cv"
        Power of the evidence. The rows that grew a tree are too optimistic evidence for it; a rate
        below 1 gives them less weight. "cv" lets the model choose among powers of ten, half a
        decade apart, from 1 to 0.01 on held-out rows.
    pseudo_count : float, default=1.0
        Rows of the prior in every leaf of a pruning, from 1e-9 to 1e9.
    stop : float in (0, 1), default=0.5
        Prior probability that a pruning which reaches a node ends there.

    Examples
    --------
    >>> tree = CountTree.from_rows([[0, 0, 0, 1]], [0, 0, 0, 1], n_outcomes=2)
    >>> PruningAverage(rate=1.0).rows(tree).round(3)
    array([[0.7 , 0.3 ],
           [0.84, 0.16],
           [0.34, 0.66]])
    """

    tuned, rule, grid = "rate", "in (0, 1]", RATE_CANDIDATES

    def __init__(
        self, rate: float | str = "cv", *, pseudo_count: float = 1.0, stop: float = 0.5
    ) -> None:
        self.rate = rate
        self.pseudo_count = pseudo_count
        self.stop = stop

    def smooth(self, tree: CountTree, seed: int = 0) -> NDArray[np.float64]:
        return _core.average_prunings(tree, *self._settings())[0]

    def own_shares(self, tree: CountTree) -> NDArray[np.float64]:
        ends = _core.average_prunings(tree, *self._settings())[1]
        with np.errstate(divide="ignore"):
            reach = np.exp(sum_above(tree, np.log1p(-ends)))
        return reach * share_rows(tree.totals, self.pseudo_count)

    def path_shares(self, tree: CountTree, node: int) -> NDArray[np.float64]:
        path = path_to(tree, node)
        # The share of the prunings that reach a node and end there.
        ends = _core.average_prunings(tree, *self._settings())[1]
        shares, reach = np.zeros(len(path) + 1), 1.0
        for i, above in enumerate(path):
            part = reach * (ends[above] if above != node else 1.0)
            own = tree.totals[above] / (tree.totals[above] + self.pseudo_count)
            shares[i + 1] = part * own
            shares[0] += part * (1.0 - own)
            reach -= part
        return shares

    def _settings(self) -> tuple[float, float, float]:
        """Return the parameters that `average_prunings` takes, checked."""
        rate = check_number("rate", self._tuned_number(), above=0.0, most=1.0)
        pseudo_count = check_number("pseudo_count", self.pseudo_count, least=1e-9, most=1e9)
        stop = check_number("stop", self.stop, above=0.0, below=1.0)
        return float(stop), float(pseudo_count), float(rate)
