"""How far the probabilities of trees may be from the truth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from priorwise.models.intervals import dirichlet_spread

FOREST_FACTORS = {
    "constant": -0.62,
    "rows": -0.24,
    "classes": -0.96,
    "gini": 0.76,
    "leaves": 0.15,
    "between": 0.28,
}
BOOSTING_FACTORS = {
    "constant": -0.41,
    "rows": -0.44,
    "classes": -0.66,
    "gini": 0.39,
    "between": 0.22,
}
TREE_FACTORS = {"constant": -0.0, "rows": -0.26, "classes": -0.91, "gini": 0.46, "path": 0.31}
"""Logarithms of constants, and exponents, of `combine_parts`; fitted to generated tables."""


def forest_parts(
    proba: NDArray[np.float64], squares: NDArray[np.float64], inverse: NDArray[np.float64]
) -> dict[str, NDArray[np.float64]]:
    """Return what the variance of the scores of a mean of trees is made of.

    `squares` are the means of the trees' squared probabilities, `inverse` that of one over the rows
    of the leaves. "between" is how much the trees differ, "leaves" how few rows their leaves have.
    """
    between = np.maximum(squares - proba * proba, 0.0).sum(axis=1)
    share = between / np.maximum((proba * (1.0 - proba)).sum(axis=1), 1e-12)
    return {
        "leaves": dirichlet_spread(proba, inverse),
        "between": dirichlet_spread(proba, np.clip(share, 1e-6, 1.0)),
    }
