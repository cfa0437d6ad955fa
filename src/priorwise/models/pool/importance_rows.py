"""The training rows that the importances of features are measured on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from priorwise.data.tables import Columns
from priorwise.models.training_table import TrainingTable

MAX_ROWS, MAX_CONTRIBUTIONS = 200, 1_000_000
"""Importances are measured on at most so many rows, and rows times features times classes."""


@dataclass(frozen=True, eq=False)
class ImportanceRows:
    """Some training rows and their weights."""

    columns: Columns
    weight: NDArray[np.float64] | None

    @classmethod
    def draw(cls, table: TrainingTable, *, keep_given: bool) -> Self:
        """Return rows of a table at even distances, if asked for with those that were given."""
        per_row = table.n_classes * table.encoder.n_features_in_
        n_rows = min(table.n_rows, MAX_ROWS, max(1, MAX_CONTRIBUTIONS // per_row))
        rows = table.take(np.linspace(0, table.n_rows - 1, n_rows).astype(np.intp))
        columns = replace(rows.columns, X=rows.rows_given()) if keep_given else rows.columns
        return cls(columns, rows.weight)

    def average(self, contributions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the share of each feature in the absolute contributions to these rows."""
        sizes = np.abs(contributions).mean(axis=2)
        mean = np.average(sizes, axis=0, weights=self.weight)
        return np.asarray(mean / (mean.sum() or 1.0))
