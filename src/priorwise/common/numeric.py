"""Numeric helpers that several layers share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def softmax(scores: NDArray[Any]) -> NDArray[np.float64]:
    """Rows of scores as probabilities, in proportion to their exponentials.

    >>> softmax(np.log([[1.0, 3.0]]))
    array([[0.25, 0.75]])
    """
    proba = np.exp(scores - scores.max(axis=1, keepdims=True), dtype=np.float64)
    proba /= proba.sum(axis=1, keepdims=True)
    return np.asarray(proba)
