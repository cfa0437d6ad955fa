"""Accurate class probabilities on tabular data, by counting and smoothing."""

from priorwise.models import (
    ConditionalTable,
    KDBClassifier,
    NaiveBayesClassifier,
    SelectiveKDBClassifier,
    TANClassifier,
)

__version__ = "0.1.0"

__all__ = [
    "ConditionalTable",
    "KDBClassifier",
    "NaiveBayesClassifier",
    "SelectiveKDBClassifier",
    "TANClassifier",
]
