"""Which columns of a table are nominal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.data.tables.columns import RawTable


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
