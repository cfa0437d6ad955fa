"""Estimators: structure, counts and smoothing put together."""

from priorwise.models.bayes_net import (
    KDBClassifier,
    NaiveBayesClassifier,
    SelectiveKDBClassifier,
    TANClassifier,
)
from priorwise.models.table import ConditionalTable

__all__ = [
    "ConditionalTable",
    "KDBClassifier",
    "NaiveBayesClassifier",
    "SelectiveKDBClassifier",
    "TANClassifier",
]
