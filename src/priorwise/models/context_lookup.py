"""Contexts of a fitted table: where they are in its tree, and their distributions."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from priorwise.common.estimator import Estimator
from priorwise.counts import CountTree
from priorwise.data.tables import Categories
from priorwise.models.given_columns import find_column, read_table
from priorwise.models.rows_behind import draw_contexts
from priorwise.smoothing import Smoother


class ContextLookup(Estimator):
    """A tree of counts with its probabilities, in which contexts are looked up.

    `given_` are the columns of its levels; `categories_` are their labels, and last those of the
    target.
    """

    classes_: NDArray[Any]
    count_tree_: CountTree
    smoothing_: Smoother
    probabilities_: NDArray[np.float64]
    given_: list[Hashable]
    categories_: list[Categories]

    def _find_context(self, context: dict[Hashable, Any]) -> NDArray[np.int32]:
        """Return the node of one context, given by the values of a prefix of `given`."""
        check_is_fitted(self)
        for name in context:
            if name not in self.given_:
                known = ", ".join(repr(known) for known in self.given_)
                raise ValueError(f"context must name columns of given ({known}), got {name!r}")
        path = []
        for name, categories in zip(self.given_, self.categories_, strict=False):
            if name not in context:
                break
            path.append([categories.code(context.pop(name))])
        if context:
            later, earlier = next(iter(context)), self.given_[len(path)]
            raise ValueError(
                f"context must name a prefix of given: {later!r} needs {earlier!r} too"
            )
        return self.count_tree_.find(path, n_rows=1)

    def _find(self, frame: Any) -> NDArray[np.int32]:
        """Return the deepest node of the context of each row."""
        path = self._encode(frame)
        return self.count_tree_.find(path, n_rows=len(path[0]) if path else len(frame))

    def _encode(self, frame: Any) -> list[NDArray[np.int32]]:
        """Return the codes of the `given` columns, -1 for values never seen."""
        check_is_fitted(self)
        table = read_table(frame)
        return [
            categories.encode(table.nominal(find_column(table, name, "given")))
            for name, categories in zip(self.given_, self.categories_, strict=False)
        ]

    def _by_class(self, numbers: Iterable[Any]) -> dict[Any, Any]:
        """Return one number for each value of the target."""
        result = dict(zip(self.classes_.tolist(), numbers, strict=True))
        if len(result) < len(self.classes_):
            raise ValueError(
                "target has values that are equal in Python, such as True and 1, so a dict cannot "
                "hold both: use predict_proba"
            )
        return result

    def _distribution(self, nodes: NDArray[Any], n_given: int) -> NDArray[np.float64]:
        """Return the probabilities of contexts of `n_given` values, by their deepest nodes."""
        proba = self._rows(self.probabilities_, nodes)
        if not self.smoothing_.backoff:
            proba[self.count_tree_.level[nodes] < n_given] = 1.0 / len(self.classes_)
        return proba

    def _draw(
        self, nodes: NDArray[np.int32], n_given: int, n_draws: int, seed: int
    ) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Return draws of the distributions of distinct nodes, and the place of each node."""
        distinct, place = np.unique(nodes, return_inverse=True)
        draws = draw_contexts(
            self.smoothing_, self.count_tree_, self.probabilities_, distinct,
            n_given=n_given, n_draws=n_draws, seed=seed,
        )  # fmt: skip
        return draws, place

    def _rows(self, cells: NDArray[np.float64], nodes: NDArray[Any]) -> NDArray[np.float64]:
        return self.count_tree_.rows(cells, nodes, rest=self.smoothing_.rest)
