"""Frames of mixed columns as numbers, for models that accept only numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from priorwise.common.estimator import Estimator
from priorwise.common.stored.checks import check_fitted, require
from priorwise.common.validation import check_choice


class FrameEncoder(TransformerMixin, Estimator):
    """Turn a frame or an array of objects into a matrix of floats.

    Missing numbers are replaced by the mean of the column in training, or by zero if it has no
    numbers. All columns that are not numeric are nominal, and missing is one of their values.

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

    def __getstate__(self) -> dict[str, Any]:
        # Values of columns in the order of their codes: skops takes no missing value as a key.
        state: dict[str, Any] = super().__getstate__()
        columns = state.get("columns_", ())
        listed = [list(one) if isinstance(one, dict) else one for one in columns]
        return {**state, "columns_": listed} if "columns_" in state else state

    def __setstate__(self, state: dict[str, Any]) -> None:
        columns = state.get("columns_", ())
        coded = [
            {value: code for code, value in enumerate(one)} if isinstance(one, list) else one
            for one in columns
        ]
        super().__setstate__({**state, "columns_": coded} if "columns_" in state else state)

    learnt: ClassVar[Mapping[str, Any]] = {
        "columns_": list,
        "n_features_in_": int,
    }

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
        self.columns_: list[float | dict[Any, int]] = []
        columns = _split_columns(X)
        for column in columns:
            if column.dtype == object:
                self.columns_.append(_number_values(column))
            else:
                known = column[~np.isnan(column)]
                self.columns_.append(float(known.mean()) if len(known) else 0.0)
        self.n_features_in_ = len(columns)
        return self

    def check_learnt(self) -> None:
        check_fitted(self, "columns_", "n_features_in_")
        require(len(self.columns_) == self.n_features_in_, "every column needs its values")
        for column in self.columns_:
            if isinstance(column, dict):
                require(list(column.values()) == list(range(len(column))), "values need codes")
            else:
                require(
                    isinstance(column, float) and np.isfinite(column), "a mean must be a number"
                )

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
        columns = _split_columns(X)
        if len(columns) != self.n_features_in_:
            raise ValueError(f"X must have {self.n_features_in_} columns, got {len(columns)}")
        blocks = [self._encode(*pair) for pair in zip(columns, self.columns_, strict=True)]
        return np.hstack(blocks) if blocks else np.empty((len(X), 0))

    def _encode(self, column: NDArray[Any], learned: float | dict[Any, int]) -> NDArray[np.float64]:
        if not isinstance(learned, dict):
            # A column of nothing but missing values may lose its type between frames.
            numbers = np.array(
                [np.nan if value is None else value for value in column.tolist()], dtype=np.float64
            )
            return np.where(np.isnan(numbers), learned, numbers)[:, None]
        codes = np.array([learned.get(_plain(value), -1) for value in column.tolist()], dtype=int)
        if self.nominal == "ordinal":
            return codes[:, None].astype(np.float64)
        return (codes[:, None] == np.arange(len(learned))[None, :]).astype(np.float64)


def _split_columns(X: Any) -> list[NDArray[Any]]:
    """Columns as float64 with NaN if numeric, else as objects."""
    if isinstance(X, np.ndarray):
        if X.ndim != 2:
            raise ValueError(f"X must have two dimensions, got shape {X.shape}")
        if X.dtype.kind in "iuf":
            return list(X.astype(np.float64).T)
        return [_plain_column(column) for column in X.astype(object).T]
    table = nw.from_native(X, eager_only=True)
    return [_frame_column(table[name]) for name in table.columns]


def _frame_column(series: Any) -> NDArray[Any]:
    if series.dtype.is_numeric():
        numbers = series.cast(nw.Float64).to_numpy()
        return np.asarray(numbers, dtype=np.float64)
    column = np.empty(len(series), dtype=object)
    column[:] = series.to_list()
    return column


def _plain_column(column: NDArray[Any]) -> NDArray[Any]:
    kinds = {type(value) for value in column.tolist() if value is not None}
    if kinds and kinds <= {int, float}:
        return np.array([np.nan if value is None else value for value in column.tolist()], float)
    return column


def _plain(value: Any) -> Any:
    return None if value is None or value != value else value


def _number_values(column: NDArray[Any]) -> dict[Any, int]:
    values = {_plain(value) for value in column.tolist()}
    # Missing comes last; text sorts by itself, mixed types by their text.
    ordered = sorted(values - {None}, key=lambda value: (str(value), type(value).__name__))
    return {value: code for code, value in enumerate(ordered + [None] * (None in values))}
