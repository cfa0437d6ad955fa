"""Tables as the columns a tree splits: numbers as they are, labels as codes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from priorwise.data.tables import Columns
from priorwise.models.base import TableClassifier
from priorwise.models.training_table import TrainingTable
from priorwise.structure.trees import SortedColumns


@dataclass(frozen=True, eq=False)
class TreeRows:
    """Training rows: columns in the order of the features, classes and weights."""

    columns: list[NDArray[Any]]
    y: NDArray[np.int32]
    n_classes: int
    weight: NDArray[np.float64] | None
    n_jobs: int = 1

    @property
    def n_rows(self) -> int:
        return len(self.y)

    @cached_property
    def table(self) -> SortedColumns:
        """The rows sorted by every feature, once for all trees that grow on them."""
        return SortedColumns.sort(self.columns, self.n_rows, self.n_jobs)

    @property
    def weights(self) -> NDArray[np.float64]:
        return np.ones(self.n_rows) if self.weight is None else self.weight


class BaseTreeClassifier(TableClassifier):
    """Reading of tables, for classifiers made of trees."""

    categorical_features: Any
    missing: str
    unseen: str

    def _adopt_table(self, table: TrainingTable) -> TreeRows:
        """Know the table's features and classes; returns its rows as trees want them."""
        self.classes_, self.encoder_ = table.classes, table.encoder
        self._adopt_features(table.encoder)
        columns = self._join(table.columns)
        if table.weight is not None:
            # Rows of weight zero bring no labels; they grow nothing, so any code will do.
            columns = [np.maximum(c, 0) if c.dtype == np.int32 else c for c in columns]
        return TreeRows(columns, table.y, len(table.classes), table.weight, self._n_threads)

    def _read(self, X: Any) -> list[NDArray[Any]]:
        """The columns of new rows; those of a plain matrix of numbers are not copied."""
        check_is_fitted(self)
        plain = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype == np.float64 and len(X) > 0
        if plain and self.missing == "value" and self.unseen == "backoff":
            nominal = self.encoder_.is_nominal_
            # A sum is finite unless a number is not, and far cheaper to look at.
            if not nominal.any() and (np.isfinite(X.sum()) or not np.isinf(X).any()):
                validate_data(self, X, reset=False, skip_check_array=True)
                return list(X.T)
        return self._join(self.encoder_.read(X))

    def _join(self, columns: Columns) -> list[NDArray[Any]]:
        codes, values = iter(columns.nominal_codes), iter(columns.values)
        return [next(codes) if nominal else next(values) for nominal in self.encoder_.is_nominal_]

    def _feature_name(self, feature: int) -> str:
        names = getattr(self, "feature_names_in_", None)
        return f"x{feature}" if names is None else str(names[feature])

    def _labels(self, feature: int) -> list[Any]:
        """The values the codes of a nominal feature stand for; None is missing."""
        place = int(self.encoder_.is_nominal_[:feature].sum())
        return list(self.encoder_.categories_[place].labels)
