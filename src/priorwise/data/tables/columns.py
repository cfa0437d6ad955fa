"""Reading the columns of arrays and frames into typed arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from priorwise.data.tables.factorise import (
    MISSING_TYPES,
    NominalColumn,
    declared_labels,
    factorise_array,
    factorise_series,
    is_missing,
)

Kind = Literal["numeric", "nominal"]


class RawTable:
    """The columns of an array, a list of rows or a frame, read one at a time.

    Strings, categories, booleans and objects are nominal; numbers are numeric, and so are dates and
    durations, as seconds. In an array of objects or a list of rows, which have no column types, a
    column is numeric when all its known values are numbers.

    >>> table = RawTable([[1.5, "a"], [None, "b"]])
    >>> table.numeric(0), table.nominal(1).labels
    (array([1.5, nan]), ['a', 'b'])
    """

    def __init__(self, X: Any) -> None:
        self._frame: Any = None
        if not isinstance(X, np.ndarray):
            read = nw.from_native(X, pass_through=True)
            if isinstance(read, nw.LazyFrame):
                raise TypeError("X must be in memory, got a lazy frame: collect it first")
            self._frame = read if isinstance(read, nw.DataFrame) else None
        if self._frame is None:
            self._array = _to_array(X)
            self.n_rows, self.n_columns = self._array.shape
        else:
            self.n_rows, self.n_columns = self._frame.shape
            self._names = list(self._frame.columns)
            _require_rows_and_columns(self._frame.shape)

    @property
    def names(self) -> list[Any]:
        """The columns' names; their places where they have none."""
        return list(range(self.n_columns)) if self._frame is None else list(self._names)

    @property
    def library(self) -> str | None:
        """The library a frame belongs to; None for arrays and lists."""
        return None if self._frame is None else str(self._frame.implementation)

    def declared_labels(self, i: int) -> list[Any] | None:
        """The labels that the type of column i lists, seen or not; None if it lists none."""
        if self._frame is None:
            return None
        return declared_labels(self._frame.get_column(self._names[i]))

    def name(self, i: int) -> str:
        """Return how messages call column i."""
        return repr(self._names[i]) if self._frame is not None else str(i)

    def kind(self, i: int) -> Kind:
        """Return the kind of a column by its type, or by its values if the type does not tell."""
        if self._frame is None:
            return _kind_of_array(self._array[:, i])
        dtype = self._frame.get_column(self._names[i]).dtype
        if dtype.is_numeric() or dtype in (nw.Datetime, nw.Date, nw.Duration):
            return "numeric"
        if dtype.is_nested() or dtype in (nw.Binary, nw.Time):
            raise TypeError(
                f"column {self.name(i)} has type {dtype}; use numbers, dates, strings, booleans, "
                "categories or objects"
            )
        return "nominal"

    def numeric(self, i: int) -> NDArray[np.float64]:
        """Read column i as numbers; NaN where missing."""
        values = self._values(i)
        if values.dtype.kind == "M":
            values = _in_seconds(values, values.astype("datetime64[us]"))
        elif values.dtype.kind == "m":
            values = _in_seconds(values, values.astype("timedelta64[us]"))
        elif values.dtype.kind == "O":
            values = np.array([np.nan if is_missing(v) else v for v in values.tolist()], object)
        try:
            numbers = np.ascontiguousarray(values, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"column {self.name(i)} must hold numbers, as it does in training: {error}"
            ) from None
        if np.isinf(numbers).any():
            raise _infinity_error(self.name(i))
        return numbers

    def numeric_values(self, places: Sequence[int]) -> NDArray[np.float64]:
        """Read columns as numbers, of shape (n_columns, n_rows); all at once if it can be done."""
        block = self._plain_numbers(places)
        if block is None:
            block = np.empty((len(places), self.n_rows))
            for at, i in enumerate(places):
                block[at] = self.numeric(i)
            return block
        # A sum is finite unless a number or the sum itself is not, and takes no memory.
        with np.errstate(over="ignore", invalid="ignore"):
            total = block.sum()
        if not np.isfinite(total) and np.isinf(block).any():
            at = int(np.isinf(block).any(axis=1).argmax())
            raise _infinity_error(self.name(places[at]))
        return block

    def _plain_numbers(self, places: Sequence[int]) -> NDArray[np.float64] | None:
        """Return columns of NumPy's own numbers; None if there are others among them."""
        if self._frame is None:
            if self._array.dtype.kind not in "iuf":
                return None
            rows = self._array if len(places) == self.n_columns else self._array[:, places]
        elif self._frame.implementation.is_pandas():
            native = self._frame.to_native()
            if len(places) < self.n_columns:
                native = native.take(places, axis=1)
            if any(getattr(dtype, "kind", "O") not in "iuf" for dtype in native.dtypes):
                return None
            rows = native.to_numpy(dtype=np.float64, na_value=np.nan)
        else:
            return None
        # A copy: missing values may be replaced in it.
        return np.array(rows.T, dtype=np.float64, order="C")

    def nominal(self, i: int) -> NominalColumn:
        """Read column i as labels."""
        try:
            if self._frame is not None:
                return factorise_series(self._frame.get_column(self._names[i]))
            return factorise_array(self._array[:, i])
        except TypeError as error:
            raise TypeError(
                f"argument must be a string or a number, as every value of column "
                f"{self.name(i)} must be: {error}"
            ) from None

    def _values(self, i: int) -> NDArray[Any]:
        if self._frame is None:
            return self._array[:, i]
        values: NDArray[Any] = self._frame.get_column(self._names[i]).to_numpy()
        return values


def find_nominal(
    table: RawTable, categorical_features: Any, feature_names: Sequence[str]
) -> NDArray[np.bool_]:
    """Tell which columns are nominal: those that hold labels, and those that are chosen.

    `categorical_features` is "from_dtype", None, or a mask, indices or names of numeric columns to
    take as nominal; ValueError if it does not choose columns of this table.
    """
    nominal = np.array([table.kind(i) == "nominal" for i in range(table.n_columns)])
    if categorical_features is None:
        return nominal
    if isinstance(categorical_features, str) and categorical_features == "from_dtype":
        return nominal
    chosen = np.atleast_1d(np.asarray(categorical_features))
    if chosen.size == 0:
        return nominal
    if chosen.dtype.kind in "UO" and all(isinstance(name, str) for name in chosen.tolist()):
        place = {name: i for i, name in enumerate(feature_names)}
        unknown = [name for name in chosen.tolist() if name not in place]
        if unknown:
            raise ValueError(f"categorical_features must name columns of X, got {unknown[0]!r}")
        nominal[[place[name] for name in chosen.tolist()]] = True
    elif chosen.dtype.kind == "b":
        if chosen.shape != nominal.shape:
            raise ValueError(
                f"categorical_features as a mask must have {table.n_columns} entries, "
                f"got {chosen.shape}"
            )
        nominal |= chosen
    elif chosen.dtype.kind in "iu":
        if chosen.min() < 0 or chosen.max() >= table.n_columns:
            raise ValueError(
                f"categorical_features as indices must lie in 0..{table.n_columns - 1}, "
                f"got {chosen.tolist()}"
            )
        nominal[chosen] = True
    else:
        raise ValueError(
            "categorical_features must be 'from_dtype', a mask, indices or names, "
            f"got {categorical_features!r}"
        )
    return nominal


def _infinity_error(name: str) -> ValueError:
    return ValueError(
        f"Input X contains infinity or a value too large for dtype('float64'): column {name}"
    )


def _to_array(X: Any) -> NDArray[Any]:
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "iuf" and X.size > 0:
        return X
    if isinstance(X, (list, tuple)):
        array = np.asarray(X)
        # NumPy makes strings of everything as soon as one value is one.
        X = np.array(X, dtype=object) if array.dtype.kind in "USO" else array
    return check_array(X, dtype=None, ensure_all_finite=False, input_name="X")


def _require_rows_and_columns(shape: tuple[int, int]) -> None:
    if shape[0] == 0:
        raise ValueError(
            f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required."
        )
    if shape[1] == 0:
        raise ValueError(
            f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required."
        )


def _kind_of_array(values: NDArray[Any]) -> Kind:
    if values.dtype.kind in "iufmM":
        return "numeric"
    if values.dtype.kind != "O":
        return "nominal"
    types = set(map(type, values.tolist()))
    known = [t for t in types if t.__name__ not in MISSING_TYPES]
    numbers = [issubclass(t, Number) and not issubclass(t, (bool, np.bool_)) for t in known]
    return "numeric" if known and all(numbers) else "nominal"


def _in_seconds(values: NDArray[Any], in_microseconds: NDArray[Any]) -> NDArray[np.float64]:
    seconds = in_microseconds.astype(np.int64) / 1e6
    return np.where(np.isnat(values), np.nan, seconds)


@dataclass(frozen=True)
class Columns:
    """A table read but not yet cut: members of an ensemble cut the same one in their own ways."""

    nominal_codes: NDArray[np.int32]  # of shape (nominal features, rows), -1 where unknown
    values: NDArray[np.float64]  # of shape (numeric features, rows), NaN where missing

    @property
    def n_rows(self) -> int:
        return int(self.values.shape[1])

    def take(self, rows: NDArray[np.intp]) -> Columns:
        """Return some of the rows."""
        return Columns(
            np.ascontiguousarray(self.nominal_codes[:, rows]),
            np.ascontiguousarray(self.values[:, rows]),
        )
