"""How far the mean of networks may be from the truth."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.counts.factor import Codes
from priorwise.models.networks.network_model import NetworkModel

FLOOR = 1e-12
"""Probabilities of networks below it are taken as this large."""


FACTORS = {
    "constant": 1.55,
    "rows": -0.08,
    "classes": -0.57,
    "gini": 0.12,
    "within": 0.13,
    "between": 0.8,
}
TAILS = (0.53, 0.31)
"""Logarithm of a constant, and exponents, of `combine_parts` for weighted networks; and factors of
heavy tails. Fitted to generated tables."""


class MeanSpread:
    """Variance of the logarithm of the mean of networks' probabilities, network by network.

    The networks learn from the same rows, so their errors go together: standard deviations are
    averaged, each network by its share in the probability of the class. How much the networks
    differ is added.
    """

    def __init__(self, n_rows: int, n_classes: int) -> None:
        self._sums = np.zeros((4, n_rows, n_classes))

    def add(
        self,
        model: NetworkModel,
        codes: Codes,
        n_jobs: int = 1,
        *,
        rows: Any = slice(None),
        log_weight: NDArray[np.float64] | None = None,
    ) -> None:
        """Add a network and its codes of some rows.

        `log_weight` is the logarithm of what it adds to each class, if that is not its probability.
        """
        proba = model.proba(codes, n_jobs)
        deviation = np.sqrt(_core.sum_spreads(model.product, codes, proba, n_jobs))
        score = np.log(np.maximum(proba, FLOOR))
        weight = np.maximum(proba if log_weight is None else np.exp(log_weight), FLOOR)
        self._sums[:, rows] += weight * np.stack(
            [np.ones_like(score), deviation, score, score * score]
        )

    def within(self) -> NDArray[np.float64]:
        """Return the variance of the logarithm of the mean, given the networks."""
        total, deviation, _, _ = self._sums
        return np.asarray((deviation / total) ** 2)

    def between(self) -> NDArray[np.float64]:
        """Return the variance of the networks' log probabilities."""
        total, _, score, squares = self._sums
        return np.maximum(squares / total - (score / total) ** 2, 0.0)
