"""Several smoothers to choose from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from priorwise.counts import CountTree
from priorwise.smoothing.additive import HierarchicalShrinkage
from priorwise.smoothing.base import Smoother, checked_smooth
from priorwise.smoothing.pruning_average import PruningAverage


class BestOf(Smoother, name="best"):
    """Choose the smoother that does best on rows that the counts have not seen.

    Its candidates are those of all its smoothers; a model chooses one of them.

    Parameters
    ----------
    smoothers : sequence of Smoother, optional
        The smoothers to choose from. By default the average over prunings and hierarchical
        shrinkage, the two that did best on decision trees.

    Examples
    --------
    >>> from priorwise.smoothing import Laplace, MLE
    >>> BestOf([MLE(), Laplace()]).candidates()
    [MLE(), Laplace()]
    """

    def __init__(self, smoothers: Sequence[Smoother] | None = None) -> None:
        self.smoothers = smoothers

    def smooth(self, tree: CountTree, seed: int = 0) -> NDArray[np.float64]:
        candidates = self.candidates()
        if len(candidates) == 1:
            return checked_smooth(candidates[0])(tree, seed)
        raise ValueError(
            "smoothers must have a single candidate to smooth a tree: the best of several is "
            "chosen by a model, on rows the counts have not seen"
        )

    def candidates(self) -> list[Smoother]:
        members = self.smoothers
        if members is None:
            members = [PruningAverage(), HierarchicalShrinkage()]
        if not members:
            raise ValueError("smoothers must hold at least one smoother, got none")
        return [candidate for member in members for candidate in member.candidates()]
