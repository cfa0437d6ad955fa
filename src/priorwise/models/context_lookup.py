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
from priorwise.data.tables.label_keys import is_missing
from priorwise.models.given_columns import find_column, read_table
from priorwise.models.rows_behind import average_below, draw_contexts, rows_ending
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

    def _find_context(
        self, context: dict[Hashable, Any]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the node of one context, a mapping to the values of a prefix of `given`.

        And how many of the first values are known; both as arrays of one entry.
        """
        check_is_fitted(self)
        for name in context:
            if name not in self.given_:
                known = ", ".join(repr(known) for known in self.given_)
                raise ValueError(f"context must name columns of given ({known}), got {name!r}")
        path, is_open = [], []
        for name, categories in zip(self.given_, self.categories_, strict=False):
            if name not in context:
                break
            label = context.pop(name)
            path.append([categories.code(label)])
            is_open.append(path[-1][0] < 0 and is_missing(label))
        if context:
            later, earlier = next(iter(context)), self.given_[len(path)]
            raise ValueError(
                f"context must name a prefix of given: {later!r} needs {earlier!r} too"
            )
        n_known = np.array([[*is_open, True].index(True)], dtype=np.int32)
        return self.count_tree_.find(path, n_rows=1), n_known

    def _find(self, frame: Any) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the deepest node of the context of each row, and how many values it knows.

        Those are the values before the first one that is missing where training had none missing.
        """
        codes, is_open = self._encode(frame)
        n_rows = len(codes[0]) if codes else len(frame)
        n_known = np.zeros(n_rows, dtype=np.int32)
        for column in range(len(codes), 0, -1):
            n_known = np.where(is_open[column - 1], 0, n_known + 1).astype(np.int32)
        return self.count_tree_.find(codes, n_rows=n_rows), n_known

    def _encode(self, frame: Any) -> tuple[list[NDArray[np.int32]], list[NDArray[np.bool_]]]:
        """Return the codes of the `given` columns, -1 for values never seen, and which are missing.

        A missing value is one of its own, and not missing here, if training had one in the column.
        """
        check_is_fitted(self)
        table, codes, is_open = read_table(frame), [], []
        for name, categories in zip(self.given_, self.categories_, strict=False):
            column = table.nominal(find_column(table, name, "given"))
            codes.append(categories.encode(column))
            is_open.append((column.codes < 0) & (codes[-1] < 0))
        return codes, is_open

    def _by_class(self, numbers: Iterable[Any]) -> dict[Any, Any]:
        """Return one number for each value of the target."""
        result = dict(zip(self.classes_.tolist(), numbers, strict=True))
        if len(result) < len(self.classes_):
            raise ValueError(
                "target has values that are equal in Python, such as True and 1, so a dict cannot "
                "hold both: use predict_proba"
            )
        return result

    def _distribution(
        self, nodes: NDArray[np.int32], n_known: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Return the probabilities of contexts of `n_known` values, by their deepest nodes.

        A context that is cut short has those of its rows: the mean of the contexts below, weighed
        by their rows, where the node itself is a prior. One with a new value has the prior.
        """
        tree, level = self.count_tree_, self.count_tree_.level[nodes]
        proba = self._rows(self.probabilities_, nodes)
        cut = (level == n_known) & (level < tree.depth)
        if self.smoothing_.inner_is_prior and cut.any():
            proba[cut] = average_below(
                tree, self.probabilities_, rows_ending(tree), nodes[cut], rest=self.smoothing_.rest
            )
        if not self.smoothing_.backoff:
            proba[level < n_known] = 1.0 / len(self.classes_)
        return proba

    def _node_distribution(self, nodes: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the probabilities of contexts that end at nodes."""
        return self._distribution(nodes, self.count_tree_.level[nodes])

    def _draw(
        self, nodes: NDArray[np.int32], n_known: NDArray[np.int32], n_draws: int, seed: int
    ) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Return draws of the distributions of distinct contexts, and the place of each context."""
        kinds, place = np.unique([nodes, n_known], axis=1, return_inverse=True)
        draws = draw_contexts(
            self.smoothing_, self.count_tree_, self._distribution(*kinds), *kinds,
            n_draws=n_draws, seed=seed,
        )  # fmt: skip
        return draws, place.ravel()

    def _rows(self, cells: NDArray[np.float64], nodes: NDArray[Any]) -> NDArray[np.float64]:
        return self.count_tree_.rows(cells, nodes, rest=self.smoothing_.rest)
