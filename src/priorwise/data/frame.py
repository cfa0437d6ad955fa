"""Columns by name from any kind of table."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np


@dataclass(frozen=True)
class Frame:
    """Columns of a pandas, polars or Arrow table by name, of an array or list of lists by place.

    >>> frame = Frame.read([["a", 1], ["b", 2]])
    >>> frame.names, frame.n_rows
    ([0, 1], 2)
    """

    columns: dict[Hashable, Any]
    n_rows: int
    backend: str | None
    """Library the table came from; None for arrays and lists."""

    @classmethod
    def read(cls, table: Any) -> Frame:
        native = nw.from_native(table, eager_only=True, pass_through=True)
        if isinstance(native, nw.DataFrame):
            columns: dict[Hashable, Any] = {name: native[name] for name in native.columns}
            return cls(columns, len(native), str(native.implementation))
        if isinstance(table, np.ndarray):
            if table.ndim != 2:
                raise ValueError(f"an array must have 2 dimensions, got {table.ndim}")
            return cls(dict(enumerate(table.T)), len(table), None)
        if isinstance(table, Sequence) and not isinstance(table, str):
            return cls._read_lists(table)
        raise TypeError(
            "a table must be a pandas, polars or Arrow table, a NumPy array or a list of "
            f"lists, got {type(table).__name__}"
        )

    @classmethod
    def _read_lists(cls, rows: Sequence[Any]) -> Frame:
        for i, row in enumerate(rows):
            if not isinstance(row, Sequence) or isinstance(row, str):
                raise TypeError(f"row {i} must be a list, got {type(row).__name__}")
            if len(row) != len(rows[0]):
                raise ValueError(f"row {i} must have {len(rows[0])} values, got {len(row)}")
        return cls({i: list(column) for i, column in enumerate(zip(*rows, strict=True))},
                   len(rows), None)  # fmt: skip

    @property
    def names(self) -> list[Hashable]:
        return list(self.columns)

    def column(self, name: Hashable, role: str) -> Any:
        """The column of that name; role names the parameter in the error."""
        if name not in self.columns:
            known = ", ".join(repr(known) for known in self.names[:20])
            raise ValueError(f"{role} must name columns of the table ({known}), got {name!r}")
        return self.columns[name]
