"""One-dependence networks found by superparents and favourite children."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priorwise import _core
from priorwise.common.validation import check_choice
from priorwise.structure.networks.network import Network

SCORES = ("cll", "accuracy", "auc")
EVALUATIONS = ("leave-one-out", "resubstitution")


@dataclass(frozen=True)
class SuperParentSearch:
    """The network found, and its score on the training rows as it grew.

    `scores[0]` is that of naive Bayes, `scores[i]` that after the i-th arc. Conditional log
    likelihood is a sum over the rows in nats, accuracy the weight of the rows that are right,
    the area under the ROC curve Hand and Till's mean over pairs of classes.
    """

    network: Network
    scores: NDArray[np.float64]


def learn_superparent(
    columns: Sequence[NDArray[np.int32]],
    arities: ArrayLike,
    y: NDArray[np.int32],
    n_classes: int,
    *,
    weight: NDArray[np.float64] | None = None,
    search_score: str = "cll",
    evaluation: str = "leave-one-out",
    feature_names: Sequence[str] = (),
    n_jobs: int = 1,
) -> SuperParentSearch:
    """Add arcs to naive Bayes one at a time, each the best child of the best superparent.

    An orphan is a feature without a parent besides the class. The superparent is the feature
    that scores best as parent of all orphans, its favourite child the orphan that scores best
    as its only new child. That arc stays if it improves the score; else the search ends. An arc
    that would close a cycle is not considered; of equals the lower feature is taken (Keogh and
    Pazzani 1999; Qiu et al. 2015, Algorithm 1).

    Estimates are Laplace's, p(x | y, parent) = (n + 1) / (N + arity), on the training rows:
    each taken out of the counts that judge it (``evaluation="leave-one-out"``) or not
    (``"resubstitution"``). A context without rows is uniform, as the formula says.

    O(rows x classes) per candidate arc; memory features x rows x classes numbers, or, where
    that exceeds 1 GB, rows x classes and more time.

    Examples
    --------
    >>> x = np.array([0, 0, 1, 1] * 5, dtype=np.int32)
    >>> z = np.array([0, 1, 0, 1] * 5, dtype=np.int32)
    >>> search = learn_superparent([x, z], [2, 2], x ^ z, 2)
    >>> search.network.parents
    ((), (0,))
    >>> search.scores.round(2)
    array([-16.93,  -3.77])
    """
    check_choice("search_score", search_score, SCORES)
    check_choice("evaluation", evaluation, EVALUATIONS)
    parent, scores = _core.find_superparents(
        list(columns),
        np.ascontiguousarray(arities, dtype=np.int32),
        y,
        n_classes,
        weight,
        search_score,
        evaluation == "leave-one-out",
        n_jobs,
    )
    parents = [[] if j < 0 else [j] for j in parent.tolist()]
    return SuperParentSearch(Network.from_parents(parents, feature_names), scores)
