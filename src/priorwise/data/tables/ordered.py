"""Ordered categories, which are read as their ranks: 0 is the least."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.data.tables.categories import Categories
from priorwise.data.tables.factorise import NominalColumn
from priorwise.data.tables.label_keys import label_key, spell_label


def read_order(
    table: Any, i: int, encoder: Any, feature_names: Sequence[str], marks: frozenset[Hashable]
) -> Categories:
    """Return the labels of an ordered column in their order.

    They are those that `ordinal_features` lists for it, else those of its type. ValueError, which
    names the column, if neither has an order.
    """
    chosen = encoder.ordinal_features
    labels = table.declared_labels(i) if table.is_ordered(i, enums=True) else None
    if isinstance(chosen, Mapping):
        name = feature_names[i] if len(feature_names) else i
        labels = chosen.get(name, chosen.get(i, labels))
        if isinstance(labels, str) or len(set(map(label_key, labels))) < len(labels):
            raise ValueError(
                f"ordinal_features must list each value of column {table.name(i)} once, "
                f"got {labels!r}"
            )
    if labels is None:
        raise ValueError(
            f"ordinal_features must list the values of column {table.name(i)} in their order, "
            "since its type has none: a dict such as {'size': ['small', 'large']}"
        )
    order = Categories(marks)
    order.declare([spell_label(label) for label in labels])
    return order


def to_ranks(order: Categories, column: NominalColumn) -> NDArray[np.float64]:
    """Return the rank of each row; NaN if it is missing or a label that the order does not have.

    >>> order = Categories()
    >>> order.declare(["low", "high"])
    >>> to_ranks(order, NominalColumn(["high", "other"], np.array([0, 1, -1])))
    array([ 1., nan, nan])
    """
    codes = order.encode(column)
    return np.where(codes < 0, np.nan, codes)


def refuse_unlisted(order: Categories, column: NominalColumn, name: str) -> None:
    """Raise ValueError, which names the column, if training has a label without a rank."""
    unlisted = [
        label
        for label, key in zip(column.labels, column.keys, strict=True)
        if key not in order.marks and order.code(label) < 0
    ]
    if unlisted:
        raise ValueError(
            f"ordinal_features must list every value of column {name}, got {unlisted[0]!r} in X"
        )


def name_ranks(order: Categories, cut_points: NDArray[np.float64]) -> list[str]:
    """Return the labels of the bins of ranks: one label, or the first and the last.

    >>> order = Categories()
    >>> order.declare(["low", "middle", "high"])
    >>> name_ranks(order, np.array([1.5]))
    ['low..middle', 'high']
    """
    n = len(order.labels)
    edges = [0, *(min(max(int(np.floor(cut)) + 1, 0), n) for cut in cut_points), n]
    return [
        f"{order.labels[low]}..{order.labels[high - 1]}"
        if high - low > 1
        else str(order.labels[min(low, n - 1)])
        for low, high in pairwise(edges)
    ]
