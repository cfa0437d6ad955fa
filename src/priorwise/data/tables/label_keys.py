"""Labels of a column as codes; which are the same, whatever their type: 10115 and "10115"."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache
from numbers import Number, Real
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from priorwise.data.columns import MISSING_MARKS

BOOLEANS = (bool, np.bool_)
NUMBERS = (Real, Decimal)
MISSING_TYPES = ("NoneType", "NAType", "NaTType", "MaskedConstant")

SPACES = "".join(filter(str.isspace, map(chr, range(0x3001))))
"""Characters that are left out around a text: Python's white space, of which the
ideographic space U+3000 is the last. Exports have the same list."""
NUMBER_PATTERN = r"[+-]?(?:(?:0|[1-9][0-9]{0,14})(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?"
"""How a text means a number. It has at most 15 digits and no leading zeros: longer ones and "007"
are identifiers."""
_NUMBER = re.compile(NUMBER_PATTERN)
# How Python writes a number: "1.0" and "1.5", but not "1.50", which may be a version.
_PLAIN_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.(?:0|\d{0,14}[1-9]))?", flags=re.ASCII)
_BOOLEAN_WORDS = dict.fromkeys(["True", "true", "TRUE"], True)
_BOOLEAN_WORDS |= dict.fromkeys(["False", "false", "FALSE"], False)
# A text that begins otherwise is neither a number nor a boolean, nor has it a space in front.
_SPECIAL_STARTS = frozenset("-0123456789TtFf")


def is_missing(label: Any) -> bool:
    """Return whether a value means missing: None, NaN, NaT, NA or a masked cell."""
    if isinstance(label, Decimal):
        return label.is_nan()
    # NaN differs from itself; pandas' NA refuses to be compared.
    return type(label).__name__ in MISSING_TYPES or bool(label != label)


def is_number(label: Any) -> bool:
    """Return whether a value is a number and not a boolean."""
    return isinstance(label, NUMBERS) and not isinstance(label, BOOLEANS)


def as_float(number: Any) -> float:
    """Return a number as a float, infinite if it is too large for one.

    >>> as_float(-(10**400))
    -inf
    """
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def parse_number(label: Any) -> float | None:
    """Return the number that a value is or that a text means; None if there is none.

    >>> [parse_number(label) for label in (2, " 1e3", "-.5", "007", "1,5", "abc", True)]
    [2.0, 1000.0, -0.5, None, None, None, None]
    """
    if isinstance(label, str):
        text = label.strip(SPACES)
        if not _NUMBER.fullmatch(text):
            return None
        number = float(text)
        return number if math.isfinite(number) else None
    return as_float(label) if is_number(label) else None


def label_key(label: Hashable) -> Hashable:
    """Return what a label is looked up by.

    A number and the text that Python writes for it have the same key, a boolean and its text too.
    Spaces around a text are left out. True and 1 have two keys.

    >>> label_key("10115") == label_key(10115.0), label_key("true") == label_key(True)
    (True, True)
    >>> label_key(True) == label_key(1), label_key("1.10") == label_key("1.1")
    (False, False)
    """
    if isinstance(label, str):
        if label[:1].isalpha() and label[-1] not in SPACES and label[0] not in _SPECIAL_STARTS:
            return label
        text = label.strip(SPACES)
        if text[:1] in _SPECIAL_STARTS:
            if text in _BOOLEAN_WORDS:
                return bool, _BOOLEAN_WORDS[text]
            if _PLAIN_NUMBER.fullmatch(text):
                return float(text)
        return text
    return (bool, bool(label)) if isinstance(label, BOOLEANS) else label


def spell_label(label: Hashable) -> Hashable:
    """Return the spelling of a label that stands for all texts with the same key.

    >>> [spell_label(label) for label in (" a", "10115.0", "true", 2.0)]
    ['a', '10115', 'True', 2.0]
    """
    if not isinstance(label, str):
        return label
    key = label_key(label)
    if isinstance(key, float):
        return str(int(key)) if key.is_integer() else str(label).strip(SPACES)
    return str(key[1]) if isinstance(key, tuple) else key


def list_marks(missing_values: Any) -> tuple[str, ...]:
    """Return the texts that mean missing in a file; "usual" are those of `MISSING_MARKS`."""
    if isinstance(missing_values, str) and missing_values == "usual":
        return MISSING_MARKS
    mark_keys(missing_values)
    return tuple(str(mark) for mark in missing_values if not is_missing(mark))


def mark_keys(missing_values: Any) -> frozenset[Hashable]:
    """Return the keys of values that mean missing; "usual" are those of `MISSING_MARKS`.

    ValueError if they are no list of texts and numbers.
    """
    if isinstance(missing_values, str) and missing_values == "usual":
        return USUAL_MARKS
    is_list = isinstance(missing_values, Iterable) and not isinstance(missing_values, str)
    marks = [mark for mark in missing_values if not is_missing(mark)] if is_list else None
    if marks is None or not all(isinstance(mark, str | bool) or is_number(mark) for mark in marks):
        raise ValueError(
            f"missing_values must be 'usual' or a list of texts and numbers, got {missing_values!r}"
        )
    return MarkKeys(map(label_key, marks))


@lru_cache(16)
def list_numbers(keys: frozenset[Hashable]) -> list[Any]:
    """Return the keys that are numbers."""
    return [key for key in keys if is_number(key)]


class MarkKeys(frozenset[Hashable]):
    """Keys of values that mean missing, in the same order in every process."""

    def __iter__(self) -> Iterator[Hashable]:
        return iter(sorted(super().__iter__(), key=repr))

    def __reduce__(self) -> tuple[type[MarkKeys], tuple[list[Hashable]]]:
        return type(self), (list(self),)


USUAL_MARKS: frozenset[Hashable] = MarkKeys(map(label_key, MISSING_MARKS))
"""Keys of the values that mean missing by default."""


@dataclass(frozen=True)
class NominalColumn:
    """Labels in any order, and the place of each row among them, -1 where missing.

    Labels are the same if they have the same key (`label_key`).
    """

    labels: list[Hashable]
    codes: NDArray[np.int32]

    @cached_property
    def keys(self) -> list[Hashable]:
        """The key of each label."""
        return [label_key(label) for label in self.labels]

    def join_spellings(self, marks: frozenset[Hashable] = frozenset()) -> NominalColumn:
        """Return the column where labels of one key are one label, and `marks` are missing.

        >>> NominalColumn(["a", "a ", "?"], np.array([0, 1, 2])).join_spellings(frozenset("?"))
        NominalColumn(labels=['a'], codes=array([ 0,  0, -1], dtype=int32))
        """
        labels: list[Hashable] = []
        place: dict[Hashable, int] = dict.fromkeys(marks, -1)
        codes = np.empty(len(self.labels) + 1, dtype=np.int32)
        codes[-1] = -1
        for i, (label, key) in enumerate(zip(self.labels, self.keys, strict=True)):
            codes[i] = place.setdefault(key, len(labels))
            if codes[i] == len(labels):
                labels.append(spell_label(label))
            elif codes[i] >= 0 and not isinstance(label, str):
                labels[codes[i]] = label
        if np.array_equal(codes[:-1], np.arange(len(self.labels))):
            return NominalColumn(labels, self.codes)
        return NominalColumn(labels, codes[self.codes])


def series_to_numpy(series: nw.Series[Any]) -> NDArray[Any]:
    """Return a column as an array; whole numbers of 128 bits, which NumPy has not, as objects."""
    if series.dtype in (nw.Int128, nw.UInt128):
        return np.array(series.to_list(), dtype=object)
    values: NDArray[Any] = series.to_numpy()
    return values


def factorise_series(series: nw.Series[Any]) -> NominalColumn:
    """Factorise a frame's column by its library, without Python code for each row."""
    native = series.to_native()
    if series.implementation.is_pandas() and hasattr(native.dtype, "categories"):
        return _keep_seen(list(native.array.categories), native.array.codes)
    if series.implementation.is_pandas_like():
        try:
            codes, labels = native.factorize()
        except TypeError:
            return factorise_array(native.to_numpy())
        if native.dtype == object and any(isinstance(label, Number) for label in labels):
            # Numbers among objects: there may be booleans, which pandas takes for numbers.
            return factorise_array(native.to_numpy())
        return NominalColumn(list(labels), np.asarray(codes, dtype=np.int32))
    if series.dtype in (nw.String, nw.Categorical, nw.Enum):
        if series.implementation.is_polars():
            return _factorise_polars(native)
        if series.implementation.is_pyarrow():
            return _factorise_arrow(native)
    return factorise_array(series_to_numpy(series))


def _keep_seen(labels: list[Hashable], codes: NDArray[Any]) -> NominalColumn:
    """Return a column of codes, -1 where missing, without the labels that no row has."""
    seen = np.bincount(codes.astype(np.intp) + 1, minlength=len(labels) + 1)[1:] > 0
    if seen.all():
        return NominalColumn(labels, codes.astype(np.int32))
    place = np.append(np.cumsum(seen, dtype=np.int32) - 1, np.int32(-1))
    return NominalColumn(
        [label for label, has_rows in zip(labels, seen.tolist(), strict=True) if has_rows],
        place[codes].astype(np.int32),
    )


def declared_labels(column: Any) -> list[Hashable] | None:
    """Return the labels that the type of a column lists, seen or not; None if it lists none.

    A polars Categorical lists none: its labels are shared by all columns of the process.
    """
    series = nw.from_native(column, allow_series=True, pass_through=True)
    if isinstance(series, nw.DataFrame) and len(series.columns) == 1:
        series = series.get_column(series.columns[0])
    if not isinstance(series, nw.Series):
        # Categories of pandas and dictionaries of Arrow that are not columns of a table.
        listed = getattr(column, "categories", getattr(column, "dictionary", None))
        return None if listed is None else list(listed.tolist())
    native = series.to_native()
    if isinstance(series.dtype, nw.Enum):
        return list(series.dtype.categories)
    if series.dtype == nw.Categorical:
        if series.implementation.is_pandas_like():
            return list(native.cat.categories)
        if series.implementation.is_pyarrow():
            unified = native.unify_dictionaries()
            return list(unified.chunk(0).dictionary.to_pylist()) if unified.num_chunks else []
    return None


def has_order(series: nw.Series[Any], *, enums: bool = False) -> bool:
    """Return whether the type of a column orders its labels.

    Categories of pandas and dictionaries of Arrow say whether they do. Enums of polars list labels
    that need no order, so they count only with `enums`.
    """
    if series.implementation.is_polars():
        return enums and isinstance(series.dtype, nw.Enum)
    native = series.to_native()
    native_type = native.type if series.implementation.is_pyarrow() else native.dtype
    return bool(getattr(native_type, "ordered", False))


def declared_classes(y: Any) -> NDArray[Any] | None:
    """Return the classes that the type of y lists, seen or not; None if it lists none."""
    labels = declared_labels(y)
    if labels is None:
        return None
    return np.array(labels, dtype=object if isinstance(next(iter(labels), None), str) else None)


def factorise_array(values: NDArray[Any]) -> NominalColumn:
    """Factorise numbers, text or objects of mixed types.

    >>> factorise_array(np.array(["a", 1, None, "a"], dtype=object))
    NominalColumn(labels=['a', 1], codes=array([ 0,  1, -1,  0], dtype=int32))
    """
    if values.dtype.kind in "OUSmM":
        return _factorise_objects(values.tolist())
    known = ~np.isnan(values) if values.dtype.kind == "f" else np.ones(len(values), dtype=bool)
    labels, places = np.unique(values[known], return_inverse=True)
    codes = np.full(len(values), -1, dtype=np.int32)
    codes[known] = places
    return NominalColumn(labels.tolist(), codes)


def _factorise_objects(values: list[Any]) -> NominalColumn:
    types = set(map(type, values))
    if Decimal in types:
        # Some of its missing values cannot be looked up.
        values = [None if is_missing(label) else label for label in values]
    if types.intersection(BOOLEANS) and any(issubclass(t, Number) for t in types - {*BOOLEANS}):
        return _factorise_keys(values)
    labels: list[Hashable] = []
    place: dict[Any, int] = {}
    for label in dict.fromkeys(values):
        if is_missing(label):
            place[label] = -1
        else:
            place[label] = len(labels)
            labels.append(label)
    # Looked up inside NumPy's loop, without Python code for each row.
    codes = np.fromiter(map(place.__getitem__, values), dtype=np.int32, count=len(values))
    return NominalColumn(labels, codes)


def _factorise_keys(values: list[Any]) -> NominalColumn:
    """Factorise booleans among numbers, which are equal in Python."""
    labels: list[Hashable] = []
    place: dict[Any, int] = {}
    codes = np.full(len(values), -1, dtype=np.int32)
    for row, label in enumerate(values):
        if not is_missing(label):
            codes[row] = place.setdefault(label_key(label), len(labels))
            if codes[row] == len(labels):
                labels.append(label)
    return NominalColumn(labels, codes)


def _factorise_polars(native: Any) -> NominalColumn:
    import polars

    text = native.cast(polars.String)
    labels = text.unique().drop_nulls()
    # An enum made for the column: its physical values are places among the labels.
    places = text.cast(polars.Enum(labels)).to_physical().cast(polars.Int32)
    return NominalColumn(labels.to_list(), places.fill_null(-1).to_numpy())


def _factorise_arrow(native: Any) -> NominalColumn:
    encoded = native.dictionary_encode()
    if encoded.num_chunks == 0:
        return NominalColumn([], np.zeros(0, dtype=np.int32))
    if encoded.num_chunks > 1:
        encoded = encoded.unify_dictionaries()
    parts = [
        (chunk.indices.fill_null(-1) if chunk.null_count else chunk.indices).to_numpy()
        for chunk in encoded.chunks
    ]
    codes = parts[0] if len(parts) == 1 else np.concatenate(parts)
    labels = encoded.chunk(0).dictionary.to_pylist()
    return NominalColumn(labels, codes.astype(np.int32, copy=False))


def split_dictionary(column: Any) -> tuple[Any, NDArray[np.int32]] | None:
    """Return the labels and the codes of an Arrow column of codes (`RawTable.arrow_dictionary`)."""
    if column.num_chunks != 1 or column.null_count:
        return None
    chunk = column.chunk(0)
    dictionary = getattr(chunk, "dictionary", None)
    if dictionary is None or dictionary.null_count:
        return None
    return dictionary, chunk.indices.to_numpy()
