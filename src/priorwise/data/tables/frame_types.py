"""What the columns of a frame hold, whatever library the frame belongs to."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from priorwise.data.tables.factorise import factorise_series
from priorwise.data.tables.label_keys import is_missing

_FAMILIES: dict[Any, str] = {
    nw.Boolean: "boolean",
    nw.Datetime: "date",
    nw.Date: "date",
    nw.Duration: "duration",
    nw.Object: "object",
    nw.Unknown: "unknown",
}


def column_families(frame: Any) -> dict[str, str]:
    """What each column holds: "number", "text", "category", "boolean", "date" or "duration".

    A column of objects is "object", which may be anything; one without a type, because none of its
    values is known, is "unknown".

    >>> import pandas as pd
    >>> column_families(pd.DataFrame({"a": [1.5], "b": ["x"], "c": [True]}))
    {'a': 'number', 'b': 'text', 'c': 'boolean'}
    """
    schema = nw.from_native(frame, eager_only=True).schema
    return {name: _family(dtype) for name, dtype in schema.items()}


def cast_unknown(frame: Any, found: dict[str, str], families: dict[str, str]) -> Any:
    """Give columns without a type the one that they have elsewhere."""
    unknown = [
        name
        for name, family in found.items()
        if family == "unknown" and families.get(name, "unknown") != "unknown"
    ]
    if not unknown:
        return frame
    types: dict[str, Any] = {"number": nw.Float64, "boolean": nw.Boolean, "text": nw.String}
    types |= {"date": nw.Datetime, "duration": nw.Duration, "category": nw.String}
    table = nw.from_native(frame, eager_only=True)
    return table.with_columns(
        **{name: nw.col(name).cast(types[families[name]]) for name in unknown}
    ).to_native()


def read_labels(frame: Any, name: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """A column as an array of labels, and which of them are missing.

    Numbers and booleans keep their type; anything else becomes objects.
    """
    series = nw.from_native(frame, eager_only=True)[name]
    missing = np.asarray(series.is_null().to_numpy(), dtype=bool)
    if series.dtype in (nw.Categorical, nw.Enum):
        # Labels are looked up once each, not once a row.
        column = factorise_series(series)
        return np.array([*column.labels, None], dtype=object)[column.codes], column.codes < 0
    values = np.asarray(series.to_numpy())
    if values.dtype.kind == "f":
        missing = missing | np.isnan(values)
    elif values.dtype.kind not in "biuMm":
        values = values.astype(object)
        missing = missing | np.fromiter(map(is_missing, values.tolist()), bool, len(values))
    return values, missing


def drop_column(frame: Any, name: str) -> Any:
    """The frame without one column."""
    return nw.from_native(frame, eager_only=True).drop(name).to_native()


def _family(dtype: Any) -> str:
    # Most frequent first: wide tables are asked for every batch.
    if isinstance(dtype, nw.String):
        return "text"
    if isinstance(dtype, (nw.Categorical, nw.Enum)):
        return "category"
    if dtype.is_numeric():
        return "number"
    for kind, family in _FAMILIES.items():
        if isinstance(dtype, kind):
            return family
    return str(dtype)
