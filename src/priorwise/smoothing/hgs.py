"""Hierarchical gradient smoothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from priorwise import _core
from priorwise.common.docstrings import describe
from priorwise.common.validation import check_choice, check_number
from priorwise.counts import CountTree
from priorwise.smoothing.additive import WEIGHT_CANDIDATES
from priorwise.smoothing.base import TREE, Smoother, path_to, share_rows, sum_above

MODES = ("optimised", "published", "depth")
"""Modes that smooth a tree by themselves."""
GROWTH_CANDIDATES = (0.5, 1.0, 2.0)
LOG_WEIGHT_BOUNDS = (-7.0, 12.0)
MAX_STEPS = 10_000
MAX_WEIGHT = 1e12
"""Bounds of the published descent."""


class HGS(Smoother, name="hgs"):
    """Smooth each node towards all its ancestors at once, by learnt weights.

    With theta_a = n_a / N_a the frequencies at an ancestor (Zhang et al., Eqs. 4-8)::

        p_u = (n_u + sum_a alpha_a theta_a) / (N_u + sum_a alpha_a)

    The weights alpha >= 0 minimise the mean loss of the rows, each estimated without itself:
    it is taken out of its leaf and of every ancestor. An ancestor that has no other row
    answers with its own parent's estimate, and the root counts one more row spread evenly
    over the outcomes, so that an outcome with a single row has a finite loss. With more than 64
    outcomes, those that a node has not seen share what is left in proportion to the parent's
    estimate.

    Parameters
    ----------
    mode : {"cv", "optimised", "published", "depth"}, default="cv"
        "cv" lets the model choose on held-out rows, among the weights of "optimised" and 18
        settings of "depth": leaving single rows out is too optimistic about the leaves of a tree
        that was grown on the same rows. "optimised" finds one weight per level by a bounded
        quasi-Newton method on its logarithm, between -7 and 12. "published" is the gradient descent
        of the papers: one weight per node, which starts at 1 and stays between 0 and 1e12, a fixed
        step, and a stop when the cost falls by less than `tolerance`, or after 10,000 steps. It
        stops at its first step on real data, so its weights stay near 1. "depth" learns nothing:
        the weight of a node at level l is `weight` times `growth` to the power l, its logarithm cut
        off at -7 and 12.
    loss : {"log", "squared"}, default="log"
        log2(1 / p) or (1 - p)^2 of a row's own outcome, which the descent and the optimiser lower.
    prior_sd : float, default=1.5
        Optimised mode: log alpha is drawn to 0, where the published descent starts, as if by a
        normal prior of this standard deviation. Its influence falls as 1 / rows; inf switches it
        off.
    learning_rate : float, default=0.01
        Published mode: the length of a step, in gradients.
    tolerance : float, default=1e-4
        Published mode: the descent stops when a step lowers the cost by no more than this.
    weight : float, default=1.0
        Depth mode: the weight of the root.
    growth : float, default=1.0
        Depth mode: the factor from the weight of a level to that of the next.

    Examples
    --------
    >>> tree = CountTree.from_rows([[0, 0, 0, 1]], [0, 0, 1, 1], n_outcomes=2)
    >>> HGS("depth", weight=1.0).rows(tree)
    array([[0.5  , 0.5  ],
           [0.625, 0.375],
           [0.25 , 0.75 ]])
    """

    def __init__(
        self,
        mode: str = "cv",
        *,
        loss: str = "log",
        prior_sd: float = 1.5,
        learning_rate: float = 0.01,
        tolerance: float = 1e-4,
        weight: float = 1.0,
        growth: float = 1.0,
    ) -> None:
        self.mode = mode
        self.loss = loss
        self.prior_sd = prior_sd
        self.learning_rate = learning_rate
        self.tolerance = tolerance
        self.weight = weight
        self.growth = growth

    def smooth(self, tree: CountTree, seed: int = 0) -> NDArray[np.float64]:
        return _core.hgs_estimate(tree, self.weights(tree))

    def own_shares(self, tree: CountTree) -> NDArray[np.float64]:
        others = sum_above(tree, self.weights(tree))
        others[0] = 1.0
        return share_rows(tree.totals, others)

    def path_shares(self, tree: CountTree, node: int) -> NDArray[np.float64]:
        path = path_to(tree, node)
        shares = np.zeros(len(path) + 1)
        # A node without rows copies its parent.
        n_used = max(1, int(np.count_nonzero(tree.totals[path])))
        shares[1:n_used] = self.weights(tree)[path[: n_used - 1]]
        shares[n_used] = tree.totals[path[n_used - 1]] if n_used > 1 else 1.0
        shares /= shares.sum()
        shares[0] = shares[1] / (tree.totals[0] + 1.0)
        shares[1] -= shares[0]
        return shares

    @describe(TREE)
    def weights(self, tree: CountTree) -> NDArray[np.float64]:
        """Return alpha of every node; those of leaves have no effect.

        Returns
        -------
        array of shape (n_nodes,)
            The weights, in rows.
        """
        check_choice("mode", self.mode, ("cv", *MODES))
        check_choice("loss", self.loss, ("log", "squared"))
        if self.mode == "cv":
            raise ValueError(
                f"mode must be one of {', '.join(map(repr, MODES))} to smooth a tree, got 'cv', "
                "which is chosen by a model, on rows the counts have not seen"
            )
        if self.mode == "published":
            return self._descend(tree)
        if self.mode == "depth":
            weight = check_number("weight", self.weight, above=0.0)
            growth = check_number("growth", self.growth, above=0.0)
            log_weight = np.log(weight) + np.log(growth) * tree.level
            return np.exp(np.clip(log_weight, *LOG_WEIGHT_BOUNDS))
        if not (isinstance(self.prior_sd, int | float) and self.prior_sd > 0):
            raise ValueError(f"prior_sd must be a number above 0, got {self.prior_sd!r}")
        return _core.optimise_hgs_by_level(tree, self.loss, float(self.prior_sd))

    def candidates(self) -> list[Smoother]:
        if self.mode != "cv":
            return [self]
        by_depth = [
            HGS("depth", weight=weight, growth=growth)
            for weight in WEIGHT_CANDIDATES
            for growth in GROWTH_CANDIDATES
        ]
        return [clone(self).set_params(mode="optimised"), *by_depth]

    def _descend(self, tree: CountTree) -> NDArray[np.float64]:
        step = check_number("learning_rate", self.learning_rate, above=0.0)
        tolerance = check_number("tolerance", self.tolerance, above=0.0)
        alpha = np.ones(tree.n_nodes)
        cost, gradient = _core.hgs_loss(tree, alpha, self.loss)
        for _ in range(MAX_STEPS):
            with np.errstate(over="ignore"):
                moved = np.clip(alpha - step * gradient, 0.0, MAX_WEIGHT)
            previous = cost
            cost, gradient = _core.hgs_loss(tree, moved, self.loss)
            # A step that is too long may cost more, or give NaN where a row has no weight left.
            if not cost <= previous:
                break
            alpha = moved
            if previous - cost <= tolerance:
                break
        return alpha
