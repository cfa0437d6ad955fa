"""How far the mean of networks may be from the truth."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.counts.packed_trees import Codes
from priorwise.steps.networks.contributions import class_proba

FLOOR = 1e-12
"""Probabilities of networks below it are taken as this large."""


MAX_MEASURED = 8
"""Most networks whose own variance is computed for a row."""


def differ(probabilities: Iterable[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the variance of networks' log probabilities, each by its share in the probability."""
    total: Any = 0.0
    score: Any = 0.0
    squares: Any = 0.0
    for proba in probabilities:
        weight = np.maximum(proba, FLOOR)
        log_proba = np.log(weight)
        total = total + weight
        score = score + weight * log_proba
        squares = squares + weight * log_proba * log_proba
    return np.maximum(squares / total - (score / total) ** 2, 0.0)


class MeanSpread:
    """Variance of the logarithm of the mean of networks' probabilities, network by network.

    The networks learn from the same rows, so their errors go together: standard deviations are
    averaged, each network by its share in the probability of the class, over the first
    `MAX_MEASURED` networks that answer for a row. How much all networks differ is added.
    """

    def __init__(self, n_rows: int, n_classes: int) -> None:
        self._n_measured = np.zeros(n_rows, dtype=np.intp)
        self._deviation = np.zeros((2, n_rows, n_classes))
        self._sums = np.zeros((3, n_rows, n_classes))

    def add(
        self,
        product: _core.FactorProduct,
        codes: Codes,
        n_threads: int = 1,
        *,
        rows: NDArray[np.intp],
        log_weight: NDArray[np.float64] | None = None,
    ) -> None:
        """Add a network and its codes of some rows.

        `log_weight` is the logarithm of what it adds to each class, if that is not its probability.
        """
        proba = class_proba(product, codes, n_threads)
        score = np.log(np.maximum(proba, FLOOR))
        weight = np.maximum(proba if log_weight is None else np.exp(log_weight), FLOOR)
        self._sums[:, rows] += weight * np.stack([np.ones_like(score), score, score * score])
        measured = np.flatnonzero(self._n_measured[rows] < MAX_MEASURED)
        if len(measured) == 0:
            return
        taken = [np.ascontiguousarray(column[measured]) for column in codes]
        variance = _core.sum_spreads(product, taken, proba[measured], n_threads)
        weight = weight[measured]
        self._n_measured[rows[measured]] += 1
        self._deviation[:, rows[measured]] += weight, weight * np.sqrt(variance)

    def total(self) -> NDArray[np.float64]:
        """Return the variance of the logarithm of the mean."""
        weight, deviation = self._deviation
        within = (deviation / np.maximum(weight, FLOOR * FLOOR)) ** 2
        total, score, squares = self._sums
        total = np.maximum(total, FLOOR * FLOOR)
        return np.asarray(within + np.maximum(squares / total - (score / total) ** 2, 0.0))
