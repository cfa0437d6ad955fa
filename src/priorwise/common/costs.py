"""Costs of predicting one class where another is true, as matrices, dicts or frames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray


def check_cost_matrix(
    cost_matrix: Any, classes: NDArray[Any], n_rows: int | None = None
) -> NDArray[np.float64]:
    """Return the costs as an array in the order of the classes, or an error that names the rule.

    A dict has the costs of each true class by predicted class; those that are not there are zero
    for the right class and needed for the others. A frame has a column for each predicted class
    and a row for each true class, by its index or, without one, in the order of its columns. With
    `n_rows` there may be an array for each row.

    >>> classes = np.array(["bad", "good"])
    >>> check_cost_matrix({"bad": {"good": 5}, "good": {"bad": 1}}, classes)
    array([[0., 5.],
           [1., 0.]])
    """
    if isinstance(cost_matrix, Mapping):
        given: Any = _read_dict(cost_matrix, classes.tolist())
    else:
        frame = nw.from_native(cost_matrix, eager_only=True, pass_through=True)
        is_frame = isinstance(frame, nw.DataFrame)
        given = _read_frame(frame, classes.tolist()) if is_frame else cost_matrix
    cost, n_classes = np.asarray(given, dtype=np.float64), len(classes)
    if cost.shape not in ((n_classes, n_classes), (n_rows, n_classes, n_classes)):
        each = "" if n_rows is None else f", or so for each of {n_rows} rows"
        raise ValueError(
            f"cost_matrix must have a row and a column for each of {n_classes} classes{each}, "
            f"got shape {cost.shape}"
        )
    if not np.isfinite(cost).all():
        raise ValueError("cost_matrix must be finite, got NaN or infinity")
    return cost


def _read_dict(costs: Mapping[Any, Any], labels: list[Any]) -> list[list[Any]]:
    _check_labels("cost_matrix", list(costs), labels)
    for true, own in costs.items():
        if not isinstance(own, Mapping):
            raise TypeError(
                f"cost_matrix must be a dict of dicts, costs by true class and then by predicted "
                f"class, got {own!r} for the true class {true!r}"
            )
        _check_labels(f"cost_matrix[{true!r}]", [true, *own], labels)
    return [[0.0 if i == j and j not in costs[i] else costs[i][j] for j in labels] for i in labels]


def _read_frame(frame: Any, labels: list[Any]) -> Any:
    native = frame.to_native()
    columns = list(getattr(native, "columns", frame.columns))
    index = getattr(native, "index", None)
    rows = columns if index is None else list(index)
    numbers = list(range(len(labels)))
    if columns == numbers and rows == numbers:  # a frame without labels
        return native.to_numpy()
    if not isinstance(columns[0] if columns else None, str):
        names = {label: label for label in labels}
    else:
        names = {str(label): label for label in labels}
    columns = [names.get(name, name) for name in columns]
    rows = [{**names, **{one: one for one in labels}}.get(name, name) for name in rows]
    for side, found in (("columns", columns), ("rows", rows)):
        _check_labels(f"the {side} of cost_matrix", found, labels)
    costs = np.asarray(frame.to_numpy(), dtype=np.float64)
    return costs[
        np.ix_([rows.index(one) for one in labels], [columns.index(one) for one in labels])
    ]


def _check_labels(name: str, found: list[Any], labels: list[Any]) -> None:
    distinct = list(dict.fromkeys(found))
    if set(distinct) != set(labels):
        raise ValueError(f"{name} must have each of the classes {labels}, got {distinct}")
