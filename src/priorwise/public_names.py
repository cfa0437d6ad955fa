"""The names of the package `priorwise`, which imports this file when one of them is first used."""

from priorwise.common.runtime import DataWarning
from priorwise.models.checks import check
from priorwise.models.conditional_table import ConditionalTable
from priorwise.models.general.bayesian_network import BayesianNetwork, read_bif
from priorwise.models.general.graph import EquivalenceClass
from priorwise.models.linear.gaussian import GaussianNetworkClassifier
from priorwise.models.linear.kernel import KernelLogisticClassifier
from priorwise.models.linear.spline import SplineLogisticClassifier
from priorwise.models.networks.averaged import AODEClassifier, KDFClassifier
from priorwise.models.networks.eskdb import ESKDBClassifier
from priorwise.models.networks.kdb import (
    KDBClassifier,
    SelectiveKDBClassifier,
    SuperParentClassifier,
    TANClassifier,
)
from priorwise.models.networks.single import NaiveBayesClassifier
from priorwise.models.pool.log_linear import LogLinearPool
from priorwise.models.pool.priorwise import PriorwiseClassifier
from priorwise.models.trees.boosting import BoostingClassifier
from priorwise.models.trees.forest import ProbabilityForestClassifier
from priorwise.models.trees.tree import ProbabilityTreeClassifier
from priorwise.storage.model_file import list_trusted_types, load, read_header
from priorwise.structure.networks.distribution import Distribution

__all__ = [
    "AODEClassifier",
    "BayesianNetwork",
    "BoostingClassifier",
    "ConditionalTable",
    "DataWarning",
    "Distribution",
    "ESKDBClassifier",
    "EquivalenceClass",
    "GaussianNetworkClassifier",
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
    "check",
    "list_trusted_types",
    "load",
    "read_bif",
    "read_header",
]
