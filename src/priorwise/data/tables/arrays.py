"""Arrays, lists and objects as tables: their shape, kinds of values, and times as numbers."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import check_array

from priorwise.data.tables.column_kinds import Kind
from priorwise.data.tables.label_keys import (
    BOOLEANS,
    MISSING_TYPES,
    NUMBERS,
    as_float,
    is_missing,
)

TIMES = ((date, np.datetime64), (timedelta, np.timedelta64), (time,))
"""Types of dates, of durations and of times of day."""

MAX_CELLS = 100_000_000
"""Most cells of a sparse matrix whose message advises to make an array of it, of 0.8 GB."""


def _sparse_error(X: Any) -> TypeError:
    """The error for a sparse matrix: what to give instead."""
    n_cells = X.shape[0] * X.shape[-1]
    array = f"give X.toarray(), which has {n_cells:,} cells"
    if n_cells > MAX_CELLS:
        array = f"choose the columns that matter, since X.toarray() has {n_cells:,} cells"
    return TypeError(
        f"X must be dense, got a sparse matrix of {X.shape[0]:,} rows and {X.shape[-1]:,} columns. "
        "If it counts the words of texts, give the texts themselves as a column of a frame and "
        f"name it in text_features. Otherwise {array}."
    )


def to_array(X: Any) -> NDArray[Any]:
    if type(X) is np.ndarray and X.ndim == 2 and X.dtype.kind in "iuf" and X.size > 0:
        return X
    if issparse(X):
        raise _sparse_error(X)
    if isinstance(X, np.ma.MaskedArray):
        # Numbers and dates have a missing value of their own, all others become objects.
        kind, is_masked = X.dtype.kind, np.ma.getmaskarray(X)
        X = np.array(X.data, dtype=float if kind in "iuf" else X.dtype if kind in "mM" else object)
        X[is_masked] = {"f": np.nan, "O": None}.get(X.dtype.kind, "NaT")
    if isinstance(X, (list, tuple)):
        array = np.asarray(X)
        # NumPy makes strings of everything as soon as one value is one.
        X = np.array(X, dtype=object) if array.dtype.kind in "USO" else array
    return check_array(X, dtype=None, ensure_all_finite=False, input_name="X")


def require_rows_and_columns(shape: tuple[int, int]) -> None:
    if shape[0] == 0:
        raise ValueError(
            f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required."
        )
    if shape[1] == 0:
        raise ValueError(
            f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required."
        )


def kind_of_array(values: NDArray[Any]) -> Kind:
    if values.dtype.kind in "iufmM":
        return "numeric"
    if values.dtype.kind != "O":
        return "nominal" if values.dtype.kind == "b" else "text"
    known = known_types(values)
    if known and all(issubclass(t, NUMBERS) and not issubclass(t, BOOLEANS) for t in known):
        return "numeric"
    return "numeric" if are_times(known) else "text"


def known_types(values: NDArray[Any]) -> list[type]:
    """The types of an array of objects, without those of missing values."""
    objects = values.tolist()
    types = [t for t in set(map(type, objects)) if t.__name__ not in MISSING_TYPES]
    # NaN among others is a missing value and no number.
    if float in types and len(types) > 1 and all(v != v for v in objects if type(v) is float):
        types.remove(float)
    return types


def are_times(types: list[type]) -> bool:
    """Whether all values are times of one kind: days and hours have no common scale."""
    return bool(types) and any(all(issubclass(t, times) for t in types) for times in TIMES)


def to_float(value: Any) -> float:
    """Return a number, or a date, time of day or duration in seconds; NaN if it is missing.

    >>> to_float(time(1, 30)), to_float(date(1970, 1, 2))
    (5400.0, 86400.0)
    """
    if is_missing(value):
        return np.nan
    if isinstance(value, np.datetime64 | np.timedelta64):
        unit = "datetime64[us]" if isinstance(value, np.datetime64) else "timedelta64[us]"
        return float(value.astype(unit).astype(np.int64)) / 1e6
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, time):
        return value.hour * 3600.0 + value.minute * 60.0 + value.second + value.microsecond / 1e6
    if isinstance(value, datetime):
        return (value - datetime(1970, 1, 1, tzinfo=value.tzinfo and UTC)).total_seconds()
    if isinstance(value, date):
        return (value.toordinal() - date(1970, 1, 1).toordinal()) * 86400.0
    return as_float(value)


def in_seconds(values: NDArray[Any], in_microseconds: NDArray[Any]) -> NDArray[np.float64]:
    seconds = in_microseconds.astype(np.int64) / 1e6
    return np.where(np.isnat(values), np.nan, seconds)
