"""What logistic regressions on tables share: reading, and rows to learn from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from priorwise.data.tables import Columns
from priorwise.models.base import TableClassifier
from priorwise.models.folds import deal_into_folds
from priorwise.models.linear.fold_logistic import N_FOLDS
from priorwise.models.training_table import TrainingTable


@dataclass(frozen=True, eq=False)
class LogisticTable:
    """A training table: its columns, classes and weights, and a source of random numbers."""

    columns: Columns
    n_labels: NDArray[np.int64]
    y: NDArray[np.int32]
    weight: NDArray[np.float64] | None
    generator: np.random.Generator

    def draw(self, max_rows: int) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
        """So many rows at random, or all, and folds for them."""
        drawn = np.arange(len(self.y))
        if len(drawn) > max_rows:
            drawn = np.sort(self.generator.choice(len(drawn), max_rows, replace=False))
        return drawn, deal_into_folds(self.y[drawn], N_FOLDS, self.generator).astype(np.int32)

    def out_of_fold(
        self,
        rows: NDArray[np.intp],
        held_out: NDArray[np.float64],
        of_all: Callable[[], NDArray[np.float64]],
    ) -> NDArray[np.float64]:
        """What is said of the rows drawn, and of the others, which no weights have seen."""
        if len(rows) == len(self.y):
            return held_out
        proba = of_all()
        proba[rows] = held_out
        return proba

    def weights_of(self, rows: NDArray[np.intp]) -> NDArray[np.float64] | None:
        return None if self.weight is None else self.weight[rows]


class BaseLogisticClassifier(TableClassifier):
    """Reading of tables, for logistic regressions."""

    categorical_features: Any
    missing: str
    unseen: str
    random_state: Any

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows X with class labels y."""
        self._check_parameters()
        return self._fit_table(TrainingTable.read_uncut(self, X, y, sample_weight))

    def _check_parameters(self) -> None:
        """Refuse values that make no sense, by name."""

    def _fit_table(self, table: TrainingTable) -> Self:
        """`fit` to a table that has been read."""
        raise NotImplementedError

    def _adopt_table(self, table: TrainingTable) -> LogisticTable:
        """Know the table's features and classes; returns it as regressions want it."""
        self.classes_, self.encoder_ = table.classes, table.encoder
        self._adopt_features(table.encoder)
        n_labels = np.array([len(c.labels) for c in table.encoder.categories_], dtype=np.int64)
        seed = int(check_random_state(self.random_state).randint(2**31))
        generator = np.random.default_rng(seed)
        return LogisticTable(table.columns, n_labels, table.y, table.weight, generator)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities; columns as in `classes_`."""
        check_is_fitted(self)
        return self._predict_columns(self.encoder_.read(X))

    def _predict_columns(self, columns: Columns) -> NDArray[np.float64]:
        """`predict_proba` of rows that the encoder has read."""
        raise NotImplementedError

    def _nominal_first(self) -> NDArray[np.intp]:
        """The features' places in the order a design has them."""
        return np.argsort(~self.encoder_.is_nominal_, kind="stable")
