"""Smoothers: from a tree of counts to a tree of probabilities."""

from priorwise.smoothing.additive import MLE, Laplace, MBranch, MEstimate
from priorwise.smoothing.base import Smoother, smooth_trees
from priorwise.smoothing.hdp import HDP
from priorwise.smoothing.hgs import HGS
from priorwise.smoothing.names import as_smoother

__all__ = [
    "HDP",
    "HGS",
    "MLE",
    "Laplace",
    "MBranch",
    "MEstimate",
    "Smoother",
    "as_smoother",
    "smooth_trees",
]
