"""What a network says of coded rows, what each feature adds, and on how many rows that rests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from priorwise import _core
from priorwise.common.numeric import softmax
from priorwise.counts.packed_trees import Codes
from priorwise.steps.explanation import Explanation
from priorwise.steps.explanation.probability_changes import (
    change_of_member,
    log_mean,
    replace_infinities,
)
from priorwise.steps.step import Floats, Names


def log_joint(product: _core.FactorProduct, codes: Codes, n_threads: int = 1) -> Floats:
    """Return log p(class, features of the row), of shape (n_rows, n_classes)."""
    return _core.predict_joint(product, codes, False, n_threads)


def class_proba(product: _core.FactorProduct, codes: Codes, n_threads: int = 1) -> Floats:
    """Return p(class | features of the row), of shape (n_rows, n_classes)."""
    return _core.predict_joint(product, codes, True, n_threads)


def log_terms(product: _core.FactorProduct, codes: Codes, n_threads: int = 1) -> Floats:
    """Return log p(feature | class, parents), of shape (n_rows, n_features, n_classes).

    The terms of features that the network does not use are zero.
    """
    terms = np.zeros((len(codes[0]), len(codes), len(product.log_prior)))
    for place, feature in enumerate(product.column.tolist()):
        terms[:, feature] = log_joint(_core.take_factor(product, place), codes, n_threads)
    return terms


def explain_rows(
    product: _core.FactorProduct, codes: Codes, names: Names, n_threads: int = 1
) -> Explanation:
    """Split the log joint of coded rows into the terms of the features.

    The log joint of a network is a sum of one term per feature, so the explanation is exact. The
    term of a value that training did not have is zero: its factor is left out.
    """
    terms = log_terms(product, codes, n_threads)
    log_prior, terms = replace_infinities(product.log_prior, terms)
    support, backoff = _find_support(product, codes, terms.shape)
    return Explanation.from_sums(
        names.classes, names.features, log_prior, terms, support=support, backoff=backoff
    )


def explain_mean(
    members: Iterable[tuple[_core.FactorProduct, Codes]],
    names: Names,
    probabilities: Floats,
    n_threads: int = 1,
) -> Explanation:
    """Explain the mean of the probabilities of networks, each with its codes of the rows.

    What a feature adds to the probability of each network is averaged.
    """
    shape = (len(probabilities), len(names.features), len(names.classes))
    start, changes, support = np.zeros(shape[2]), np.zeros(shape), MeanSupport(shape)
    for n_members, (product, codes) in enumerate(members, start=1):
        terms = log_terms(product, codes, n_threads)
        log_prior, terms = replace_infinities(product.log_prior, terms)
        start += (softmax(log_prior[None])[0] - start) / n_members
        changes += (change_of_member(log_prior, terms) - changes) / n_members
        support.add(product, codes)
    return Explanation.from_probability_changes(
        names.classes, names.features, start, changes, probabilities, support=support.mean
    )


def explain_mean_joint(
    products: Sequence[_core.FactorProduct],
    is_used: NDArray[np.bool_],
    codes: NDArray[np.int32],
    names: Names,
    probabilities: Floats,
    n_threads: int = 1,
) -> Explanation:
    """Explain p(class, features) averaged over networks, each of which answers for some rows.

    The classes of all networks together are the outcomes of one softmax: a feature changes the
    probability of a class in each network, and these changes are summed. `is_used` has the shape
    (n_networks, n_rows). The prior is that of the first network.
    """
    shape = (codes.shape[1], len(names.features), len(names.classes))
    first_prior = products[0].log_prior
    log_prior, _ = replace_infinities(first_prior, np.zeros((1, *shape[1:])))
    joints = np.full((len(products), shape[0], shape[2]), -np.inf)
    rows_of = [np.flatnonzero(used) for used in is_used]
    for joint, product, rows in zip(joints, products, rows_of, strict=True):
        joint[rows] = log_joint(product, np.ascontiguousarray(codes[:, rows]), n_threads)
    best = logsumexp(joints, axis=(0, 2))
    n_used = np.maximum(is_used.sum(axis=0), 1)
    total = np.where(np.isneginf(best), logsumexp(log_prior) + np.log(n_used), best)
    start = np.exp(log_prior - logsumexp(log_prior))
    weight, weighted, support = np.zeros(shape[::2]), np.zeros(shape), MeanSupport(shape)
    for product, rows in zip(products, rows_of, strict=True):
        taken = np.ascontiguousarray(codes[:, rows])
        terms = log_terms(product, taken, n_threads)
        terms[:, product.column[0]] += product.log_prior - first_prior
        _, terms = replace_infinities(first_prior, terms, best[rows])
        end = np.exp(log_prior + terms.sum(axis=1) - total[rows, None])
        mean = log_mean(end, start / n_used[rows, None])
        weight[rows] += mean
        weighted[rows] += mean[:, None, :] * terms
        support.add(product, taken, rows)
    changes = (
        weighted
        - weight[:, None, :]
        * (weighted.sum(axis=2) / weight.sum(axis=1, keepdims=True))[:, :, None]
    )
    return Explanation.from_probability_changes(
        names.classes, names.features, start, changes, probabilities, support=support.mean
    )


class MeanSupport:
    """Mean number of rows behind the terms of several networks, of those that use the feature."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._total, self._n_used = np.zeros(shape), np.zeros(shape[:2])

    def add(self, product: _core.FactorProduct, codes: Codes, rows: Any = slice(None)) -> None:
        """Add a network and its codes of some rows."""
        total = self._total[rows]
        support, _ = _find_support(product, codes, total.shape)
        self._total[rows] = total + support
        used = np.zeros(total.shape[1], dtype=bool)
        used[product.column] = True
        self._n_used[rows] += used

    @property
    def mean(self) -> Floats:
        """The mean, zero for features that no network uses."""
        return self._total / np.maximum(self._n_used, 1.0)[:, :, None]


def _find_support(
    product: _core.FactorProduct, codes: Codes, shape: tuple[int, ...]
) -> tuple[Floats, NDArray[np.int32]]:
    """Rows behind each term, and how many parents were left out to find them."""
    support, backoff = np.zeros(shape), np.zeros(shape, dtype=np.int32)
    for place, feature in enumerate(product.column.tolist()):
        support[:, feature], backoff[:, feature] = _core.find_support(product, place, codes)
    return support, backoff
