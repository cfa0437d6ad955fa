"""Features of rows in bins of one byte, as boosting counts them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise import _core

MAX_CUTS = 63
"""Cuts of a numeric feature at most."""


@dataclass(frozen=True, eq=False)
class BoostingBins:
    """Edges of the bins of every feature, learnt from some rows, for the codes of others.

    A number is in bin b if it is at most edge b and above edge b - 1; those above all edges have a
    bin of their own, and so have missing ones, the last. Of a nominal feature edges are codes with
    a bin of their own; all other codes share the last.
    """

    edges: list[NDArray[np.float64]]
    is_nominal: NDArray[np.int32]

    @classmethod
    def choose(cls, columns: Sequence[NDArray[Any]], n_threads: int) -> BoostingBins:
        """Choose edges for columns of numbers or int32 codes; bins have about equally many rows."""
        n_rows = len(columns[0])
        edges = _core.choose_boost_bins(list(columns), n_rows, MAX_CUTS, n_threads)
        is_nominal = [column.dtype == np.int32 for column in columns]
        return cls(edges, np.array(is_nominal, dtype=np.int32))

    def code(self, columns: Sequence[NDArray[Any]]) -> NDArray[np.uint8]:
        """Return the bins of rows, (n_rows, n_features).

        >>> bins = BoostingBins([np.array([0.5, 1.5]), np.array([0.0, 2.0])], np.array([0, 1]))
        >>> number, code = np.array([0.5, 9.0, np.nan]), np.array([2, 0, 1], dtype=np.int32)
        >>> bins.code([number, code]).tolist()
        [[0, 1], [2, 0], [3, 2]]
        """
        result = np.empty((len(columns[0]), len(columns)), dtype=np.uint8)
        for f, (column, edges) in enumerate(zip(columns, self.edges, strict=True)):
            if not self.is_nominal[f]:
                # Missing numbers are behind all others, where one bin more is theirs.
                result[:, f] = np.searchsorted(edges, column) + np.isnan(column)
                continue
            codes = edges.astype(np.intp)
            last = int(codes.max(initial=-1)) + 1
            bin_of = np.full(last + 2, len(codes), dtype=np.uint8)
            bin_of[codes] = np.arange(len(codes))
            # The place behind the last code is that of negative and of larger codes.
            result[:, f] = bin_of[np.clip(column, -1, last)]
        return result
