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
    mutual: ArrayLike,
    conditional: ArrayLike,
    max_parents: int,
    *,
    order: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    feature_names: Sequence[str] = (),
) -> Network:
    """Learn a k-dependence network (Sahami; thesis Algorithm 3).

    Features come in the order of I(X; Y), `mutual`, or in the `order` given. The parents of a
    feature are the `max_parents` earlier ones of largest I(X_i; X_j | Y), `conditional`, by
    decreasing value; of equals the one that is earlier in the order. A `bias`, what `conditional`
    shows by chance, is subtracted, and only parents for which something remains are taken. Features
    that are not in the order are not in the network.

    >>> conditional = np.array([[0.0, 0.2, 0.3], [0.2, 0.0, 0.1], [0.3, 0.1, 0.0]])
    >>> learn_kdb([0.5, 0.4, 0.3], conditional, max_parents=2).parents
    ((), (0,), (0, 1))
    """
    scores = np.array(conditional, dtype=np.float64)
    mutual = np.asarray(mutual, dtype=np.float64)
    if scores.shape != (len(mutual), len(mutual)):
        raise ValueError(
            f"conditional must have shape ({len(mutual)}, {len(mutual)}) as mutual has "
            f"{len(mutual)} entries, got {scores.shape}"
        )
    if max_parents < 0:
        raise ValueError(f"max_parents must not be negative, got {max_parents}")
    if bias is not None:
        scores -= np.asarray(bias, dtype=np.float64)
    ranked = rank_by_information(mutual) if order is None else np.asarray(order, dtype=np.int64)
    parents: list[tuple[int, ...]] = [()] * len(mutual)
    for place, child in enumerate(ranked.tolist()):
        earlier = ranked[:place]
        best = earlier[np.argsort(-scores[child, earlier], kind="stable")[:max_parents]]
        if bias is not None:
            best = best[scores[child, best] > 0.0]
        parents[child] = tuple(best.tolist())
    return Network(tuple(parents), tuple(ranked.tolist()), tuple(feature_names))


def learn_kdb_from_rows(
    information: Information | WideInformation,
    max_parents: int,
    *,
    order: ArrayLike | None = None,
    subtract_bias: bool = False,
    feature_names: Sequence[str] = (),
) -> Network:
    """Learn what `learn_kdb` does, also where the information of pairs is not kept."""
    if isinstance(information, Information):
        return learn_kdb(
            information.mutual,
            information.conditional,
            max_parents,
            order=order,
            bias=information.bias() if subtract_bias else None,
            feature_names=feature_names,
        )
    ranked = rank_by_information(information.mutual) if order is None else np.asarray(order)
    parents = information.best_parents(ranked, max_parents, subtract_bias=subtract_bias)
    return Network(parents, tuple(ranked.tolist()), tuple(feature_names))
