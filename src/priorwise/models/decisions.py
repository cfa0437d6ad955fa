"""From class probabilities to decisions: other class shares, costs, and saying nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.costs import check_cost_matrix


def check_class_prior(class_prior: Any, classes: NDArray[Any]) -> NDArray[np.float64]:
    """Return the share of each class, or raise an error that names the rule.

    >>> check_class_prior({"no": 0.9, "yes": 0.1}, np.array(["no", "yes"]))
    array([0.9, 0.1])
    """
    labels = classes.tolist()
    if isinstance(class_prior, Mapping):
        if set(class_prior) != set(labels):
            raise ValueError(
                f"class_prior must have a share for each of the classes {labels}, got the classes "
                f"{list(class_prior)}"
            )
        class_prior = [class_prior[label] for label in labels]
    prior = np.asarray(class_prior, dtype=np.float64)
    if prior.shape != (len(labels),):
        raise ValueError(
            f"class_prior must have a share for each of {len(labels)} classes, got the shape "
            f"{prior.shape}"
        )
    if not (np.isfinite(prior).all() and (prior >= 0.0).all() and abs(prior.sum() - 1.0) < 1e-6):
        raise ValueError(
            f"class_prior must hold shares from 0 to 1 with the sum 1, got {prior.tolist()}"
        )
    return prior


def change_prior(
    proba: NDArray[np.float64], class_count: NDArray[np.float64], prior: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return class probabilities where classes are as frequent as `prior` says.

    With q the shares of the training rows, ``p'(y | x)`` is in proportion to
    ``p(y | x) prior(y) / q(y)`` (Saerens, Latinne and Decaestecker 2002): the features of each
    class are taken to be distributed as in training. A class without rows counts as having
    1 / n_classes.

    >>> change_prior(np.array([[0.5, 0.5]]), np.array([1.0, 1.0]), np.array([0.2, 0.8]))
    array([[0.2, 0.8]])
    """
    trained = np.where(class_count > 0.0, class_count, 1.0 / len(class_count))
    changed = proba * (prior / trained)
    total = changed.sum(axis=1, keepdims=True)
    # A row whose classes all have the share zero keeps to the shares.
    return np.where(total > 0.0, changed / np.where(total > 0.0, total, 1.0), prior)


def expected_costs(
    proba: NDArray[np.float64], cost_matrix: Any, classes: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the expected cost of predicting each class: sum_i p_i cost_ij for class j.

    A cost matrix for each row may be given; without any, each error costs one.

    >>> expected_costs(np.array([[0.75, 0.25]]), [[0, 1], [5, 0]], np.array(["no", "yes"]))
    array([[1.25, 0.75]])
    """
    if cost_matrix is None:
        return 1.0 - proba
    cost = check_cost_matrix(cost_matrix, classes, len(proba))
    return np.einsum("ri,rij->rj" if cost.ndim == 3 else "ri,ij->rj", proba, cost)


def decide(
    classes: NDArray[Any], costs: NDArray[np.float64], reject_above: float | None
) -> NDArray[Any]:
    """Return the class of the least expected cost, the first of several.

    With `reject_above` the labels are objects, and None where even the least cost is above it.

    >>> decide(np.array(["no", "yes"]), np.array([[0.1, 0.9], [0.5, 0.5]]), 0.3)
    array(['no', None], dtype=object)
    """
    labels: NDArray[Any] = np.asarray(classes[costs.argmin(axis=1)])
    if reject_above is None:
        return labels
    is_number = isinstance(reject_above, int | float | np.number)
    if not is_number or isinstance(reject_above, bool) or np.isnan(reject_above):
        raise ValueError(f"reject_above must be a number, got {reject_above!r}")
    labels = labels.astype(object)
    labels[costs.min(axis=1) > reject_above] = None
    return labels
