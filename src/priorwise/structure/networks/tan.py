"""Tree-augmented naive Bayes: the features form a tree."""

from __future__ import annotations

from collections.abc import Sequence

from priorwise.counts import Information, WideInformation
from priorwise.structure.networks.kdb import rank_by_information
from priorwise.structure.networks.network import Network


def learn_tan(
    information: Information | WideInformation, *, feature_names: Sequence[str] = ()
) -> Network:
    """Learn the tree of largest total I(X_i; X_j | Y) (Friedman et al.; thesis Algorithm 1).

    The papers leave the root free; here it is the feature of largest I(X; Y).

    >>> import numpy as np
    >>> conditional = np.array([[0.0, 0.2, 0.3], [0.2, 0.0, 0.1], [0.3, 0.1, 0.0]])
    >>> mutual, n_seen = np.array([0.1, 0.4, 0.3]), np.full((3, 2), 2)
    >>> learn_tan(Information(mutual, conditional, n_seen, 100.0)).parents
    ((1,), (), (0,))
    """
    order, parents = information.spanning_tree(int(rank_by_information(information.mutual)[0]))
    return Network(parents, order, tuple(feature_names))
