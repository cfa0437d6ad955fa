"""Labels of a column as distinct labels and places among them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class NominalColumn:
    """Labels in no fixed order, and each row's place among them; -1 where missing."""

    labels: list[Hashable]
    codes: NDArray[np.int32]


def factorise_series(series: nw.Series[Any]) -> NominalColumn:
    """Factorise a frame's column with what its library offers: no Python code runs per row."""
    native = series.to_native()
    if series.implementation.is_pandas_like():
        codes, labels = native.factorize()
        return NominalColumn(list(labels), np.asarray(codes, dtype=np.int32))
    if series.dtype in (nw.String, nw.Categorical, nw.Enum):
        if series.implementation.is_polars():
            return _factorise_polars(native)
        if series.implementation.is_pyarrow():
            return _factorise_arrow(native)
    return factorise_array(series.to_numpy())


def declared_labels(series: nw.Series[Any]) -> list[Hashable] | None:
    """Return the labels that a column's type lists, seen or not; None if it lists none.

    A polars Categorical lists none: its labels are shared by all columns of the process.
    """
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


def factorise_array(values: NDArray[Any]) -> NominalColumn:
    """Factorise numbers, text or objects of mixed types; labels are equal if Python says so.

    Examples
    --------
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


def is_missing(label: Any) -> bool:
    """Whether a single value stands for missing: None, NaN, NaT or NA."""
    # NaN differs from itself; pandas' NA refuses to be compared.
    return type(label).__name__ in MISSING_TYPES or bool(label != label)


MISSING_TYPES = ("NoneType", "NAType", "NaTType")


def _factorise_objects(values: list[Any]) -> NominalColumn:
    labels: list[Hashable] = []
    place: dict[Any, int] = {}
    for label in dict.fromkeys(values):
        if is_missing(label):
            place[label] = -1
        else:
            place[label] = len(labels)
            labels.append(label)
    # Looked up inside NumPy's loop: no Python code runs per row.
    codes = np.fromiter(map(place.__getitem__, values), dtype=np.int32, count=len(values))
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
    return NominalColumn(encoded.chunk(0).dictionary.to_pylist(), codes.astype(np.int32))
