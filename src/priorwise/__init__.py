"""Accurate class probabilities on tabular data, by counting and smoothing."""

from priorwise.models import (
    AODEClassifier,
    ConditionalTable,
    ESKDBClassifier,
    KDBClassifier,
    KDFClassifier,
    KernelLogisticClassifier,
    LogLinearPool,
    NaiveBayesClassifier,
    PriorwiseClassifier,
    ProbabilityForestClassifier,
    ProbabilityTreeClassifier,
    SelectiveKDBClassifier,
    SplineLogisticClassifier,
    SuperParentClassifier,
    TANClassifier,
)

__version__ = "0.1.0"

__all__ = [
    "AODEClassifier",
    "ConditionalTable",
    "ESKDBClassifier",
    "KDBClassifier",
    "KDFClassifier",
    "KernelLogisticClassifier",
    "LogLinearPool",
    "NaiveBayesClassifier",
    "PriorwiseClassifier",
    "ProbabilityForestClassifier",
    "ProbabilityTreeClassifier",
    "SelectiveKDBClassifier",
    "SplineLogisticClassifier",
    "SuperParentClassifier",
    "TANClassifier",
]
