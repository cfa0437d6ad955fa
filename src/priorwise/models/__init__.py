"""Estimators: structure, counts and smoothing put together."""

from priorwise.models.bayes_net import (
    KDBClassifier,
    NaiveBayesClassifier,
    SelectiveKDBClassifier,
    TANClassifier,
)
from priorwise.models.ensemble import ESKDBClassifier
from priorwise.models.families import AODEClassifier, KDFClassifier
from priorwise.models.table import ConditionalTable

__all__ = [
    "AODEClassifier",
    "ConditionalTable",
    "ESKDBClassifier",
    "KDBClassifier",
    "KDFClassifier",
    "NaiveBayesClassifier",
    "SelectiveKDBClassifier",
    "TANClassifier",
]
