"""What each feature of a network adds to a prediction, and on how many rows that rests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.counts import CountTree
from priorwise.counts.factor import Codes
from priorwise.models.explanation import Explanation
from priorwise.models.networks.network_model import NetworkModel
from priorwise.structure.networks import NetworkCounts

MAX_CELLS = 10_000_000


def explain_rows(
    model: NetworkModel,
    columns: Codes,
    labels: Sequence[Sequence[Any]],
    classes: NDArray[Any],
    n_jobs: int = 1,
) -> Explanation:
    """Split the log joint of coded rows into the terms of the features.

    The log joint of a network is a sum of one term per feature, so the explanation is exact. The
    term of a value that training did not have is zero: its factor is left out. Frequencies
    without smoothing may be zero, and contributions then infinite or undefined.
    """
    terms = model.log_terms(columns, n_jobs)
    support, backoff = np.zeros(terms.shape), np.zeros(terms.shape, dtype=np.int32)
    for place, feature in enumerate(model.network.order):
        support[:, feature], backoff[:, feature] = _core.find_support(model.product, place, columns)
    values = np.empty(terms.shape[:2], dtype=object)
    for place, column in enumerate(columns):
        values[:, place] = np.array([*labels[place], "unseen"], dtype=object)[column]
    return Explanation.from_sums(
        classes,
        model.network.feature_names,
        model.log_prior,
        terms,
        values=values,
        support=support,
        backoff=backoff,
    )


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
    names = [network.class_name, *(network.feature_names[i] for i in parents)]
    columns: dict[str, Any] = dict(
        zip(_distinct(names), _name_contexts(tree, path_labels), strict=True)
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


def _name_contexts(tree: CountTree, labels: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """For each level the label that each node of the tree has there, None below the node."""
    named = [np.full(tree.n_nodes, None, dtype=object) for _ in range(tree.depth)]
    node = np.arange(tree.n_nodes)
    while (node > 0).any():
        for level, (out, words) in enumerate(zip(named, labels, strict=True), start=1):
            here = np.flatnonzero(tree.level[node] == level)
            out[here] = np.array([*words, None], dtype=object)[tree.value[node[here]]]
        node = np.maximum(tree.parent[node], 0)
    return [column.tolist() for column in named]
