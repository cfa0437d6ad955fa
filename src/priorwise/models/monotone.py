"""Monotone constraints: features that the probability of the second class rises or falls with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from priorwise.common.validation import name_near
from priorwise.data.encoding import TableEncoder


def read_directions(monotonic_cst: Any, encoder: TableEncoder, n_classes: int) -> tuple[int, ...]:
    """Return the direction of each feature, -1, 0 or 1; empty if `monotonic_cst` has none.

    ValueError, which names the parameter, if it is not one entry for each feature or a dict by
    names, if there are more than two classes, or if a column of labels without order has one.
    """
    if monotonic_cst is None:
        return ()
    names = encoder.feature_names
    if isinstance(monotonic_cst, Mapping):
        unknown = [name for name in monotonic_cst if name not in names]
        if unknown:
            near = name_near(unknown[0], list(names))
            raise ValueError(f"monotonic_cst must name columns of X, got {unknown[0]!r}{near}")
        given: Any = [monotonic_cst.get(name, 0) for name in names]
    else:
        given = monotonic_cst
    directions = np.asarray(given)
    n_features = len(encoder.is_nominal_)
    if directions.shape != (n_features,) or not np.isin(directions, (-1, 0, 1)).all():
        raise ValueError(
            f"monotonic_cst must be a dict by names or {n_features} numbers -1, 0 or 1, one for "
            f"each feature, got {monotonic_cst!r}"
        )
    if not directions.any() or n_classes < 2:
        return ()
    if n_classes > 2:
        raise ValueError(f"monotonic_cst must be None with more than 2 classes, got {n_classes}")
    without_order = np.flatnonzero(encoder.is_nominal_ & (directions != 0)).tolist()
    if without_order:
        name = repr(names[without_order[0]]) if names else without_order[0]
        raise ValueError(
            f"monotonic_cst must be 0 for columns of labels, got column {name}: list its values in "
            "ordinal_features if they have an order"
        )
    return tuple(int(direction) for direction in directions)
