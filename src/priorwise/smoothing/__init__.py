"""Smoothers: from a tree of counts to a tree of probabilities."""

from priorwise.smoothing.additive import (
    MLE,
    HierarchicalShrinkage,
    Laplace,
    LevelShrinkage,
    MBranch,
    MEstimate,
    ParentEstimate,
)
from priorwise.smoothing.base import Smoother
from priorwise.smoothing.best_of import BestOf
from priorwise.smoothing.hdp import HDP, PitmanYor
from priorwise.smoothing.hgs import HGS
from priorwise.smoothing.pruning_average import PruningAverage

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
    "PitmanYor",
    "PruningAverage",
    "Smoother",
]
