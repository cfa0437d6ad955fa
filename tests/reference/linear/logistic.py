"""The loss of a penalised logistic regression, spelt out."""

import numpy as np
from scipy.special import log_softmax


def penalised_loss(weights, index, value, y, row_weight, penalty):
    """-log p summed, plus half the penalty times squares.

    `weights` is of shape (classes, 1 + indicators + values).
    """
    n_indicators = weights.shape[1] - 1 - value.shape[1]
    loss = 0.0
    for row in range(len(y)):
        indicators = np.zeros(n_indicators)
        for place in index[row]:
            if place >= 0:
                indicators[place] += 1.0
        seen = np.concatenate([[1.0], indicators, value[row]])
        log_p = log_softmax(weights @ seen)
        loss -= (1.0 if row_weight is None else row_weight[row]) * log_p[y[row]]
    return loss + 0.5 * penalty * np.sum(weights[:, 1:] ** 2)
