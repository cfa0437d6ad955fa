"""Families of networks: the one-dependence estimators of AODE, the sequences of KDF."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from priorwise.structure.networks.network import Network


def superparent_networks(n_features: int, feature_names: Sequence[str] = ()) -> list[Network]:
    """For each feature the network in which all others depend on it (Webb et al. 2005).

    >>> superparent_networks(3)[1].parents
    ((1,), (), (1,))
    """
    networks = []
    for parent in range(n_features):
        others = [i for i in range(n_features) if i != parent]
        parents = tuple(() if i == parent else (parent,) for i in range(n_features))
        networks.append(Network(parents, (parent, *others), tuple(feature_names)))
    return networks


def kdf_networks(
    conditional: NDArray[np.float64],
    max_parents: int,
    feature_names: Sequence[str] = (),
    *,
    starts: Sequence[int] | None = None,
) -> list[Network]:
    """For each feature a k-dependence network that starts with it (thesis Algorithms 6-7).

    `starts` are the features to start with, by default all.

    The next feature of a sequence is the one with the largest sum of I(X; X_s | Y) over the
    features s already in it. Its first parent is the earlier feature of largest I(X; X_j | Y); up
    to `max_parents` - 1 more come from the ancestors of that parent, by the same measure. Of equals
    the lower index is taken. `conditional` holds I(X_i; X_j | Y).
    """
    if max_parents < 1:
        raise ValueError(f"max_parents must be at least 1, got {max_parents}")
    return [
        _grow_sequence(start, conditional, max_parents, feature_names)
        for start in (range(len(conditional)) if starts is None else starts)
    ]


def _grow_sequence(
    start: int, conditional: NDArray[np.float64], max_parents: int, feature_names: Sequence[str]
) -> Network:
    n_features = len(conditional)
    order = [start]
    parents: list[tuple[int, ...]] = [()] * n_features
    is_ancestor = np.zeros((n_features, n_features), dtype=bool)
    gain = conditional[:, start].astype(float)
    gain[start] = -np.inf
    # The feature of the sequence that each feature depends on most, and how much.
    strongest = np.full(n_features, start)
    strength = conditional[:, start].astype(float)
    while len(order) < n_features:
        child = int(np.argmax(gain))
        first = int(strongest[child])
        above = np.flatnonzero(is_ancestor[first])
        by_influence = above[np.argsort(-conditional[child, above], kind="stable")]
        parents[child] = (first, *by_influence[: max_parents - 1].tolist())
        is_ancestor[child] = is_ancestor[first]
        is_ancestor[child, first] = True
        order.append(child)
        influence = conditional[:, child]
        gain += influence
        gain[child] = -np.inf
        stronger = (influence > strength) | ((influence == strength) & (child < strongest))
        strongest[stronger], strength[stronger] = child, influence[stronger]
    return Network(tuple(parents), tuple(order), tuple(feature_names))
