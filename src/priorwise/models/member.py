"""What a pool asks of its members."""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from priorwise.data.tables import Columns, TableEncoder
from priorwise.models.explanation import Explanation
from priorwise.models.training_table import TrainingTable


class Member(Protocol):
    """A classifier that learns from a table read once for all members of a pool.

    Every classifier of the library is one, by way of `TableClassifier`. A pool also takes any other
    scikit-learn classifier: it is given rows of X instead of tables.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Class labels.
    encoder_ : TableEncoder
        Reads new rows as the rows of training were read.
    oof_proba_ : array of shape (n_rows, n_classes), optional
        Probabilities of the rows of the table by models that have not seen them; NaN for rows
        that every model has seen. A pool fits members without it once for each fold.
    """

    classes_: NDArray[Any]
    encoder_: TableEncoder

    def fit_table(self, table: TrainingTable) -> Self:
        """Learn from a table as it is: it has been read and, by a pool, split into parts."""

    def reads_like(self, encoder: TableEncoder) -> bool:
        """Whether `fit` would read rows as `encoder` does."""

    def predict_columns(self, columns: Columns) -> NDArray[np.float64]:
        """Return the class probabilities of rows that `encoder_` has read."""

    def explain_columns(self, columns: Columns) -> Explanation:
        """Explain the predictions for rows that `encoder_` has read."""
