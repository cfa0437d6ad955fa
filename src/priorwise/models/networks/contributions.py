"""What each feature of a network adds to a prediction, and on how many rows that rests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from priorwise import _core
from priorwise.common.numeric import softmax
from priorwise.counts import label_contexts
from priorwise.counts.factor import Codes
from priorwise.models.explanation import Explanation
from priorwise.models.explanation.probability_changes import (
    change_of_member,
    log_mean,
    replace_infinities,
)
from priorwise.models.intervals import find_log_odds
from priorwise.models.networks.network_model import NetworkModel
from priorwise.structure.networks import NetworkCounts

MAX_CELLS = 10_000_000


def explain_rows(
    model: NetworkModel,
    columns: Codes,
    classes: NDArray[Any],
    feature_names: tuple[str, ...],
    n_jobs: int = 1,
) -> Explanation:
    """Split the log joint of coded rows into the terms of the features.

    The log joint of a network is a sum of one term per feature, so the explanation is exact. The
    term of a value that training did not have is zero: its factor is left out.
    """
    log_prior, terms = replace_infinities(model.log_prior, model.log_terms(columns, n_jobs))
    support, backoff = _find_support(model, columns, terms.shape)
    variance, proba = np.zeros(terms.shape), model.proba(columns, n_jobs)
    for place, feature in enumerate(model.network.order):
        alone = _core.take_factor(model.product, place)
        own = _core.sum_spreads(alone, columns, proba, n_jobs)
        variance[:, feature] = find_log_odds(proba, own)[1]
    return Explanation.from_sums(
        classes, feature_names, log_prior, terms,
        support=support, variance=variance, backoff=backoff,
    )  # fmt: skip


def explain_mean(
    members: Iterable[tuple[NetworkModel, Codes]],
    classes: NDArray[Any],
    feature_names: tuple[str, ...],
    probabilities: NDArray[np.float64],
    n_jobs: int = 1,
) -> Explanation:
    """Explain the mean of the probabilities of networks, each with its codes of the rows.

    What a feature adds to the probability of each network is averaged.
    """
    shape = (len(probabilities), len(feature_names), len(classes))
    start, changes, support = np.zeros(shape[2]), np.zeros(shape), MeanSupport(shape)
    for n_members, (model, codes) in enumerate(members, start=1):
        log_prior, terms = replace_infinities(model.log_prior, model.log_terms(codes, n_jobs))
        start += (softmax(log_prior[None])[0] - start) / n_members
        changes += (change_of_member(log_prior, terms) - changes) / n_members
        support.add(model, codes)
    return Explanation.from_probability_changes(
        classes, feature_names, start, changes, probabilities, support=support.mean
    )


def explain_mean_joint(
    models: Sequence[NetworkModel],
    is_used: NDArray[np.bool_],
    codes: NDArray[np.int32],
    classes: NDArray[Any],
    feature_names: tuple[str, ...],
    probabilities: NDArray[np.float64],
    n_jobs: int = 1,
) -> Explanation:
    """Explain p(class, features) averaged over networks, each of which answers for some rows.

    The classes of all networks together are the outcomes of one softmax: a feature changes the
    probability of a class in each network, and these changes are summed. `is_used` has the shape
    (n_models, n_rows). The prior is that of the first network.
    """
    shape = (codes.shape[1], len(feature_names), len(classes))
    log_prior, _ = replace_infinities(models[0].log_prior, np.zeros((1, *shape[1:])))
    joints = np.full((len(models), shape[0], shape[2]), -np.inf)
    rows_of = [np.flatnonzero(used) for used in is_used]
    for joint, model, rows in zip(joints, models, rows_of, strict=True):
        joint[rows] = model.log_joint(np.ascontiguousarray(codes[:, rows]), n_jobs)
    best = logsumexp(joints, axis=(0, 2))
    n_used = np.maximum(is_used.sum(axis=0), 1)
    total = np.where(np.isneginf(best), logsumexp(log_prior) + np.log(n_used), best)
    start = np.exp(log_prior - logsumexp(log_prior))
    weight, weighted, support = np.zeros(shape[::2]), np.zeros(shape), MeanSupport(shape)
    for model, rows in zip(models, rows_of, strict=True):
        own = np.ascontiguousarray(codes[:, rows])
        terms = model.log_terms(own, n_jobs)
        terms[:, model.network.order[0]] += model.log_prior - models[0].log_prior
        _, terms = replace_infinities(models[0].log_prior, terms, best[rows])
        end = np.exp(log_prior + terms.sum(axis=1) - total[rows, None])
        mean = log_mean(end, start / n_used[rows, None])
        weight[rows] += mean
        weighted[rows] += mean[:, None, :] * terms
        support.add(model, own, rows)
    changes = (
        weighted
        - weight[:, None, :]
        * (weighted.sum(axis=2) / weight.sum(axis=1, keepdims=True))[:, :, None]
    )
    return Explanation.from_probability_changes(
        classes, feature_names, start, changes, probabilities, support=support.mean
    )


class MeanSupport:
    """Mean number of rows behind the terms of several networks, of those that use the feature."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._total, self._n_used = np.zeros(shape), np.zeros(shape[:2])

    def add(self, model: NetworkModel, codes: Codes, rows: Any = slice(None)) -> None:
        """Add a network and its codes of some rows."""
        total = self._total[rows]
        support, _ = _find_support(model, codes, total.shape)
        self._total[rows] = total + support
        used = np.zeros(total.shape[1], dtype=bool)
        used[list(model.network.order)] = True
        self._n_used[rows] += used

    @property
    def mean(self) -> NDArray[np.float64]:
        """The mean, zero for features that no network uses."""
        return self._total / np.maximum(self._n_used, 1.0)[:, :, None]


def _find_support(
    model: NetworkModel, columns: Codes, shape: tuple[int, ...]
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Rows behind each term, and how many parents were left out to find them."""
    support, backoff = np.zeros(shape), np.zeros(shape, dtype=np.int32)
    for place, feature in enumerate(model.network.order):
        support[:, feature], backoff[:, feature] = _core.find_support(model.product, place, columns)
    return support, backoff


def tabulate_factor(
    counts: NetworkCounts,
    place: int,
    probabilities: NDArray[np.float64],
    rest: str,
    path_labels: Sequence[Sequence[Any]],
    value_labels: Sequence[Any],
    backend: str,
) -> Any:
    """The contexts of one factor, the rows counted there, and the probabilities of its values."""
    network, tree = counts.network, counts.feature_trees[place]
    if tree.n_nodes * tree.n_outcomes > MAX_CELLS:
        raise ValueError(
            f"a table of {tree.n_nodes} contexts and {tree.n_outcomes} values must have at most "
            f"{MAX_CELLS} cells: read count_trees_ instead"
        )
    parents = network.parents[network.order[place]]
    names = [str(network.class_name), *(network.feature_names[i] for i in parents)]
    columns: dict[str, Any] = dict(
        zip(_distinct(names), label_contexts(tree, path_labels), strict=True)
    )
    columns["rows" if "rows" not in columns else "rows counted"] = tree.totals
    table = tree.rows(probabilities, rest=rest)
    for label, p in zip(value_labels, table.T, strict=True):
        columns[f"p({label})"] = p
    chosen: Any = backend
    return nw.from_dict(columns, backend=chosen).to_native()


def _distinct(names: list[str]) -> list[str]:
    """A feature may be called as the class is."""
    return [f"{name} ({i})" if name in names[:i] else name for i, name in enumerate(names)]
