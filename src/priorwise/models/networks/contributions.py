"""What each feature of a network adds to a prediction, and on how many rows that rests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.counts import CountTree, Factor
from priorwise.models.networks.network_model import NetworkModel

MAX_CELLS = 10_000_000


@dataclass(frozen=True)
class Explanation:
    """Contributions of features to the log-odds of the classes.

    A network is a product of factors, so its log-odds are a sum, exactly::

        log p(y | x) / p(r | x) = log p(y) / p(r) + sum_i log p(x_i | y, pa) / p(x_i | r, pa)

    with r the reference class. Without one, the mean of the logs over the classes stands in its
    place: a positive contribution speaks for the class, and the sum over classes is zero.

    Attributes
    ----------
    classes : array
    features : tuple of str
        The features in use, in the order of the network.
    values : object array (rows, features)
        What each row says: labels, intervals, "missing", or "unseen".
    reference : class label or None
    prior : array (classes,)
        What is known before any feature.
    contributions : array (rows, features, classes)
        Zero for a value that training did not have: its factor is left out.
    support : array (rows, features, classes)
        Rows, or weight, counted in the context that answers; zero where a factor is left out.
    backoff : int array (rows, features, classes)
        How many parents, the class included, had to be given up to find rows.

    Limits: frequencies without smoothing may be zero, and contributions infinite or undefined.
    """

    classes: NDArray[Any]
    features: tuple[str, ...]
    values: NDArray[Any]
    reference: Any
    prior: NDArray[np.float64]
    contributions: NDArray[np.float64]
    support: NDArray[np.float64]
    backoff: NDArray[np.int32]

    @property
    def n_rows(self) -> int:
        return len(self.contributions)

    @property
    def log_odds(self) -> NDArray[np.float64]:
        """The prediction, shape (rows, classes): prior plus all contributions."""
        return np.asarray(self.prior + self.contributions.sum(axis=1))

    def to_frame(self, backend: str = "pandas") -> Any:
        """One line per row, feature and class, in a "pandas", "polars" or "pyarrow" frame."""
        shape = self.contributions.shape
        row, feature, of_class = (grid.ravel() for grid in np.indices(shape))
        columns: dict[str, Any] = {
            "row": row,
            "feature": [self.features[i] for i in feature],
            "value": [str(value) for value in self.values[row, feature]],
            "class": self.classes[of_class].tolist(),
            "contribution": self.contributions.ravel(),
            "support": self.support.ravel(),
            "backoff": self.backoff.ravel(),
        }
        chosen: Any = backend
        return nw.from_dict(columns, backend=chosen).to_native()


def explain_rows(
    model: NetworkModel,
    columns: Sequence[NDArray[np.int32]],
    labels: Sequence[Sequence[Any]],
    classes: NDArray[Any],
    reference: Any = None,
    n_jobs: int = 1,
) -> Explanation:
    """Take the log joint of coded rows apart, factor by factor."""
    network = model.counts.network
    shape = (len(columns[0]), len(model.factors), len(classes))
    terms, support = np.empty(shape), np.empty(shape)
    backoff = np.empty(shape, dtype=np.int32)
    values = np.empty(shape[:2], dtype=object)
    nothing = np.zeros(len(classes))
    for place, factor in enumerate(model.factors):
        terms[:, place] = _core.predict_joint([factor], nothing, list(columns), False, n_jobs)
        support[:, place], backoff[:, place] = _find_support(factor, columns, n_jobs)
        values[:, place] = np.array([*labels[factor.column], "unseen"], dtype=object)[
            columns[factor.column]
        ]
    with np.errstate(invalid="ignore"):
        prior = model.log_prior - _at_reference(model.log_prior, classes, reference)[..., 0]
        contributions = terms - _at_reference(terms, classes, reference)
    return Explanation(
        classes,
        tuple(network.feature_names[factor.column] for factor in model.factors),
        values,
        reference,
        prior,
        contributions,
        support,
        backoff,
    )


def sum_terms(
    model: NetworkModel, columns: Sequence[NDArray[np.int32]], n_features: int, n_jobs: int = 1
) -> NDArray[np.float64]:
    """The log probability that each feature adds to each class: (rows, features, classes)."""
    terms = np.zeros((len(columns[0]), n_features, len(model.log_prior)))
    nothing = np.zeros(len(model.log_prior))
    for factor in model.factors:
        terms[:, factor.column] = _core.predict_joint(
            [factor], nothing, list(columns), False, n_jobs
        )
    return terms


def _at_reference(
    terms: NDArray[np.float64], classes: NDArray[Any], reference: Any
) -> NDArray[np.float64]:
    if reference is None:
        return np.asarray(terms.mean(axis=-1, keepdims=True))
    place = np.flatnonzero(classes == reference)
    if len(place) != 1:
        raise ValueError(f"reference must be one of {classes.tolist()}, got {reference!r}")
    return terms[..., place]


def _find_support(
    factor: Factor, columns: Sequence[NDArray[np.int32]], n_jobs: int
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    tree = factor.tree
    nodes = factor.find_nodes(list(columns), n_jobs)
    # Node -1 is a context without rows in which the smoother does not back off.
    known = nodes >= 0
    support = np.where(known, tree.totals[nodes], 0.0)
    backoff = np.where(known, tree.depth - tree.level[nodes], 0)
    support[columns[factor.column] < 0] = 0.0
    return support, backoff.astype(np.int32)


def tabulate_factor(
    model: NetworkModel,
    place: int,
    path_labels: Sequence[Sequence[Any]],
    value_labels: Sequence[Any],
    backend: str,
) -> Any:
    """The contexts of one factor, the rows counted there, and the probabilities of its values."""
    factor, tree = model.factors[place], model.counts.feature_trees[place]
    if tree.n_nodes * tree.n_outcomes > MAX_CELLS:
        raise ValueError(
            f"a table of {tree.n_nodes} contexts and {tree.n_outcomes} values must have at most "
            f"{MAX_CELLS} cells: read count_trees_ instead"
        )
    network = model.counts.network
    rest = "parent" if factor.rest_towards_parent else "uniform"
    names = [network.class_name, *(network.feature_names[i] for i in factor.path)]
    columns: dict[str, Any] = dict(
        zip(_distinct(names), _name_contexts(tree, path_labels), strict=True)
    )
    columns["rows" if "rows" not in columns else "rows counted"] = tree.totals
    table = tree.rows(model.probabilities[1 + place], rest=rest)
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
