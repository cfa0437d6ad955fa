"""Smoothers: from a tree of counts to a tree of probabilities."""

from priorwise.smoothing.additive import MLE, Laplace, MBranch, MEstimate, ParentEstimate
from priorwise.smoothing.base import Shrinkage, Smoother, check_choice, check_number, smooth_trees
from priorwise.smoothing.best_of import BestOf
from priorwise.smoothing.hdp import HDP
from priorwise.smoothing.hgs import HGS
from priorwise.smoothing.level import LevelShrinkage
from priorwise.smoothing.names import as_smoother
from priorwise.smoothing.pruning_average import PruningAverage
from priorwise.smoothing.shrinkage import HierarchicalShrinkage

__all__ = [
    "HDP",
    "HGS",
    "MLE",
    "BestOf",
    "HierarchicalShrinkage",
    "Laplace",
    "LevelShrinkage",
    "MBranch",
    "MEstimate",
    "ParentEstimate",
    "PruningAverage",
    "Shrinkage",
    "Smoother",
    "as_smoother",
    "check_choice",
    "check_number",
    "smooth_trees",
]
