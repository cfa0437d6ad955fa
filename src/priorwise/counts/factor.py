"""One factor p(x | class, parents) of a network, ready to predict."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.counts.tree import CountTree


@dataclass(frozen=True, eq=False)
class Factor:
    """A smoothed count tree whose levels are the class and the parents of one feature.

    For prediction the subtrees of the classes are laid over each other: a *context* stands for
    the same parent values under every class and knows, for each class, the deepest tree node on
    that path. One walk per row then answers for all classes.

    Attributes
    ----------
    column, path : int, tuple of int
        The feature and its parents, most influential first.
    tree : CountTree
    log_p : array, one log probability per cell of the tree
    context_value, context_child_start, context_node : the index of contexts
        A node of -1 is a context without rows that is uniform instead of backing off.
    log_rest : array
        For sparse trees, what outcomes a node does not list get relative to their base: the
        parent's row if `rest_towards_parent`, else the uniform distribution. Empty if dense.
    """

    column: int
    path: tuple[int, ...]
    tree: CountTree
    log_p: NDArray[np.float64]
    context_value: NDArray[np.int32]
    context_child_start: NDArray[np.int32]
    context_node: NDArray[np.int32]
    log_rest: NDArray[np.float64]
    rest_towards_parent: bool

    @classmethod
    def build(
        cls,
        column: int,
        path: tuple[int, ...],
        tree: CountTree,
        probabilities: NDArray[np.float64],
        rest: str,
        n_classes: int,
        backoff: bool = True,
    ) -> Factor:
        value, child_start, node = _core.index_contexts(tree, n_classes)
        if not backoff:
            node = np.where(tree.level[node] == tree.depth, node, np.int32(-1))
        towards_parent = rest == "parent"
        log_rest = np.empty(0)
        if not tree.is_dense:
            log_rest = _core.log_rest_factors(tree, probabilities, towards_parent)
        return cls(
            column,
            path,
            tree,
            _log(probabilities),
            value,
            child_start,
            node,
            log_rest,
            towards_parent,
        )

    @property
    def n_contexts(self) -> int:
        return len(self.context_value)

    def find_nodes(self, columns: list[NDArray[np.int32]], n_jobs: int = 1) -> NDArray[np.int32]:
        """The tree node that answers each row for each class, shape (rows, classes)."""
        path = [columns[parent] for parent in self.path]
        context = _core.find_deepest_nodes(
            self.context_value, self.context_child_start, path, len(columns[0]), n_jobs
        )
        return self.context_node.reshape(self.n_contexts, -1)[context]


def _log(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    if probabilities.min(initial=1.0) > 0.0:
        return np.asarray(np.log(probabilities))
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(probabilities))
