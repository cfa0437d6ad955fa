"""The arrays of networks as C reads them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.export.fixed_scores import find_answers
from priorwise.steps.programs.program import Networks


def join_contexts(step: Networks, places: list[dict[str, int]]) -> list[NDArray[Any]]:
    """Return the value of each context, and where its children and entries begin.

    A factor has one more context, where the children and entries of the last one end.
    """
    ends = [place["context"] + n for place, n in zip(places, step.n_contexts.tolist(), strict=True)]
    return [np.insert(step.value, ends, 0), step.child_start, step.entry_start]


def list_entries(
    step: Networks, places: list[dict[str, int]], tables: list[Any]
) -> tuple[list[NDArray[Any]], list[int]]:
    """Return the entries of factors without a table, and where each factor begins.

    An entry has the place where its cells begin, its class and what other outcomes have. A factor
    has one more entry, where the cells of the last one end.
    """
    cells, classes = [np.empty(0, dtype=np.int32)], [np.empty(0, dtype=np.int32)]
    rests, starts, n_listed = [np.empty(0, dtype=np.float32)], [], 0
    for f, (place, n_entries) in enumerate(zip(places, step.n_entries.tolist(), strict=True)):
        starts.append(n_listed)
        if tables[f] is not None:
            continue
        own = slice(place["entry"], place["entry"] + n_entries)
        n_listed += n_entries + 1
        cells.append(_cell_starts(step, place, f))
        classes.append(np.append(step.entry_class[own], 0).astype(np.int32))
        rests.append(np.append(step.rest[own], 0.0).astype(np.float32))
    return [np.concatenate(cells), np.concatenate(classes), np.concatenate(rests)], starts


def list_answers(
    step: Networks, places: list[dict[str, int]], tables: list[Any]
) -> tuple[NDArray[np.int32], list[int]]:
    """Return for factors with a table the row of each context and class, and where each begins."""
    answers, starts, n_listed = [np.empty(0, dtype=np.int32)], [], 0
    for f, (place, table) in enumerate(zip(places, tables, strict=True)):
        starts.append(n_listed)
        if table is not None:
            answers.append(find_answers(step, place, f).ravel() * table.shape[1])
            n_listed += len(answers[-1])
    return np.concatenate(answers), starts


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
