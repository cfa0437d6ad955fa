"""Frames of mixed columns as numbers, for models that accept only numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from priorwise.common.estimator import Estimator
from priorwise.common.stored.checks import check_fitted, check_numbers
from priorwise.common.validation import check_choice
from priorwise.data.cuts.names import WholeRange
from priorwise.data.encoding.encoder import TableEncoder


class FrameEncoder(TransformerMixin, Estimator):
    """Turn a frame or an array of objects into a matrix of floats.

    Columns are read as the classifiers read them (`TableEncoder`), but texts are labels. Missing
    numbers are replaced by the mean of the column in training, or by zero if it has no numbers.
    Missing is one of the values of a nominal column.

    Parameters
    ----------
    nominal : {"one-hot", "ordinal"}
        What a nominal column becomes: one column of zeros and ones for each value that training
        had, or one column of the positions of these values in sorted order. A value that training
        did not have is all zeros, or -1.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"size": [1.0, None, 3.0], "colour": ["red", "blue", None]})
    >>> FrameEncoder().fit_transform(frame).tolist()
    [[1.0, 0.0, 1.0, 0.0], [2.0, 1.0, 0.0, 0.0], [3.0, 0.0, 0.0, 1.0]]
    """

    def __init__(self, nominal: str = "one-hot"):
        self.nominal = nominal

    learnt: ClassVar[Mapping[str, Any]] = {"encoder_": TableEncoder, "means_": list}

    def fit(self, X: Any, y: Any = None) -> FrameEncoder:
        """Learn the values of each column.

        Parameters
        ----------
        X : frame or array of shape (n_rows, n_features)
            Rows to learn from.
        y : None
            Ignored.

        Returns
        -------
        FrameEncoder
            The fitted encoder.
        """
        check_choice("nominal", self.nominal, ("one-hot", "ordinal"))
        encoder = TableEncoder(discretizer=WholeRange(), text_features=None)
        values = encoder.fit_read(X).values
        known = [column[~np.isnan(column)] for column in values]
        self.means_ = [float(column.mean()) if len(column) else 0.0 for column in known]
        self.encoder_ = encoder
        return self

    @property
    def n_features_in_(self) -> int:
        """Number of columns of training."""
        return int(self.encoder_.n_features_in_)

    def check_learnt(self) -> None:
        check_fitted(self, *self.learnt)
        means = np.array(self.means_, dtype=np.float64)
        check_numbers("means_", means, len(self.encoder_.cut_points_))

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Turn rows into numbers.

        Parameters
        ----------
        X : frame or array of shape (n_rows, n_features)
            Rows with the columns of training.

        Returns
        -------
        array of shape (n_rows, n_columns)
            The numbers.
        """
        check_is_fitted(self)
        read = self.encoder_.read(X, self)
        labels, means = iter(self.encoder_.categories_), iter(self.means_)
        blocks = [
            self._spread(column, len(next(labels).labels))
            if nominal
            else np.where(np.isnan(column), next(means), column)[:, None]
            for column, nominal in zip(read.in_feature_order(), read.is_nominal, strict=True)
        ]
        return np.hstack(blocks)

    def _spread(self, codes: NDArray[np.int32], n_labels: int) -> NDArray[np.float64]:
        """Return the columns of a nominal feature."""
        if self.nominal == "ordinal":
            return codes[:, None].astype(np.float64)
        return (codes[:, None] == np.arange(n_labels)[None, :]).astype(np.float64)
