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
    conditional: NDArray[np.float64], max_parents: int, feature_names: Sequence[str] = ()
) -> list[Network]:
    """For each feature a k-dependence network that starts with it (thesis Algorithms 6-7).

    The next feature of a sequence is the one with the largest sum of I(X; X_s | Y) over the
    features s already in it. Its first parent is the earlier feature of largest I(X; X_j | Y);
    up to `max_parents` - 1 more come from the ancestors of that parent, by the same measure. Of
    equals the lower index is taken.

    Parameters
    ----------
    conditional : array of shape (n_features, n_features)
        I(X_i; X_j | Y).
    max_parents : int
        Largest number of parents besides the class, at least 1.
    feature_names : sequence of str, optional
    """
    if max_parents < 1:
        raise ValueError(f"max_parents must be at least 1, got {max_parents}")
    return [
        _grow_sequence(start, conditional, max_parents, feature_names)
        for start in range(len(conditional))
    ]


def _grow_sequence(
    start: int, conditional: NDArray[np.float64], max_parents: int, feature_names: Sequence[str]
) -> Network:
    n_features = len(conditional)
    order = [start]
    parents: list[tuple[int, ...]] = [()] * n_features
    ancestors: list[set[int]] = [set() for _ in range(n_features)]
    gain = conditional[:, start].astype(float).copy()
    gain[start] = -np.inf
    while len(order) < n_features:
        child = int(np.argmax(gain))
        by_influence = sorted(order, key=lambda j: (-conditional[child, j], j))
        first = by_influence[0]
        others = [j for j in by_influence if j in ancestors[first]][: max_parents - 1]
        parents[child] = (first, *others)
        ancestors[child] = {first, *ancestors[first]}
        order.append(child)
        gain += conditional[:, child]
        gain[child] = -np.inf
    return Network(tuple(parents), tuple(order), tuple(feature_names))
