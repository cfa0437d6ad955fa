"""Choosing a sub-model of a k-dependence network by leaving rows out (selective kDB)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.common.records import Record, number, part
from priorwise.counts import Factor
from priorwise.structure.networks.network_counts import NetworkCounts


@dataclass(frozen=True, eq=False)
class Selection(Record):
    """The sub-model chosen, and the loss of all others.

    Attributes
    ----------
    n_features : int
        Number of features, the first of the order.
    max_parents : int
        Largest number of parents of a feature besides the class.
    losses : array of shape (max_parents + 1, n_features + 1)
        Mean leave-one-out loss of each number of parents and each number of features.
    """

    n_features: int = number(int, least=0)
    max_parents: int = number(int, least=0)
    losses: NDArray[np.float64] = part(np.ndarray)


@dataclass(frozen=True, eq=False)
class SubmodelScorer:
    """Scores every sub-model of a network by leaving rows out of the counts.

    Sub-models are the first f features of the order with at most k parents each, for every f and k;
    no feature at all is among them. Each row is taken out of every count it is in: the class
    counts, every node on its path in the trees of its own class, and the roots, which stand above
    all classes. Probabilities follow from the smoother's additive form (`shrinkage`): p = (n + w
    base) / (N + w), down the path, with the weights of all rows (Martinez et al. 2016; thesis
    Algorithm 5). The loss of a row is (1 - p_y)^2 or -log p_y.

    Losses are sums over rows, so those of batches add up. O(rows x features x parents x classes).
    `weights` are those of the base at each node, `estimates` the probabilities of each cell.
    """

    factors: list[Factor]
    weights: list[NDArray[np.float64]]
    estimates: list[NDArray[np.float64]]
    towards_parent: bool
    class_count: NDArray[np.float64]
    max_parents: int
    loss: str

    @classmethod
    def prepare(
        cls, counts: NetworkCounts, smoother: Any, *, loss: str = "squared"
    ) -> SubmodelScorer:
        """Estimate every node once, so that leaving a row out is cheap."""
        network, class_tree = counts.network, counts.class_tree
        n_classes = class_tree.n_outcomes
        factors, weights, estimates, towards_parent = [], [], [], True
        for column, tree in zip(network.order, counts.feature_trees, strict=True):
            shrinkage = smoother.shrinkage(tree)
            towards_parent = shrinkage.towards_parent
            probabilities = shrinkage.apply(tree)
            factor = _core.build_factor(
                Factor, column, network.parents[column], tree, probabilities, towards_parent,
                n_classes, True,
            )  # fmt: skip
            factors.append(factor)
            estimates.append(probabilities)
            weights.append(np.ascontiguousarray(shrinkage.weight, dtype=np.float64))
        prior = smoother.shrinkage(class_tree)
        class_count = class_tree.count_rows()[0] + prior.weight[0] / n_classes
        max_parents = max((len(network.parents[i]) for i in network.order), default=0)
        return cls(factors, weights, estimates, towards_parent, class_count, max_parents, loss)

    def score(
        self,
        columns: Sequence[NDArray[np.int32]],
        y: NDArray[np.int32],
        weight: NDArray[np.float64] | None = None,
        n_jobs: int = 1,
        by_table: bool = True,
    ) -> NDArray[Any]:
        """Return summed losses.

        Losses of rows without weights are rounded to multiples of ``2 ** -32``, and their sum is
        exact, however the rows are split into batches. `by_table` allows a quicker way where
        contexts are few; the sums differ by rounding alone.

        Returns
        -------
        array of shape (max_parents + 1, n_features + 1) or (2, max_parents + 1, n_features + 1)
            With weights the sums. Without weights two parts of int64, in units of ``2 ** -16`` and
            ``2 ** -32``. Arrays of batches add up, and hold the sums of 10^11 rows.
        """
        submodels = self._tabulate(by_table and weight is None)
        return _core.leave_one_out_losses(submodels, list(columns), y, weight, n_jobs)

    def _tabulate(self, by_table: bool) -> _core.SubmodelLosses:
        """Return what scoring needs of the network: made once, and not pickled."""
        known = self.__dict__.setdefault("_tabulated", {})
        if by_table not in known:
            known[by_table] = _core.SubmodelLosses(
                self.factors, self.weights, self.estimates, self.towards_parent,
                self.class_count, self.max_parents, self.loss, by_table,
            )  # fmt: skip
        submodels: _core.SubmodelLosses = known[by_table]
        return submodels

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_tabulated"}

    def choose(self, sums: NDArray[Any], total: float) -> Selection:
        """Choose the sub-model of the least loss, given the sums over all rows and their number.

        Of equals the one with fewer features is chosen, then the one with fewer parents.
        """
        if sums.dtype.kind == "i":
            high, low = sums
            sums = (high + (low >> 16)) * 2.0**-16 + (low & 0xFFFF) * 2.0**-32
        # Rows of the transpose go by features first: the first minimum is the simplest of equals.
        place = int(np.argmin(sums.T.round(9)))
        n_features, depth = divmod(place, self.max_parents + 1)
        return Selection(n_features, depth, sums / total)
