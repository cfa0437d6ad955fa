"""Estimators: structure, counts and smoothing put together."""

from priorwise.models.bayes_net import (
    KDBClassifier,
    NaiveBayesClassifier,
    SelectiveKDBClassifier,
    TANClassifier,
)
from priorwise.models.ensemble import ESKDBClassifier
from priorwise.models.families import AODEClassifier, KDFClassifier
from priorwise.models.forest import ProbabilityForestClassifier
from priorwise.models.kernel import KernelLogisticClassifier
from priorwise.models.linear import SplineLogisticClassifier
from priorwise.models.pool import LogLinearPool
from priorwise.models.priorwise import PriorwiseClassifier
from priorwise.models.superparent import SuperParentClassifier
from priorwise.models.table import ConditionalTable
from priorwise.models.tree import ProbabilityTreeClassifier

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
