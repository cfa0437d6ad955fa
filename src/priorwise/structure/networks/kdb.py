"""k-dependence Bayes: the most informative features first, each with k earlier parents."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priorwise.counts import Information, WideInformation
from priorwise.structure.networks.network import Network


def rank_by_information(mutual: ArrayLike) -> NDArray[np.int64]:
    """Return the features by decreasing I(X; Y); of equals the lower index comes first.

    >>> rank_by_information([0.1, 0.5, 0.1])
    array([1, 0, 2])
    """
    return np.argsort(-np.asarray(mutual, dtype=np.float64), kind="stable")


def learn_kdb(
    information: Information | WideInformation,
    max_parents: int,
    *,
    order: ArrayLike | None = None,
    subtract_bias: bool = False,
    feature_names: Sequence[str] = (),
) -> Network:
    """Learn a k-dependence network (Sahami; thesis Algorithm 3).

    Features come in the order of I(X; Y) or in the `order` given; those that are not in it are not
    in the network. The parents of a feature are the `max_parents` earlier ones of largest
    I(X_i; X_j | Y), by decreasing value; of equals the one that is earlier in the order. With
    `subtract_bias`, what I(X_i; X_j | Y) shows by chance is subtracted, and only parents for which
    something remains are taken.

    >>> conditional = np.array([[0.0, 0.2, 0.3], [0.2, 0.0, 0.1], [0.3, 0.1, 0.0]])
    >>> mutual, n_seen = np.array([0.5, 0.4, 0.3]), np.full((3, 2), 2)
    >>> learn_kdb(Information(mutual, conditional, n_seen, 100.0), max_parents=2).parents
    ((), (0,), (0, 1))
    """
    ranked = rank_by_information(information.mutual) if order is None else np.asarray(order)
    parents = information.best_parents(ranked, max_parents, subtract_bias=subtract_bias)
    return Network(parents, tuple(ranked.tolist()), tuple(feature_names))
