"""How far the probabilities of a pool may be from the truth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from priorwise.models.pool.weights import FLOOR

FACTORS = {
    "constant": 0.47,
    "rows": -0.34,
    "classes": -1.17,
    "gini": 0.70,
    "within": 0.29,
    "between": 0.33,
}
TAILS = (0.46, 0.36)
"""Logarithm of a constant, and exponents, of `combine_parts`; and factors of heavy tails. The
former were fitted to generated tables, the latter set by hand."""


def pool_parts(
    probabilities: Sequence[NDArray[np.float64]],
    variances: Sequence[NDArray[np.float64] | None],
    weights: NDArray[np.float64],
) -> dict[str, NDArray[np.float64]]:
    """Return what the variance of the scores of a pool is made of, each (n_rows, n_classes).

    "within" is the variance of the members' scores, whose errors go together since they learn from
    the same rows; "between" is how much the members differ.
    """
    shares = np.abs(weights) / max(np.abs(weights).sum(), np.finfo(float).tiny)
    scores = np.stack([np.log(np.maximum(p, FLOOR)) for p in probabilities])
    scores -= scores.mean(axis=2, keepdims=True)
    mean = np.tensordot(shares, scores, axes=1)
    between = np.tensordot(shares, (scores - mean) ** 2, axes=1)
    deviation = np.zeros_like(mean)
    for weight, variance in zip(weights, variances, strict=True):
        if variance is not None:
            deviation += abs(weight) * np.sqrt(variance)
    return {"within": deviation**2, "between": between * weights.sum() ** 2}
