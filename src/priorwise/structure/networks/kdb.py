"""TAN and k-dependence Bayes: informative features first, each with earlier ones as parents."""

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


def draw_order(mutual: ArrayLike, generator: np.random.Generator) -> NDArray[np.int64]:
    """Draw an order without replacement in proportion to I(X; Y) (thesis Algorithm 12).

    Once only features without information are left, they follow in random order.

    >>> draw_order([0.0, 1.0, 0.0], np.random.default_rng(0))[0]
    np.int64(1)
    """
    remaining = np.array(mutual, dtype=np.float64)
    if (remaining < 0).any():
        raise ValueError(f"mutual must not be negative, got {remaining.min()}")
    order = []
    left = np.ones(len(remaining), dtype=bool)
    while left.any():
        mass = np.where(left, remaining, 0.0)
        if mass.sum() == 0.0:
            mass = left.astype(np.float64)
        drawn = int(generator.choice(len(mass), p=mass / mass.sum()))
        order.append(drawn)
        left[drawn] = False
    return np.array(order, dtype=np.int64)


def draw_order_by_gumbel(
    mutual: ArrayLike, generator: np.random.Generator, *, floor: float = 1e-9
) -> NDArray[np.int64]:
    """Draw an order by sorting ``log(mutual + floor)`` plus Gumbel noise.

    The same law as `draw_order` but for the floor: the largest of log-weights with Gumbel noise is
    a draw in proportion to the weights, and so is the largest of the rest.

    >>> draw_order_by_gumbel([0.0, 1.0], np.random.default_rng(0))
    array([1, 0])
    """
    information = np.asarray(mutual, dtype=np.float64)
    noisy = np.log(information + floor) + generator.gumbel(size=len(information))
    return np.argsort(-noisy, kind="stable")


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
