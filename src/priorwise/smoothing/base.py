"""The contract of every smoother, and the one function that calls it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from priorwise import _core
from priorwise.common.docstrings import describe, hook
from priorwise.common.estimator import Estimator
from priorwise.common.registered import is_of_library, register
from priorwise.common.runtime import map_in_threads
from priorwise.counts import CountTree
from priorwise.counts.tree import check_cells

TREE = """
Parameters
----------
tree : CountTree
    The counts.
node : int
    Number of the node.
n_samples : int, default=1000
    Number of draws.
seed : int, default=0
    Seed of smoothers that sample; others ignore it.
"""
"""Descriptions of the parameters that methods of smoothers share."""


@dataclass(frozen=True)
class Shrinkage:
    """The additive form of a smoother, p = (n + w base) / (N + w)."""

    weight: NDArray[np.float64]  # the weight w of each node, in rows
    towards_parent: bool  # whether the base of a node is its parent's row; otherwise it is uniform

    def apply(self, tree: CountTree) -> NDArray[np.float64]:
        """Return the probability of every cell of a tree; a node without rows copies its parent."""
        return _core.shrink(tree, self.weight, self.towards_parent, True)


class Smoother(Estimator):
    """Base of the smoothers, which turn a tree of counts into a tree of probabilities.

    A subclass writes `shrinkage`, if it has an additive form, or else `smooth`. A smoother whose
    parameters are to be chosen from data lists the settings to choose from in `candidates`; models
    choose among them on rows that the counts have not seen.

    Examples
    --------
    >>> from priorwise.smoothing import MEstimate
    >>> MEstimate(m="cv").candidates()[:2]
    [MEstimate(m=0.0), MEstimate(m=0.05)]
    """

    rest: str = "parent"
    """How a row of a sparse tree shares what its listed outcomes leave: in proportion to the row of
    the "parent", or "uniform"."""

    backoff: bool = True
    """Whether a context without rows copies its parent. Otherwise it is uniform."""

    inner_is_prior: bool = False
    """Whether the row of an inner node is the prior of nodes below it, and no estimate of the rows
    that the node has."""

    cheap: bool = False
    """Whether smoothing is one pass over the cells, too short to start threads for."""

    by_name: ClassVar[dict[str, type[Smoother]]] = {}
    """The smoothers that a model finds by a name, such as "hdp"."""

    def __init_subclass__(cls, name: str = "", **options: Any) -> None:
        if name:
            register(Smoother.by_name, name, cls, what="smoother name")
        super().__init_subclass__(**options)

    @describe(TREE)
    def smooth(self, tree: CountTree, seed: int = 0) -> NDArray[np.float64]:
        """Return one probability per cell of the tree.

        Every node, inner nodes too, has a row of probabilities that sums to one and is positive
        (MLE may answer zero). A node without rows copies its parent. The result depends on the
        tree and the seed alone, not on threads.

        Returns
        -------
        array of shape (n_cells,)
            The probabilities.
        """
        form = self.shrinkage(tree)
        return _core.shrink(tree, form.weight, form.towards_parent, self.backoff)

    @describe(TREE)
    def rows(
        self, tree: CountTree, nodes: ArrayLike | None = None, *, seed: int = 0
    ) -> NDArray[np.float64]:
        """Return the probabilities of all outcomes at some or all nodes of a tree.

        A node of a tree with many outcomes has cells for those alone that were seen below it; here
        the others get what `smooth` leaves for them, shared as `rest` says.

        Parameters
        ----------
        nodes : array-like of int or None, default=None
            Numbers of the nodes; None is all.

        Returns
        -------
        array of shape (n_nodes, n_outcomes)
            Rows that sum to one.
        """
        return tree.rows(checked_smooth(self)(tree, seed), nodes, rest=self.rest)

    def candidates(self) -> list[Smoother]:
        """Return the settings that a model chooses from on held-out rows.

        Returns
        -------
        list of Smoother
            The smoother itself alone, unless a parameter is "cv".
        """
        return [self]

    @describe(TREE)
    def shrinkage(self, tree: CountTree) -> Shrinkage:
        """Return the additive form of the smoother for estimates that leave a row out.

        Leave-one-out selection needs estimates that are cheap to redo without a row. It uses
        p = (n + w base) / (N + w) down the path, by default with weight 1 towards the parent.

        Returns
        -------
        Shrinkage
            A weight for each node, and its base.
        """
        return Shrinkage(np.ones(tree.n_nodes), towards_parent=True)

    @hook
    def own_shares(self, tree: CountTree) -> NDArray[np.float64]:
        """Return how much of each node's estimate comes from its own rows, as `path_shares` does.

        A share l of the estimate from N rows leaves as much to others as N (1 - l) / l rows say.
        """
        return share_rows(tree.totals, self.shrinkage(tree).weight)

    @describe(TREE)
    def path_shares(self, tree: CountTree, node: int) -> NDArray[np.float64]:
        """Return how much of a node's estimate comes from each node on its path.

        The shares times the frequencies of those nodes add up to the estimate. By default they
        are those of the additive form, `shrinkage`, which is an approximation for smoothers such
        as HDP that have no additive form of their own.

        Returns
        -------
        array of shape (level of the node + 2,)
            The shares of the uniform distribution, of the root, and so on to the node itself.
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


class TunedSmoother(Smoother):
    """A smoother with one parameter that is a number, or "cv": one of `grid` on held-out rows."""

    tuned: str  # name of the parameter
    rule: str  # what the number must be
    grid: tuple[float, ...]

    def candidates(self) -> list[Smoother]:
        value = getattr(self, self.tuned)
        if not isinstance(value, str):
            return [self]
        if value != "cv":
            raise ValueError(f"{self.tuned} must be a number {self.rule} or 'cv', got {value!r}")
        return [clone(self).set_params(**{self.tuned: number}) for number in self.grid]

    def _tuned_number(self) -> float:
        value = getattr(self, self.tuned)
        if isinstance(value, str):
            raise ValueError(
                f"{self.tuned} must be a number to smooth a tree, got {value!r}: "
                "'cv' is chosen by a model, on rows the counts have not seen"
            )
        return value


def share_rows(rows: NDArray[np.float64], others: Any) -> NDArray[np.float64]:
    """Return the share of rows among them and others; zero if there are none.

    >>> share_rows(np.array([3.0, 0.0]), 1.0)
    array([0.75, 0.  ])
    """
    return np.divide(rows, rows + others, out=np.zeros_like(rows), where=rows > 0.0)


def sum_above(tree: CountTree, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of the numbers of all ancestors of each node.

    >>> tree = CountTree.from_rows([[0, 1], [0, 0]], [0, 1], n_outcomes=2)
    >>> sum_above(tree, np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    array([0., 1., 1., 3., 4.])
    """
    sums = np.zeros(tree.n_nodes)
    for first, last in pairwise(tree.level_start[1:]):
        parent = tree.parent[first:last]
        sums[first:last] = sums[parent] + numbers[parent]
    return sums


def path_to(tree: CountTree, node: int) -> list[int]:
    """Return the nodes from the root down to a node.

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
    """Smooth each tree with a seed of its own, made from `seed`; threads work on different trees.

    The parameters of the smoother must be numbers. The result does not depend on `n_jobs`.
    """
    seeds = [int(s) for s in np.random.SeedSequence(seed).generate_state(len(trees), np.uint64)]
    spread, smooth = _SPREAD.get(), checked_smooth(smoother)
    if spread is not None and len(trees) > 1 and not smoother.cheap:
        return spread(smooth, trees, seeds)
    return map_in_threads(smooth, trees, seeds, n_jobs=1 if smoother.cheap else n_jobs)


def checked_smooth(smoother: Smoother) -> Callable[..., NDArray[np.float64]]:
    """Return the method `smooth` as all models call it.

    What smoothers that are not of this library return is checked, in one pass over the cells.
    """
    if is_of_library(type(smoother)):
        return smoother.smooth
    return partial(_smooth_and_check, smoother)


def _smooth_and_check(smoother: Smoother, tree: CountTree, seed: int = 0) -> NDArray[np.float64]:
    cells = np.asarray(smoother.smooth(tree, seed), dtype=np.float64)
    try:
        check_cells(tree, cells)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"smoothing must give each context probabilities that sum to one, "
            f"{type(smoother).__name__} does not: {error}"
        ) from error
    return cells


@contextmanager
def spread_smoothing(spread: Spread) -> Iterator[None]:
    """Smooth trees by `spread(smooth, trees, seeds)`, perhaps on other machines.

    Applies to calls of `smooth_trees` within the context.
    """
    token = _SPREAD.set(spread)
    try:
        yield
    finally:
        _SPREAD.reset(token)


def as_smoother(smoothing: str | Smoother) -> Smoother:
    """Return the smoother of that name, or the smoother itself."""
    check_smoothing(smoothing)
    return Smoother.by_name[smoothing]() if isinstance(smoothing, str) else smoothing


def check_smoothing(smoothing: Any) -> None:
    """Raise ValueError unless `smoothing` is a smoother or the name of one."""
    is_name = isinstance(smoothing, str) and smoothing in Smoother.by_name
    if not is_name and not isinstance(smoothing, Smoother):
        names = ", ".join(map(repr, Smoother.by_name))
        raise ValueError(f"smoothing must be one of {names} or a smoother, got {smoothing!r}")
