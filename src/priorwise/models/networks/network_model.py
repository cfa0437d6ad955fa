"""A network with its counts and probabilities: what single networks and ensembles are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.counts import Factor
from priorwise.counts.factor import Codes
from priorwise.models.candidates import squared_error
from priorwise.smoothing import Smoother
from priorwise.smoothing.base import smooth_trees
from priorwise.structure.networks import Counted, NetworkCounts


@dataclass(frozen=True, eq=False)
class NetworkModel:
    """p(class, features) as a product of factors, in log space.

    `probabilities` are those of the class tree, then of the feature trees, one number per cell;
    `factors` are in the order of the network.
    """

    counts: NetworkCounts
    probabilities: list[NDArray[np.float64]]
    log_prior: NDArray[np.float64]
    factors: list[Factor]

    @classmethod
    def smooth(
        cls, counts: NetworkCounts, smoother: Smoother, *, seed: int = 0, n_jobs: int = 1
    ) -> NetworkModel:
        """Turn counts into probabilities."""
        probabilities = smooth_trees(counts.trees, smoother, seed=seed, n_jobs=n_jobs)
        return cls.build(counts, probabilities, smoother)

    @classmethod
    def build(
        cls, counts: NetworkCounts, probabilities: list[NDArray[np.float64]], smoother: Smoother
    ) -> NetworkModel:
        """Make factors of the probabilities that a smoother gave for the counts."""
        class_tree, network = counts.class_tree, counts.network
        prior = class_tree.rows(probabilities[0], rest=smoother.rest)[0]
        factors = []
        for i, tree, p in zip(network.order, counts.feature_trees, probabilities[1:], strict=True):
            factor = _core.build_factor(
                Factor, i, network.parents[i], tree, p, smoother.rest == "parent",
                class_tree.n_outcomes, smoother.backoff,
            )  # fmt: skip
            factors.append(factor)
        with np.errstate(divide="ignore"):
            return cls(counts, probabilities, np.log(prior), factors)

    @cached_property
    def product(self) -> _core.FactorProduct:
        """The network as kernels take it."""
        return _core.FactorProduct(self.factors, self.log_prior)

    def log_terms(self, columns: Codes, n_jobs: int = 1) -> NDArray[np.float64]:
        """Return log p(feature | class, parents), of shape (n_rows, n_factors, n_classes)."""
        no_prior = np.zeros_like(self.log_prior)
        products = [_core.FactorProduct([factor], no_prior) for factor in self.factors]
        terms = [_core.predict_joint(one, columns, False, n_jobs) for one in products]
        shape = (len(columns[0]), 0, len(no_prior))
        return np.stack(terms, axis=1) if terms else np.zeros(shape)

    def log_joint(self, columns: Codes, n_jobs: int = 1) -> NDArray[np.float64]:
        """Return log p(class, features of the row), of shape (n_rows, n_classes)."""
        return _core.predict_joint(self.product, columns, False, n_jobs)

    def proba(self, columns: Codes, n_jobs: int = 1) -> NDArray[np.float64]:
        """Return p(class | features of the row), of shape (n_rows, n_classes)."""
        return _core.predict_joint(self.product, columns, True, n_jobs)


def choose_candidate(
    candidates: Sequence[Smoother], counted: Counted, *, n_jobs: int = 1
) -> Smoother:
    """Choose the smoother with the least squared error on the rows held back, the first of equals.

    If no rows are held back, the last is chosen: it smooths most.
    """
    if counted.training is None or counted.rows is None:
        return candidates[-1]
    held = counted.rows
    losses = []
    for candidate in candidates:
        model = NetworkModel.smooth(counted.training, candidate, n_jobs=n_jobs)
        losses.append(
            float(held.weights @ squared_error(model.proba(held.columns, n_jobs), held.y))
        )
    return candidates[int(np.argmin(losses))]
