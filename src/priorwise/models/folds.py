"""Folds of rows for out-of-fold estimates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def deal_into_folds(
    y: NDArray[np.int32], n_folds: int, generator: np.random.Generator
) -> NDArray[np.intp]:
    """A fold for each row: classes are spread evenly, however few rows they have.

    >>> np.bincount(deal_into_folds(np.zeros(10, np.int32), 5, np.random.default_rng(0)))
    array([2, 2, 2, 2, 2])
    """
    shuffled = generator.permutation(len(y))
    by_class = shuffled[np.argsort(y[shuffled], kind="stable")]
    folds = np.empty(len(y), dtype=np.intp)
    folds[by_class] = np.arange(len(y)) % n_folds
    return folds
