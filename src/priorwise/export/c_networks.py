"""The arrays of networks as C reads them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.export.program import Networks


def join_contexts(step: Networks, places: list[dict[str, int]]) -> list[NDArray[Any]]:
    """Return the value of each context, and where its children and entries begin.

    A factor has one more context, where the children and entries of the last one end.
    """
    ends = [place["context"] + n for place, n in zip(places, step.n_contexts.tolist(), strict=True)]
    return [np.insert(step.value, ends, 0), step.child_start, step.entry_start]


def join_entries(
    step: Networks, places: list[dict[str, int]], tables: list[Any]
) -> list[NDArray[Any]]:
    """Return where the cells of each entry begin, its class and what other outcomes have.

    A factor has one more entry, where the cells of the last one end.
    """
    n = len(step.entry_class) + len(places)
    cell, entry_class = np.zeros((2, n), dtype=np.int32)
    rest = np.zeros(n, dtype=np.float32)
    for f, (place, n_entries) in enumerate(zip(places, step.n_entries.tolist(), strict=True)):
        to, of = place["entry"] + f, place["entry"]
        entry_class[to : to + n_entries] = step.entry_class[of : of + n_entries]
        rest[to : to + n_entries] = step.rest[of : of + n_entries]
        if tables[f] is None:
            cell[to : to + n_entries + 1] = _cell_starts(step, place, f)
    return [cell, entry_class, rest]


def _cell_starts(step: Networks, place: dict[str, int], f: int) -> NDArray[np.int32]:
    n_entries = int(step.n_entries[f])
    if step.is_dense[f]:
        return np.arange(n_entries + 1, dtype=np.int32) * step.n_outcomes[f]
    return step.cell_start[place["cell_start"] :][: n_entries + 1]


def list_cells(
    step: Networks, places: list[dict[str, int]], tables: list[Any]
) -> tuple[list[NDArray[Any]], list[int]]:
    """Return outcome and score of each cell of factors without a table, and where each begins."""
    outcomes, scores = [np.empty(0, dtype=np.int32)], [np.empty(0, dtype=np.float32)]
    starts, n_listed = [], 0
    for f, (place, n_cells) in enumerate(zip(places, step.n_cells.tolist(), strict=True)):
        starts.append(n_listed)
        if tables[f] is not None:
            continue
        n_listed += n_cells
        scores.append(step.score[place["cell"] :][:n_cells])
        if step.is_dense[f]:
            outcomes.append(np.arange(n_cells, dtype=np.int32) % step.n_outcomes[f])
        else:
            outcomes.append(step.outcome[place["outcome"] :][:n_cells])
    return [np.concatenate(outcomes), np.concatenate(scores)], starts
