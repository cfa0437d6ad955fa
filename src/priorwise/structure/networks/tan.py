"""Tree-augmented naive Bayes: the features form a tree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from priorwise.counts import Information, WideInformation
from priorwise.structure.networks.kdb import rank_by_information
from priorwise.structure.networks.network import Network


def learn_tan(
    mutual: ArrayLike, conditional: ArrayLike, *, feature_names: Sequence[str] = ()
) -> Network:
    """Learn the tree of largest total I(X_i; X_j | Y) (Friedman et al.; thesis Algorithm 1).

    The tree is grown from the root by its heaviest arc to a new feature, which gives a maximum
    spanning tree. The papers leave the root free; here it is the feature of largest I(X; Y). Of
    equal arcs the one to the lower feature is taken, and of those the one that was found first.

    >>> conditional = np.array([[0.0, 0.2, 0.3], [0.2, 0.0, 0.1], [0.3, 0.1, 0.0]])
    >>> learn_tan([0.1, 0.4, 0.3], conditional).parents
    ((1,), (), (0,))
    """
    weights = np.asarray(conditional, dtype=np.float64)
    ranked = rank_by_information(mutual)
    if weights.shape != (len(ranked), len(ranked)):
        raise ValueError(
            f"conditional must have shape ({len(ranked)}, {len(ranked)}) as mutual has "
            f"{len(ranked)} entries, got {weights.shape}"
        )
    root = int(ranked[0])
    parents: list[tuple[int, ...]] = [()] * len(ranked)
    order = [root]
    outside = np.ones(len(ranked), dtype=bool)
    outside[root] = False
    heaviest = weights[root].copy()
    nearest = np.full(len(ranked), root)
    while outside.any():
        child = int(np.argmax(np.where(outside, heaviest, -np.inf)))
        parents[child] = (int(nearest[child]),)
        order.append(child)
        outside[child] = False
        better = weights[child] > heaviest
        heaviest[better] = weights[child, better]
        nearest[better] = child
    return Network(tuple(parents), tuple(order), tuple(feature_names))


def learn_tan_from_rows(
    information: Information | WideInformation, *, feature_names: Sequence[str] = ()
) -> Network:
    """Learn what `learn_tan` does, also where the information of pairs is not kept."""
    mutual = information.mutual
    if isinstance(information, Information):
        return learn_tan(mutual, information.conditional, feature_names=feature_names)
    order, parents = information.spanning_tree(int(rank_by_information(mutual)[0]))
    return Network(parents, order, tuple(feature_names))
