"""The values of a nominal column, and their codes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

UNKNOWN = -1
"""Code of a value that training did not have: models back off there."""


class NominalValues:
    """The values of a nominal column in the order of their codes.

    Values are matched by label, never by a frame's own codes. Missing values (None, NaN, NaT,
    NA) are one value, shown as None and coded last; they have a code only if training had
    them. The categories of a categorical dtype all have a code, observed or not.

    >>> colour = NominalValues.learn(["red", None, "blue", "red"])
    >>> colour.values
    ['blue', 'red', None]
    >>> colour.encode(["red", "green", None])
    array([ 1, -1,  2], dtype=int32)
    """

    def __init__(self, values: Iterable[Hashable]) -> None:
        self.values = list(values)
        self._code = {value: code for code, value in enumerate(self.values)}

    def __len__(self) -> int:
        return len(self.values)

    @classmethod
    def learn(cls, column: Any) -> NominalValues:
        """The values of a column: declared ones as declared, others sorted."""
        values, missing = read_values(column)
        declared = _declared_categories(column)
        if declared is not None:
            present: list[Any] = declared
        elif isinstance(values, np.ndarray):
            present = np.unique(values[~missing]).tolist()
        else:
            present = _sort({v for v, gone in zip(values, missing, strict=True) if not gone})
        return cls([*present, None] if missing.any() else present)

    def encode(self, column: Any) -> NDArray[np.int32]:
        """Codes of a column's values; UNKNOWN for values training did not have."""
        values, missing = read_values(column)
        if isinstance(values, np.ndarray):
            distinct, place = np.unique(values, return_inverse=True)
            codes = self._look_up(distinct.tolist())[place]
        else:
            codes = self._look_up(values)
        codes[missing] = self._code.get(None, UNKNOWN)
        return codes

    def _look_up(self, values: list[Any]) -> NDArray[np.int32]:
        code = self._code
        return np.fromiter((code.get(v, UNKNOWN) for v in values), np.int32, len(values))


def read_values(column: Any) -> tuple[NDArray[Any] | list[Any], NDArray[np.bool_]]:
    """A column's values and which of them are missing.

    Numbers and fixed-width strings come as an array, anything else as a list; the values at
    missing places have no meaning.
    """
    if isinstance(column, nw.Series):
        missing = column.is_null().to_numpy().astype(bool)
        if column.dtype.is_float():
            array = column.fill_null(0.0).to_numpy()
            return array, missing | np.isnan(array)
        if not missing.any() and (column.dtype.is_integer() or column.dtype == nw.Boolean):
            return column.to_numpy(), missing
        return _without_missing(column.to_list(), missing), missing
    array = np.asarray(column) if isinstance(column, np.ndarray) else _object_array(column)
    if array.dtype.kind == "f":
        return array, np.isnan(array)
    if array.dtype.kind in "iubUS":
        return array, np.zeros(len(array), dtype=bool)
    values = array.tolist()
    missing = np.fromiter((_is_missing(v) for v in values), bool, len(values))
    return _without_missing(values, missing), missing


def _object_array(values: Iterable[Any]) -> NDArray[Any]:
    values = list(values)
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _without_missing(values: list[Any], missing: NDArray[np.bool_]) -> list[Any]:
    values = list(values)
    for i in np.flatnonzero(missing):
        values[i] = None
    for value in values:
        if not isinstance(value, Hashable):
            raise TypeError(
                f"a nominal value must be a string, number, bool or other hashable, got {value!r}"
            )
    return values


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # pandas' NA refuses to be a bool
        return True


def _declared_categories(column: Any) -> list[Any] | None:
    if not isinstance(column, nw.Series):
        return None
    if isinstance(column.dtype, nw.Categorical | nw.Enum):
        return column.cat.get_categories().to_list()
    return None


def _sort(values: set[Any]) -> list[Any]:
    """In their own order, or by type and text where they cannot be compared."""
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=lambda v: (type(v).__name__, str(v)))
