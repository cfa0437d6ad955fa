"""Logistic regression on indicators and numbers, spelt out."""

import numpy as np
from scipy.special import log_softmax


def log_probabilities(weights, index, value):
    """Log p(y | row), shape (rows, classes), by weights (classes, 1 + indicators + values)."""
    n_indicators = weights.shape[1] - 1 - value.shape[1]
    result = np.empty((len(value), len(weights)))
    for row in range(len(value)):
        indicators = np.zeros(n_indicators)
        for place in index[row]:
            if place >= 0:
                indicators[place] += 1.0
        result[row] = log_softmax(weights @ np.concatenate([[1.0], indicators, value[row]]))
    return result


def penalised_loss(weights, index, value, y, row_weight, penalty):
    """-log p summed, plus half the penalty times squares.

    `weights` is of shape (classes, 1 + indicators + values).
    """
    own = log_probabilities(weights, index, value)[np.arange(len(y)), y]
    loss = -own.sum() if row_weight is None else -(row_weight @ own)
    return loss + 0.5 * penalty * np.sum(weights[:, 1:] ** 2)
