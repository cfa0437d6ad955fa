"""Scores of a Gaussian kernel between rows and landmarks, one pair at a time."""

import math

import numpy as np


def kernel_scores(rows, landmarks, rate, intercept, coefficient):
    """Scores of the classes, of shape (rows, classes)."""
    scores = np.empty((len(rows.value), len(intercept)))
    for i in range(len(scores)):
        scores[i] = intercept
        for j in range(len(landmarks.value)):
            distance = 0.0
            for a, b in zip(rows.index[i].tolist(), landmarks.index[j].tolist(), strict=True):
                distance += (a >= 0) + (b >= 0) - 2.0 * (a == b and a >= 0)
            for a, b in zip(rows.value[i].tolist(), landmarks.value[j].tolist(), strict=True):
                distance += (a - b) ** 2
            scores[i] += coefficient[:, j] * math.exp(-rate * distance)
    return scores
