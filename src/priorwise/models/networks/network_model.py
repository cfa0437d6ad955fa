"""A network with its counts and probabilities: what single networks and ensembles are made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import polygamma

from priorwise import _core
from priorwise.counts import CountTree, Factor
from priorwise.counts.factor import Codes
from priorwise.models.candidates import squared_error
from priorwise.smoothing import Smoother
from priorwise.smoothing.base import smooth_trees
from priorwise.structure.networks import Counted, Network, NetworkCounts


@dataclass(frozen=True, eq=False)
class NetworkModel:
    """p(class, features) as a product of factors, in log space, packed for prediction.

    `counts` and `probabilities` are what the factors were made of, or None if they were not kept.
    The probabilities are those of the class tree, then of the feature trees, one number per cell.
    """

    network: Network
    product: _core.FactorProduct
    counts: NetworkCounts | None = None
    probabilities: list[NDArray[np.float64]] | None = None

    @classmethod
    def smooth(
        cls,
        counts: NetworkCounts,
        smoother: Smoother,
        *,
        seed: int = 0,
        keep_counts: bool = False,
        n_jobs: int = 1,
    ) -> NetworkModel:
        """Turn counts into probabilities, and pack them."""
        probabilities = smooth_trees(counts.trees, smoother, seed=seed, n_jobs=n_jobs)
        return cls.build(counts, probabilities, smoother, keep_counts=keep_counts)

    @classmethod
    def build(
        cls,
        counts: NetworkCounts,
        probabilities: list[NDArray[np.float64]],
        smoother: Smoother,
        *,
        keep_counts: bool,
    ) -> NetworkModel:
        """Pack the probabilities that a smoother gave for the counts, one factor at a time."""
        factors = []
        for factor in build_factors(counts, probabilities, smoother):
            factors.append(_core.pack_scores(factor, 0.0))
        log_prior = log_class_prior(counts.class_tree, probabilities[0], smoother.rest)
        product = _core.join_products(factors, log_prior)
        if not keep_counts:
            return cls(counts.network, product)
        return cls(counts.network, product, counts, probabilities)

    @property
    def log_prior(self) -> NDArray[np.float64]:
        """Logarithms of the probabilities of the classes, before any feature is known."""
        return self.product.log_prior

    def log_terms(self, columns: Codes, n_jobs: int = 1) -> NDArray[np.float64]:
        """Return log p(feature | class, parents), of shape (n_rows, n_features, n_classes).

        The terms of features that the network does not use are zero.
        """
        terms = np.zeros((len(columns[0]), len(columns), len(self.log_prior)))
        for place, feature in enumerate(self.network.order):
            alone = _core.take_factor(self.product, place)
            terms[:, feature] = _core.predict_joint(alone, columns, False, n_jobs)
        return terms

    def log_joint(self, columns: Codes, n_jobs: int = 1) -> NDArray[np.float64]:
        """Return log p(class, features of the row), of shape (n_rows, n_classes)."""
        return _core.predict_joint(self.product, columns, False, n_jobs)

    def proba(self, columns: Codes, n_jobs: int = 1) -> NDArray[np.float64]:
        """Return p(class | features of the row), of shape (n_rows, n_classes)."""
        return _core.predict_joint(self.product, columns, True, n_jobs)

    def spread(self, columns: Codes, n_jobs: int = 1) -> NDArray[np.float64]:
        """Return the variance of log p(class, features of the row), of shape (n_rows, n_classes).

        It follows from the rows behind each factor; that of the class prior is left out.
        """
        proba = self.proba(columns, n_jobs)
        return _core.sum_spreads(self.product, columns, proba, n_jobs)


def build_factors(
    counts: NetworkCounts, probabilities: list[NDArray[np.float64]], smoother: Smoother
) -> Iterator[Factor]:
    """Yield the factors of the features, in the order of the network."""
    network, n_classes = counts.network, counts.class_tree.n_outcomes
    for i, tree, p in zip(network.order, counts.feature_trees, probabilities[1:], strict=True):
        yield _core.build_factor(
            Factor, i, network.parents[i], tree, p, smoother.rest == "parent", n_classes,
            smoother.backoff,
        )  # fmt: skip


def log_class_prior(
    class_tree: CountTree, probabilities: NDArray[np.float64], rest: str = "parent"
) -> NDArray[np.float64]:
    """Return the logarithms of the class probabilities before any feature is known."""
    with np.errstate(divide="ignore"):
        return np.log(class_tree.rows(probabilities, rest=rest)[0])


def prior_spread(class_count: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the variances of the logarithms of the class probabilities, given their rows."""
    return np.asarray(polygamma(1, class_count + 1.0))


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
