"""Training rows as codes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from priorwise.counts.draws import Draws, draw_held_back, hash_rows


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
