"""Reading the columns of arrays and frames into typed arrays."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from priorwise.common.numeric import gen_batches
from priorwise.data.tables.arrays import (
    TIMES,
    are_times,
    in_seconds,
    kind_of_array,
    known_types,
    require_rows_and_columns,
    to_array,
    to_float,
)
from priorwise.data.tables.column_kinds import Kind, name_commonest
from priorwise.data.tables.dates import read_dates
from priorwise.data.tables.dict_rows import DictRows, as_dict_rows
from priorwise.data.tables.label_keys import (
    BOOLEANS,
    USUAL_MARKS,
    NominalColumn,
    declared_labels,
    factorise_array,
    factorise_series,
    has_order,
    parse_number,
    series_to_numpy,
    split_dictionary,
)
from priorwise.data.tables.parts import read_parts, take_parts
from priorwise.data.tables.texts import TEXT, WordScores

AcceptTexts = Callable[[int, NominalColumn, list[int]], bool]
"""Says whether texts in a column of numbers are missing values, given the column, its labels, and
the places of the texts among them."""


class RawTable:
    """The columns of an array, a list of rows or a frame, read one at a time.

    Categories and booleans are nominal; numbers are numeric, and so are dates and durations, as
    seconds. Columns of strings and of objects are decided by their values (`is_numeric`). Of these,
    values with one of the keys `marks` are missing. `texts` are columns of strings that come as
    categories.

    >>> table = RawTable([[1.5, "a"], [None, "b"]])
    >>> table.numeric(0), table.nominal(1).labels
    (array([1.5, nan]), ['a', 'b'])
    """

    def __init__(
        self,
        X: Any,
        *,
        marks: frozenset[Hashable] = USUAL_MARKS,
        texts: Collection[str] = (),
    ) -> None:
        self._marks = marks
        self._texts = texts
        self._kinds: dict[int, Kind] = {}
        self._all_series: dict[int, Any] = {}
        self._frame: Any = None
        if not isinstance(X, np.ndarray):
            X = as_dict_rows(X)
        if not isinstance(X, np.ndarray | DictRows):
            read = nw.from_native(X, pass_through=True)
            if isinstance(read, nw.LazyFrame):
                raise TypeError("X must be in memory, got a lazy frame: collect it first")
            self._frame = read if isinstance(read, nw.DataFrame) else None
        if self._frame is None:
            is_named = isinstance(X, DictRows)
            self._array = X.cells if is_named else to_array(X)
            self.n_rows, self.n_columns = self._array.shape
            self._names: list[Any] = X.names if is_named else list(range(self.n_columns))
        else:
            self.n_rows, self.n_columns = self._frame.shape
            self._names = list(self._frame.columns)
            self._types = self._frame.schema
            require_rows_and_columns(self._frame.shape)

    @property
    def names(self) -> list[Any]:
        """The columns' names; their places where they have none."""
        return list(self._names)

    @property
    def library(self) -> str | None:
        """The library a frame belongs to; None for arrays and lists."""
        return None if self._frame is None else str(self._frame.implementation)

    def declared_labels(self, i: int) -> list[Any] | None:
        """The labels that the type of column i lists, seen or not; None if it lists none."""
        if self._frame is None:
            return None
        return declared_labels(self._series(i))

    def is_ordered(self, i: int, *, enums: bool = False) -> bool:
        """Whether the type of column i orders its labels; with `enums` those of polars do."""
        if self._frame is None or self.kind(i) != "nominal":
            return False
        return has_order(self._series(i), enums=enums)

    def name(self, i: int) -> str:
        """Return how messages call column i."""
        return repr(self._names[i])

    def dtype(self, i: int) -> str:
        """Return the name of the type of column i, without the labels that it declares."""
        kind = str(self._array.dtype if self._frame is None else self._type(i))
        return kind.partition("(categories")[0]

    def kind(self, i: int) -> Kind:
        """Return the kind of a column by its type; "text" if its values have to decide."""
        if i not in self._kinds:
            self._kinds[i] = self._find_kind(i)
        return self._kinds[i]

    def _find_kind(self, i: int) -> Kind:
        if self._frame is None:
            return kind_of_array(self._array[:, i])
        dtype = self._type(i)
        if dtype.is_numeric() or dtype in (nw.Datetime, nw.Date, nw.Duration, nw.Time):
            return "numeric"
        if dtype.is_nested() or dtype == nw.Binary:
            raise TypeError(
                f"column {self.name(i)} has type {dtype}; use numbers, dates, strings, booleans, "
                "categories or objects"
            )
        if dtype == nw.Object:
            # Objects that are all numbers in one batch may be others in the next.
            return "numeric" if are_times(known_types(self._values(i))) else "text"
        if dtype in (nw.String, nw.Unknown) or self._names[i] in self._texts:
            return "text"
        return "nominal"

    def holds_dates(self, i: int) -> bool:
        """Whether a column has dates, with or without a time."""
        if self._frame is None or self._type(i) == nw.Object:
            values = self._values(i)
            dates = values.dtype.kind == "O" and known_types(values)
            return values.dtype.kind == "M" or bool(
                dates and all(issubclass(t, TIMES[0]) for t in dates)
            )
        return self._type(i) in (nw.Datetime, nw.Date)

    def numeric(
        self,
        i: int,
        *,
        texts_are_missing: bool = False,
        keep_infinite: bool = False,
        accept: AcceptTexts | None = None,
    ) -> NDArray[np.float64]:
        """Read column i as numbers; NaN where missing.

        Text that is no number is a ValueError, unless it is to be taken as missing or `accept` says
        so, and so is an infinite number, unless it is to be kept.
        """
        if self._holds_text(i):
            numbers = self._parse_numbers(i, texts_are_missing, accept=accept)
        else:
            values = self._values(i)
            if values.dtype.kind == "M":
                numbers = in_seconds(values, values.astype("datetime64[us]"))
            elif values.dtype.kind == "m":
                numbers = in_seconds(values, values.astype("timedelta64[us]"))
            elif values.dtype.kind == "O":
                numbers = np.array([to_float(value) for value in values.tolist()], dtype=np.float64)
            else:
                numbers = np.ascontiguousarray(values, dtype=np.float64)
        if not keep_infinite and np.isinf(numbers).any():
            raise infinity_error(self.name(i))
        return numbers

    def dates(self, i: int, form: str) -> NDArray[np.float64]:
        """Read column i as seconds since 1970; NaN where missing.

        Texts are dates in a form or seconds; one that is neither is a ValueError.
        """
        return self._parse_numbers(i, False, form) if self._holds_text(i) else self.numeric(i)

    def parts(
        self, i: int, form: str, parts: Sequence[str], scores: WordScores | None = None
    ) -> NDArray[np.float64]:
        """Read column i of dates or texts, and some of its parts, of shape (1 + n_parts, n_rows).

        The first row has seconds since 1970 or the number of words, NaN where missing.
        """
        if form != TEXT:
            return take_parts(self.dates(i, form), parts)
        column = self.nominal(i)
        return read_parts([*column.labels, None], form, parts, scores)[:, column.codes]

    def _parse_numbers(
        self,
        i: int,
        texts_are_missing: bool,
        form: str | None = None,
        accept: AcceptTexts | None = None,
    ) -> NDArray[np.float64]:
        column = self.nominal(i)
        if form is None:
            parsed = [
                float(label) if isinstance(label, BOOLEANS) else parse_number(label)
                for label in column.labels
            ]
        else:
            parsed = read_dates(column.labels, form)
        texts = [place for place, number in enumerate(parsed) if number is None]
        is_error = bool(texts) and not texts_are_missing
        if is_error and (accept is None or not accept(i, column, texts)):
            totals = np.bincount(column.codes[column.codes >= 0], minlength=len(parsed))
            raise ValueError(
                f"column {self.name(i)} must hold {'numbers' if form is None else 'dates'}, as it "
                f"does in training, got {name_commonest(column.labels, totals, texts)}: list in "
                "missing_values what means missing, or "
                + (
                    "name the column in numeric_features to take text as missing"
                    if form is None
                    else f"write dates in the form {form!r} that training had"
                )
            )
        return np.array([np.nan if n is None else n for n in [*parsed, None]])[column.codes]

    def _holds_text(self, i: int) -> bool:
        """Whether column i has labels, or objects that are not all numbers."""
        if self._frame is None:
            return kind_of_array(self._array[:, i]) == "text"
        dtype = self._type(i)
        if dtype in (nw.Object, nw.Unknown):
            return kind_of_array(self._values(i)) == "text"
        return dtype in (nw.String, nw.Categorical, nw.Enum)

    def numeric_values(
        self,
        places: Sequence[int],
        texts_are_missing: Sequence[int] = (),
        accept: AcceptTexts | None = None,
    ) -> NDArray[np.float64]:
        """Read columns as numbers, of shape (n_columns, n_rows); all at once if it can be done.

        In the columns `texts_are_missing` text is missing, in others it is an error unless `accept`
        takes it as missing.
        """
        block = self._plain_numbers(places)
        if block is None:
            block = np.empty((len(places), self.n_rows))
            for at, i in enumerate(places):
                block[at] = self.numeric(i, texts_are_missing=i in texts_are_missing, accept=accept)
            return block
        # A sum is finite unless a number or the sum itself is not, and takes no memory.
        with np.errstate(over="ignore", invalid="ignore"):
            total = block.sum()
        if not np.isfinite(total) and np.isinf(block).any():
            at = int(np.isinf(block).any(axis=1).argmax())
            raise infinity_error(self.name(places[at]))
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
        # A copy: missing values may be replaced in it. Some rows at a time stay in the cache.
        block = np.empty((len(places), self.n_rows))
        for rows_together in gen_batches(self.n_rows, 1024):
            block[:, rows_together] = rows[rows_together].T
        return block

    def nominal(self, i: int, *, keep_marks: bool = False) -> NominalColumn:
        """Read column i as labels; values that mean missing are labels too with `keep_marks`."""
        try:
            if self._frame is None:
                column = factorise_array(self._array[:, i])
            else:
                column = factorise_series(self._series(i))
        except TypeError as error:
            raise TypeError(
                f"argument must be a string or a number, as every value of column "
                f"{self.name(i)} must be: {error}"
            ) from None
        return self._join_spellings(i, column, keep_marks)

    def _join_spellings(self, i: int, column: NominalColumn, keep_marks: bool) -> NominalColumn:
        keep_marks = keep_marks or self.kind(i) == "nominal"
        return column.join_spellings(frozenset() if keep_marks else self._marks)

    def arrow_dictionary(self, i: int) -> tuple[Any, NDArray[np.int32]] | None:
        """Return the labels of an Arrow column of codes, as an Arrow array, and the codes.

        None for a column of another type, in several chunks, or with missing values.
        """
        if self.library != "pyarrow":
            return None
        return split_dictionary(self._frame.to_native().column(i))

    def read_dictionary(self, i: int, dictionary: Any) -> NominalColumn:
        """Read the labels of `arrow_dictionary` as a column with one row for each."""
        places = np.arange(len(dictionary), dtype=np.int32)
        column = NominalColumn(dictionary.to_pylist(), places)
        return self._join_spellings(i, column, keep_marks=False)

    def _type(self, i: int) -> Any:
        return self._types[self._names[i]]

    def _series(self, i: int) -> Any:
        if i not in self._all_series:
            self._all_series[i] = self._frame.get_column(self._names[i])
        return self._all_series[i]

    def _values(self, i: int) -> NDArray[Any]:
        if self._frame is None:
            return self._array[:, i]
        return series_to_numpy(self._series(i))


def infinity_error(name: str) -> ValueError:
    """The error for a column with a number that is infinite as a double."""
    return ValueError(
        f"Input X contains infinity or a value too large for dtype('float64'): column {name}"
    )
