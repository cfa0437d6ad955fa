"""Information of wide tables, where that of all pairs of features is not kept."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priorwise import _core
from priorwise.counts.coded_rows import CodedRows
from priorwise.counts.pairs import Information, measure_information, split_weights

MAX_KEPT_FEATURES = 2_000
"""With more features than this or than rows, the information of pairs is not kept."""


@dataclass(frozen=True, eq=False)
class WideInformation:
    """Information of features with the class; that of pairs is computed when it is needed.

    Memory is linear in the number of features. The structures are those that
    :func:`measure_information` leads to, since the information of a pair has the same bits.
    """

    mutual: NDArray[np.float64]  # I(X_i; Y)
    n_seen: NDArray[np.int64]  # as in `Information`
    arguments: tuple[Any, Any, Any, int, Any, Any]  # the rows, as the core takes them
    n_threads: int

    @classmethod
    def measure(
        cls, rows: CodedRows, weight: ArrayLike | None, *, n_threads: int = 1
    ) -> WideInformation:
        """Measure I(X_i; Y); `weight` replaces the weights of the rows."""
        whole, real = split_weights(weight)
        columns, y = np.asarray(rows.columns), rows.y
        if whole is not None:
            # Rows that a bootstrap has not drawn would cost time for every pair.
            kept = np.flatnonzero(whole)
            columns, y, whole = columns[:, kept], y[kept], whole[kept]
        arguments = (
            np.ascontiguousarray(columns, dtype=np.int32),
            np.ascontiguousarray(rows.arities, dtype=np.int32),
            np.ascontiguousarray(y, dtype=np.int32),
            rows.n_classes,
            whole,
            real,
        )
        mutual, n_seen = _core.measure_features(*arguments, n_threads)
        return cls(mutual, n_seen.reshape(-1, rows.n_classes), arguments, n_threads)

    @cached_property
    def conditional(self) -> NDArray[np.float64]:
        """I(X_i; X_j | Y) of all pairs at once, for a structure that needs them all."""
        codes, arities, y, n_classes, whole, real = self.arguments
        weight = real if whole is None else whole
        kept = measure_information(codes, y, arities, n_classes, weight, n_threads=self.n_threads)
        return kept.conditional

    def best_parents(
        self, order: NDArray[np.int64], max_parents: int, *, subtract_bias: bool
    ) -> tuple[tuple[int, ...], ...]:
        """Return the parents that `Information.best_parents` does."""
        n = len(order)
        codes, arities, y, n_classes, whole, real = self.arguments
        # The lower feature of a pair stays the lower one, so that rounding is the same.
        kept = np.sort(order)
        chosen = _core.find_best_parents(
            codes[kept], arities[kept], y, n_classes, whole, real, np.searchsorted(kept, order),
            min(max_parents, n), subtract_bias, self.n_threads,
        )  # fmt: skip
        parents: list[tuple[int, ...]] = [()] * len(arities)
        for feature, own in zip(kept.tolist(), chosen, strict=True):
            parents[feature] = tuple(kept[own[own >= 0]].tolist())
        return tuple(parents)

    def spanning_tree(self, root: int) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
        """Return the order and the parents that `Information.spanning_tree` does."""
        order, parent = _core.find_spanning_tree(*self.arguments, root, self.n_threads)
        parents = tuple(() if j < 0 else (j,) for j in parent.tolist())
        return tuple(order.tolist()), parents


def measure_rows(
    rows: CodedRows,
    weight: ArrayLike | None,
    *,
    max_features: int | None = None,
    n_threads: int = 1,
) -> Information | WideInformation:
    """Measure the information in coded rows; `weight` replaces their weights.

    That of pairs is kept if there are at most `MAX_KEPT_FEATURES` features, no more than rows, and
    no more than the `max_features` that will be used.
    """
    max_kept = min(MAX_KEPT_FEATURES, rows.n_rows, max_features or MAX_KEPT_FEATURES)
    if rows.n_features > max_kept:
        return WideInformation.measure(rows, weight, n_threads=n_threads)
    return measure_information(
        np.asarray(rows.columns), rows.y, rows.arities, rows.n_classes, weight, n_threads=n_threads
    )
