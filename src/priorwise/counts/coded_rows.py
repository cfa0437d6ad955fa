"""Training rows as codes, and the information that their features hold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priorwise import _core
from priorwise.counts.draws import Draws, draw_held_back, hash_rows
from priorwise.counts.pairs import (
    Information,
    PairInformation,
    measure_information,
    split_weights,
)


@dataclass(frozen=True, eq=False)
class CodedRows:
    """Training rows as codes: what networks count."""

    columns: list[NDArray[np.int32]]  # one contiguous array of codes per feature
    arities: NDArray[np.int32]  # number of codes of each feature
    y: NDArray[np.int32]  # class codes
    n_classes: int
    weight: NDArray[np.float64] | None = None  # None if all are one

    @property
    def n_features(self) -> int:
        return len(self.columns)

    @property
    def n_rows(self) -> int:
        return len(self.y)

    @property
    def weights(self) -> NDArray[np.float64]:
        """Weights of the rows, ones if there are none."""
        return np.ones(self.n_rows) if self.weight is None else self.weight

    def take(self, rows: NDArray[np.intp]) -> CodedRows:
        """Return some of the rows."""
        return replace(
            self,
            columns=[column[rows] for column in self.columns],
            y=self.y[rows],
            weight=None if self.weight is None else self.weight[rows],
        )

    def order_by_content(self) -> NDArray[np.intp]:
        """Return the rows in an order that does not depend on the order given (`Draws`)."""
        return Draws.order(hash_rows(self.columns, self.y), self.weight).row

    def hold_back(self, seed: int) -> tuple[CodedRows, CodedRows] | None:
        """Return rows to learn from, and a tenth of the rows to judge what was learnt.

        The order of the rows does not matter. None if there is only one row.
        """
        if self.n_rows < 2:
            return None
        order, held = self.order_by_content(), draw_held_back(self.n_rows, seed)
        return self.take(np.delete(order, held)), self.take(order[held])


MAX_KEPT_FEATURES = 2_000
"""With more features than this or than rows, the information of pairs is not kept."""


class WideInformation(PairInformation):
    """Information of features with the class; that of pairs is computed when it is needed.

    Memory is linear in the number of features. The structures are those that
    :func:`measure_information` leads to, since the information of a pair has the same bits. The
    `weight` replaces the weights of the rows.
    """

    def __init__(self, rows: CodedRows, weight: ArrayLike | None, *, n_threads: int = 1) -> None:
        whole, real = split_weights(weight)
        columns, y = np.asarray(rows.columns, dtype=np.int32), rows.y
        if whole is not None:
            # Rows that a bootstrap has not drawn would cost time for every pair.
            kept = np.flatnonzero(whole)
            columns, y, whole = columns[:, kept], y[kept], whole[kept]
        self.rows = np.ascontiguousarray(columns), y, rows.arities, rows.n_classes
        self.weight = real if whole is None else whole
        self.n_threads = n_threads
        self.pairs = _core.WidePairs(
            self.rows[0], rows.arities, y, rows.n_classes, whole, real, n_threads
        )
        self.mutual = self.pairs.mutual
        self.n_seen = self.pairs.n_seen.reshape(-1, rows.n_classes)
        self.total = float(len(y)) if self.weight is None else float(self.weight.sum())

    def conditional_with(self, feature: int, others: NDArray[np.int64]) -> NDArray[np.float64]:
        return _core.measure_pairs(self.pairs, feature, others, self.n_threads)

    @cached_property
    def conditional(self) -> NDArray[np.float64]:
        """I(X_i; X_j | Y) of all pairs at once, for a structure that needs them all."""
        return measure_information(*self.rows, self.weight, n_threads=self.n_threads).conditional


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
        return WideInformation(rows, weight, n_threads=n_threads)
    return measure_information(
        np.asarray(rows.columns), rows.y, rows.arities, rows.n_classes, weight, n_threads=n_threads
    )
