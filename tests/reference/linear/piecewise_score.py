"""Scores of piecewise quadratics, one row, feature and class at a time."""

import math

import numpy as np
from scipy.special import softmax


def predict_pieces(pieces, codes, values):
    """The softmax of the scores, shape (rows, classes), from the arrays of a PiecewiseScore."""
    n_classes = len(pieces.intercept)
    labels = pieces.label_score.reshape(-1, n_classes)
    coefficient = pieces.coefficient.reshape(-1, 3, n_classes)
    missing = pieces.missing_score.reshape(-1, n_classes)
    scores = []
    for row in range(values.shape[1]):
        score = pieces.intercept.copy()
        for i, code in enumerate(codes[:, row].tolist()):
            if code >= 0:
                score += labels[pieces.first_label[i] + code]
        for i, value in enumerate(values[:, row].tolist()):
            z = (value - pieces.mean[i]) / pieces.scale[i]
            if math.isnan(z):
                z = 0.0
                score += missing[i]
            z = max(-pieces.max_deviation, min(pieces.max_deviation, z))
            piece = pieces.first_piece[i]
            while piece + 1 < pieces.first_piece[i + 1] and pieces.first_value[piece + 1] <= z:
                piece += 1
            for power in range(3):
                score += coefficient[piece, power] * (z - pieces.left[piece]) ** power
        scores.append(score)
    return softmax(np.array(scores), axis=1)
