"""Rows that are given as dicts, as a service gets them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from priorwise.common.texts import say_missing
from priorwise.common.validation import is_dict_rows, name_near


@dataclass(frozen=True, eq=False)
class DictRows:
    """Rows as objects, of shape (n_rows, n_columns), and the names of their columns."""

    names: list[str]
    cells: NDArray[Any]

    def __len__(self) -> int:
        return len(self.cells)

    def to_frame(self) -> Any:
        """Return a pandas frame, for classifiers of other libraries."""
        columns = dict(zip(self.names, self.cells.T.tolist(), strict=True))
        return nw.from_dict(columns, backend="pandas").to_native()


def as_dict_rows(X: Any, names: Sequence[str] | None = None, target: str | None = None) -> Any:
    """Return a dict, which is one row, or a list of dicts as `DictRows`; anything else as it is.

    The columns are `names`, or else the keys of the first row; each row must have them and no
    others but the `target`, which is left out.

    >>> as_dict_rows([{"a": 1, "b": "x"}, {"b": None, "a": 2}]).cells.tolist()
    [[1, 'x'], [2, None]]
    """
    if isinstance(X, DictRows):
        if names is None or X.names == names:
            return X
        X = [dict(zip(X.names, cells, strict=True)) for cells in X.cells.tolist()]
    if not is_dict_rows(X):
        return X
    rows = [X] if isinstance(X, Mapping) else X
    columns = list(rows[0] if names is None else names)
    if not columns:
        raise ValueError(
            "X must be an array, as in training, whose columns have no names: got dicts"
        )
    known, with_target = set(columns), {*columns, target}
    for place, row in enumerate(rows):
        if not (isinstance(row, Mapping) and known <= row.keys() <= with_target):
            raise _wrong_row(place, row, columns, target)
    cells = np.empty((len(rows), len(columns)), dtype=object, order="F")
    for i, name in enumerate(columns):
        cells[:, i] = np.fromiter((row[name] for row in rows), object, len(rows))
        for kind in set(map(type, cells[:, i].tolist())):
            if issubclass(kind, Sized) and not issubclass(kind, str | bytes | tuple):
                raise ValueError(
                    f"a dict must hold one row of X, a single value for each column, got "
                    f"{kind.__name__} for {name!r}: pandas.DataFrame(X) reads a dict of columns"
                )
    return DictRows(columns, cells)


def _wrong_row(
    place: int, row: Any, columns: Sequence[str], target: str | None
) -> TypeError | ValueError:
    """Return the error for a row that is no dict or has other keys."""
    if not isinstance(row, Mapping):
        return TypeError(
            f"X must hold dicts only, as its row 0 is one, got {row!r:.40} in row {place}"
        )
    missing = [name for name in columns if name not in row]
    extra = [name for name in row if name not in columns and name != target]
    if missing:
        near = name_near(missing[0], extra)
        return ValueError(
            f"{say_missing(missing)} in row {place} of X: None stands for a missing value{near}"
        )
    return ValueError(
        f"X must have the columns {list(columns)!r:.200}, got {extra[0]!r} in row {place}"
    )
