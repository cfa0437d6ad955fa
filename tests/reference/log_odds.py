"""Log-odds of each class against the other classes."""

import numpy as np
from numpy.typing import NDArray


def against_others(log_proba: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log probability of each class, the last axis, minus the mean of those of the others."""
    others = log_proba.sum(axis=-1, keepdims=True) - log_proba
    return np.asarray(log_proba - others / (log_proba.shape[-1] - 1))
