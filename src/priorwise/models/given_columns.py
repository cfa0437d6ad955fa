"""Columns of a table that are named by users: a target and those that it depends on."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.runtime import DataWarning, warn_user
from priorwise.common.validation import name_near
from priorwise.data.tables import RawTable
from priorwise.data.tables.label_keys import NominalColumn, as_float, is_number

MAX_NUMBERS = 64
"""Most different numbers of a column that are taken as labels. More of them are measurements: in a
table of 1,000 rows, a label then has 15 rows before any other column divides them."""


def read_table(frame: Any) -> RawTable:
    """Read a table, an array or a list of rows."""
    if isinstance(frame, str) or not hasattr(frame, "__len__"):
        raise TypeError(
            "frame must be a pandas, polars or Arrow table, an array, a list of lists or of dicts, "
            f"got {type(frame).__name__}"
        )
    if len(frame) == 0:
        raise ValueError("frame must have at least one row, got 0")
    if isinstance(frame, np.ndarray) and frame.ndim != 2:
        raise ValueError(f"frame must have 2 dimensions, got {frame.ndim}")
    return RawTable(frame, marks=frozenset())


def as_array(labels: Sequence[Hashable]) -> NDArray[Any]:
    """Return labels as they are: NumPy would make text of mixed ones, and rows of tuples."""
    kinds = {type(label) for label in labels}
    if len(kinds) == 1 and not issubclass(kinds.pop(), tuple):
        return np.asarray(labels)
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


def check_given(given: Any, target: Hashable) -> list[Hashable]:
    """Return the columns to condition on; raise an error if they are not a list without target."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise TypeError(f"given must be a list of columns, got {given!r}")
    if target in given:
        raise ValueError(f"given must not hold the target, got {target!r} in {list(given)!r}")
    if len(set(given)) < len(given):
        raise ValueError(f"given must name each column once, got {list(given)!r}")
    return list(given)


def check_target(target: Hashable, column: NominalColumn) -> None:
    """Raise ValueError if a target holds measurements; warn if it has many numbers."""
    labels = column.labels
    if not all(is_number(label) for label in labels):
        return
    parts = [label for label in labels if not as_float(label).is_integer()]
    advice = "cut it into classes first, or pass it as text if each number is a class"
    if parts:
        raise ValueError(
            f"target {target!r} must hold labels or whole numbers, got {len(labels):,} different "
            f"numbers such as {parts[0]}: {advice}"
        )
    if len(labels) > MAX_NUMBERS:
        warn_user(
            f"target {target!r} has {len(labels):,} different numbers in "
            f"{len(column.codes):,} rows, and each is a class: {advice}",
            DataWarning,
        )


def find_column(table: RawTable, name: Hashable, role: str) -> int:
    """Return the place of a column by its name."""
    if name not in table.names:
        known = ", ".join(repr(known) for known in table.names[:20])
        near = name_near(name, table.names)
        raise ValueError(f"{role} must name columns of the table ({known}), got {name!r}{near}")
    return table.names.index(name)
