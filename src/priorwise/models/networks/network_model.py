"""A network with its counts and probabilities: what single networks and ensembles are made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import polygamma

from priorwise import _core
from priorwise.counts import CountTree, Factor
from priorwise.models.candidates import squared_error
from priorwise.smoothing import Smoother
from priorwise.smoothing.base import smooth_trees
from priorwise.steps.networks.contributions import class_proba
from priorwise.structure.networks import Network, NetworkCounts
from priorwise.structure.networks.rows import Counted


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

    @property
    def log_prior(self) -> NDArray[np.float64]:
        """Logarithms of the probabilities of the classes, before any feature is known."""
        return self.product.log_prior

    def proba(self, columns: Sequence[NDArray[np.int32]], n_jobs: int = 1) -> NDArray[np.float64]:
        """Predict class probabilities of rows, given codes of their features."""
        return class_proba(self.product, columns, n_jobs)


def read_structure(product: _core.FactorProduct, feature_names: tuple[str, ...]) -> Network:
    """Return the structure of a network; features that are not in its order have no parents."""
    parents: list[tuple[int, ...]] = [()] * len(feature_names)
    paths = np.split(product.path, np.cumsum(product.n_parents)[:-1])
    for feature, path in zip(product.column.tolist(), paths, strict=False):
        parents[feature] = tuple(path.tolist())
    return Network(tuple(parents), tuple(product.column.tolist()), feature_names)


def smooth_network(
    counts: NetworkCounts, smoother: Smoother, *, n_jobs: int = 1
) -> _core.FactorProduct:
    """Turn the counts of a network into probabilities, and pack them."""
    return pack_factors(counts, smooth_trees(counts.trees, smoother, n_jobs=n_jobs), smoother)


def pack_factors(
    counts: NetworkCounts, probabilities: list[NDArray[np.float64]], smoother: Smoother
) -> _core.FactorProduct:
    """Pack the probabilities that a smoother gave for the counts, one factor at a time."""
    factors = []
    for factor in build_factors(counts, probabilities, smoother):
        factors.append(_core.pack_scores(factor, 0.0))
    log_prior = log_class_prior(counts.class_tree, probabilities[0], smoother.rest)
    return _core.join_products(factors, log_prior)


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
        product = smooth_network(counted.training, candidate, n_jobs=n_jobs)
        proba = class_proba(product, held.columns, n_jobs)
        losses.append(float(held.weights @ squared_error(proba, held.y)))
    return candidates[int(np.argmin(losses))]
