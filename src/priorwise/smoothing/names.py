"""Smoothers by name, for `smoothing="hdp"`."""

from __future__ import annotations

from collections.abc import Callable

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
from priorwise.smoothing.hdp import HDP
from priorwise.smoothing.hgs import HGS
from priorwise.smoothing.pitman_yor import PitmanYor
from priorwise.smoothing.pruning_average import PruningAverage

SMOOTHERS: dict[str, Callable[[], Smoother]] = {
    "mle": MLE,
    "laplace": Laplace,
    "m-estimate": MEstimate,
    "m-branch": MBranch,
    "parent": ParentEstimate,
    "hdp": HDP,
    "pitman-yor": PitmanYor,
    "hgs": HGS,
    "level": LevelShrinkage,
    "shrinkage": HierarchicalShrinkage,
    "pruning-average": PruningAverage,
    "best": BestOf,
}


def as_smoother(smoothing: str | Smoother) -> Smoother:
    """Return the smoother of that name in `SMOOTHERS`, or the smoother itself."""
    if isinstance(smoothing, str) and smoothing in SMOOTHERS:
        return SMOOTHERS[smoothing]()
    if isinstance(smoothing, Smoother):
        return smoothing
    names = ", ".join(repr(name) for name in SMOOTHERS)
    raise ValueError(f"smoothing must be one of {names} or a smoother, got {smoothing!r}")
