"""A training table, read once for all that learn from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from priorwise.common.validation import check_weight
from priorwise.data.tables import Columns, TableEncoder, encode_labels


class WholeRange(BaseEstimator):
    """A discretiser that cuts nothing: for models that take numbers as they are."""

    def fit(self, X: NDArray[np.float64], y: Any = None, sample_weight: Any = None) -> Self:
        self.cut_points_ = [np.empty(0) for _ in range(X.shape[1])]
        return self


@dataclass(frozen=True, eq=False)
class ReadTable:
    """Columns with labels as codes, classes as codes, weights; and the encoder that read them."""

    encoder: TableEncoder
    columns: Columns
    y: NDArray[np.int32]
    classes: NDArray[Any]
    weight: NDArray[np.float64] | None

    @classmethod
    def of(cls, model: Any, X: Any, y: Any, sample_weight: Any, min_classes: int = 2) -> ReadTable:
        """Read as the parameters of a model say, numbers as they are."""
        encoder = TableEncoder(
            categorical_features=model.categorical_features,
            missing=model.missing,
            unseen=model.unseen,
            discretizer=WholeRange(),
            n_jobs=model.n_jobs,
        )
        return cls.read(encoder, X, y, sample_weight, min_classes)

    @classmethod
    def read(
        cls, encoder: TableEncoder, X: Any, y: Any, sample_weight: Any, min_classes: int = 2
    ) -> ReadTable:
        """Fit the encoder to the table, and read it."""
        codes, classes = encode_labels(y, min_classes=min_classes)
        weight = check_weight(sample_weight, codes)
        return cls(encoder, encoder.fit_read(X, codes, weight), codes, classes, weight)
