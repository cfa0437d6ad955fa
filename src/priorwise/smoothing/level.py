"""Shrinkage towards the parent with one weight per level, chosen by leaving rows out."""

from __future__ import annotations

from priorwise import _core
from priorwise.counts import CountTree
from priorwise.smoothing.base import Shrinkage, Smoother


class LevelShrinkage(Smoother):
    """Shrink each node towards its parent, with one weight per level.

    Down a path, with uniform above the root, whose weight is 1::

        theta_u = (n_u + c theta_parent) / (N_u + c)

    c of a level, between 1/8 and 1024, maximises the leave-one-out likelihood of the rows,
    sum log[(n - 1 + c q) / (N - 1 + c)], q the parent's leave-one-out estimate. This is an
    empirical Bayes relative of HDP that takes a few passes over the cells.

    Examples
    --------
    >>> tree = CountTree.from_rows([[0, 0, 0, 1]], [0, 0, 1, 1], n_outcomes=2)
    >>> LevelShrinkage().rows(tree)[0]
    array([0.5, 0.5])
    """

    def shrinkage(self, tree: CountTree) -> Shrinkage:
        return Shrinkage(_core.level_weights(tree)[tree.level], towards_parent=True)
