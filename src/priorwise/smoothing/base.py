"""The contract of every smoother, and the one function that calls it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from priorwise import _core
from priorwise.counts import CountTree


@dataclass(frozen=True)
class Shrinkage:
    """p = (n + w base) / (N + w): a weight w per node, base the parent's row or uniform."""

    weight: NDArray[np.float64]
    towards_parent: bool

    def apply(self, tree: CountTree, *, copy_empty: bool = True) -> NDArray[np.float64]:
        """Probabilities of every cell; a node without rows copies its parent."""
        return _core.shrink(tree, self.weight, self.towards_parent, copy_empty)


class Smoother(BaseEstimator):
    """Turns a tree of counts into a tree of probabilities.

    `smooth` returns one probability per cell of the tree: for every node, inner nodes too, a
    row that is positive (but for MLE) and sums to one. A node without rows copies its parent.
    The answer depends on the tree and the seed alone, not on threads.

    A smoother whose parameters are to be chosen from data lists the settings to choose from
    in `candidates`; the models choose among them on rows the counts have not seen.
    """

    rest: str = "parent"
    """How a sparse row shares what its listed outcomes leave: "parent" or "uniform"."""
    backoff: bool = True
    """Whether a context without rows copies its parent; else it is uniform."""

    cheap: bool = False
    """Whether one pass over the cells is all: threads would cost more than they save."""

    def smooth(self, tree: CountTree, seed: int = 0) -> NDArray[np.float64]:
        raise NotImplementedError

    def candidates(self) -> list[Smoother]:
        """The settings to choose from on held-back rows; one, the smoother itself, by default."""
        return [self]

    def shrinkage(self, tree: CountTree) -> Shrinkage:
        """A weight per node for estimates that leave a row out; 1 towards the parent by default.

        Leave-one-out selection needs estimates that are cheap to redo without a row, so it
        uses this additive form of the smoother: p = (n + w base) / (N + w) down the path.
        """
        return Shrinkage(np.ones(tree.n_nodes), towards_parent=True)

    def path_shares(self, tree: CountTree, node: int) -> NDArray[np.float64]:
        """How much of a node's estimate comes from where: uniform, root, ..., the node itself.

        The shares times the frequencies of those nodes add up to the estimate. By default they
        are those of the additive form, `shrinkage`: near the truth only, for a smoother that
        borrows its form as HDP does.
        """
        path = path_to(tree, node)
        form = self.shrinkage(tree)
        shares, left = np.zeros(len(path) + 1), 1.0
        for i in range(len(path) - 1, -1, -1):
            total, weight = tree.totals[path[i]], form.weight[path[i]]
            own = total / (total + weight) if total > 0.0 else 0.0
            shares[i + 1] = left * own
            left -= shares[i + 1]
            if total > 0.0 and not form.towards_parent:
                break
        shares[0] = left
        return shares


def path_to(tree: CountTree, node: int) -> list[int]:
    """The nodes from the root down to a node.

    >>> path_to(CountTree.from_rows([[0, 1], [0, 0]], [0, 1], n_outcomes=2), 4)
    [0, 2, 4]
    """
    path = [node]
    while tree.parent[path[-1]] >= 0:
        path.append(int(tree.parent[path[-1]]))
    return path[::-1]


Spread = Callable[
    [Callable[[CountTree, int], NDArray[np.float64]], Sequence[CountTree], Sequence[int]],
    list[NDArray[np.float64]],
]
_SPREAD: ContextVar[Spread | None] = ContextVar("spread", default=None)


def smooth_trees(
    trees: Sequence[CountTree], smoother: Smoother, *, seed: int = 0, n_jobs: int = 1
) -> list[NDArray[np.float64]]:
    """Smooth each tree with a seed of its own; threads work on trees."""
    seeds = [int(s) for s in np.random.SeedSequence(seed).generate_state(len(trees), np.uint64)]
    spread = _SPREAD.get()
    if spread is not None and len(trees) > 1 and not smoother.cheap:
        return spread(smoother.smooth, trees, seeds)
    if n_jobs == 1 or len(trees) < 2 or smoother.cheap:
        return [smoother.smooth(tree, s) for tree, s in zip(trees, seeds, strict=True)]
    with ThreadPoolExecutor(n_jobs) as pool:
        return list(pool.map(smoother.smooth, trees, seeds))


@contextmanager
def spread_smoothing(spread: Spread) -> Iterator[None]:
    """Within, trees are smoothed by `spread(smooth, trees, seeds)`, perhaps on other machines."""
    token = _SPREAD.set(spread)
    try:
        yield
    finally:
        _SPREAD.reset(token)
