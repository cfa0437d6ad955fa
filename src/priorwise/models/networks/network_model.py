"""A network with its counts and probabilities: what single networks and ensembles are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.counts import Factor
from priorwise.smoothing import Smoother
from priorwise.smoothing.base import smooth_trees
from priorwise.structure.networks import NetworkCounts


@dataclass(frozen=True)
class NetworkModel:
    """p(class, features) as a product of factors, in log space."""

    counts: NetworkCounts
    probabilities: list[NDArray[np.float64]]
    """Of the class tree, then of the feature trees; one number per cell."""
    log_prior: NDArray[np.float64]
    factors: list[Factor]

    @classmethod
    def smooth(
        cls, counts: NetworkCounts, smoother: Smoother, *, seed: int = 0, n_jobs: int = 1
    ) -> NetworkModel:
        trees = [counts.class_tree, *counts.feature_trees]
        probabilities = smooth_trees(trees, smoother, seed=seed, n_jobs=n_jobs)
        return cls.build(counts, probabilities, smoother.rest, backoff=smoother.backoff)

    @classmethod
    def build(
        cls,
        counts: NetworkCounts,
        probabilities: list[NDArray[np.float64]],
        rest: str,
        *,
        backoff: bool = True,
    ) -> NetworkModel:
        class_tree, network = counts.class_tree, counts.network
        prior = class_tree.rows(probabilities[0], rest=rest)[0]
        factors = [
            Factor.build(i, network.parents[i], tree, p, rest, class_tree.n_outcomes, backoff)
            for i, tree, p in zip(
                network.order, counts.feature_trees, probabilities[1:], strict=True
            )
        ]
        with np.errstate(divide="ignore"):
            return cls(counts, probabilities, np.log(prior), factors)

    def log_joint(
        self, columns: Sequence[NDArray[np.int32]], n_jobs: int = 1
    ) -> NDArray[np.float64]:
        """log p(class, features of the row), shape (rows, classes)."""
        return _core.predict_joint(self.factors, self.log_prior, list(columns), False, n_jobs)

    def proba(self, columns: Sequence[NDArray[np.int32]], n_jobs: int = 1) -> NDArray[np.float64]:
        """p(class | features of the row), shape (rows, classes)."""
        return _core.predict_joint(self.factors, self.log_prior, list(columns), True, n_jobs)
