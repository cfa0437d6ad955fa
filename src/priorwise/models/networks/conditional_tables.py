"""The table of a factor as a frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from priorwise.counts import label_contexts
from priorwise.structure.networks import NetworkCounts

MAX_CELLS = 10_000_000


def tabulate_factor(
    counts: NetworkCounts,
    place: int,
    probabilities: NDArray[np.float64],
    rest: str,
    path_labels: Sequence[Sequence[Any]],
    value_labels: Sequence[Any],
    backend: str,
) -> Any:
    """The contexts of one factor, the rows counted there, and the probabilities of its values."""
    network, tree = counts.network, counts.feature_trees[place]
    if tree.n_nodes * tree.n_outcomes > MAX_CELLS:
        raise ValueError(
            f"a table of {tree.n_nodes} contexts and {tree.n_outcomes} values must have at most "
            f"{MAX_CELLS} cells: read count_trees_ instead"
        )
    parents = network.parents[network.order[place]]
    names = [str(network.class_name), *(network.feature_names[i] for i in parents)]
    columns: dict[str, Any] = dict(
        zip(_distinct(names), label_contexts(tree, path_labels), strict=True)
    )
    columns["rows" if "rows" not in columns else "rows counted"] = tree.totals
    table = tree.rows(probabilities, rest=rest)
    for label, p in zip(value_labels, table.T, strict=True):
        columns[f"p({label})"] = p
    chosen: Any = backend
    return nw.from_dict(columns, backend=chosen).to_native()


def _distinct(names: list[str]) -> list[str]:
    """A feature may be called as the class is."""
    return [f"{name} ({i})" if name in names[:i] else name for i, name in enumerate(names)]
