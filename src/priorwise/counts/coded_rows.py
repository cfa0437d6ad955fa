"""Training rows as codes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priorwise.counts.pairs import Information, measure_information


@dataclass(frozen=True)
class CodedRows:
    """Training rows as codes: one contiguous column per feature, class codes, and weights."""

    columns: list[NDArray[np.int32]]
    arities: NDArray[np.int32]
    y: NDArray[np.int32]
    n_classes: int
    weight: NDArray[np.float64] | None = None

    @property
    def n_features(self) -> int:
        return len(self.columns)

    @property
    def n_rows(self) -> int:
        return len(self.y)

    def measure(self, weight: NDArray[np.float64] | None = None, n_jobs: int = 1) -> Information:
        """Mutual information of the features with the class and each other, in nats."""
        return measure_information(
            np.asarray(self.columns), self.y, self.arities, self.n_classes,
            self.weight if weight is None else weight, n_threads=n_jobs,
        )  # fmt: skip

    def take(self, rows: NDArray[np.intp]) -> CodedRows:
        return CodedRows(
            [column[rows] for column in self.columns],
            self.arities,
            self.y[rows],
            self.n_classes,
            None if self.weight is None else self.weight[rows],
        )
