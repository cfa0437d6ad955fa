"""Structures: what is counted in which context."""

from priorwise.structure.networks import Network
from priorwise.structure.trees import DecisionTree

__all__ = ["DecisionTree", "Network"]
