"""Scores of networks as tables of whole numbers, which C looks up without a search."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from priorwise.steps.programs.program import Networks

UNIT = 2.0**-24
"""Scores are multiples of this, see the core's score trees; sums of a few are, too."""
MAX_GROWTH = 4
"""A table has at most this many cells for each listed score."""
MAX_ANSWERS = 16
"""The contexts of a factor with a table have at most this many answers for each entry."""


def tabulate_scores(step: Networks, place: dict[str, int], f: int) -> NDArray[np.int32] | None:
    """Return the scores of all outcomes (n_entries, n_outcomes) of a factor in units of `UNIT`.

    An outcome that an entry does not list has what its `rest` and the entries above say. None if
    the table would be too large, or if it would not be exact.
    """
    n_entries, n_outcomes = int(step.n_entries[f]), int(step.n_outcomes[f])
    n_cells = int(step.n_cells[f])
    n_answers = int(step.n_contexts[f]) * step.log_prior.shape[1]
    if n_entries * n_outcomes > MAX_GROWTH * max(n_cells, n_entries):
        return None
    if n_answers > MAX_ANSWERS * n_entries:
        return None
    scores = step.score[place["cell"] : place["cell"] + n_cells].astype(np.float64)
    if step.is_dense[f]:
        table = scores.reshape(n_entries, n_outcomes)
    else:
        first = place["cell_start"]
        n_listed = np.diff(step.cell_start[first : first + n_entries + 1])
        table = np.full((n_entries, n_outcomes), np.nan)
        outcome = step.outcome[place["outcome"] : place["outcome"] + n_cells]
        table[np.repeat(np.arange(n_entries), n_listed), outcome] = scores
        rest = step.rest[place["entry"] : place["entry"] + n_entries].astype(np.float64)
        above = _find_entries(step, place, f)[0]
        for entry in range(n_entries):
            is_open = np.isnan(table[entry])
            table[entry, is_open] = rest[entry]
            if entry > 0 and step.rest_towards_parent[f]:
                table[entry, is_open] += table[above[entry], is_open]
    units = table / UNIT
    if not np.isfinite(units).all() or np.abs(units).max() >= 2**31 - 1:
        return None
    whole = units.astype(np.int32)
    return whole if np.array_equal(whole, units) else None


def find_answers(step: Networks, place: dict[str, int], f: int) -> NDArray[np.int32]:
    """Return the entry that answers for each context and class (n_contexts, n_classes)."""
    return np.array(_find_entries(step, place, f)[1], dtype=np.int32)


def _find_entries(
    step: Networks, place: dict[str, int], f: int
) -> tuple[list[int], list[list[int]]]:
    """Return, for each entry, that of its class in the nearest context above, or the first.

    Then, for each context and class, the entry of the nearest context from there on up.
    """
    n_contexts, n_classes = int(step.n_contexts[f]), step.log_prior.shape[1]
    bounds = slice(place["start"], place["start"] + n_contexts + 1)
    child_start, entry_start = step.child_start[bounds].tolist(), step.entry_start[bounds].tolist()
    entry_class = step.entry_class[place["entry"] :].tolist()
    above = [0] * int(step.n_entries[f])
    nearest: list[list[int]] = [[0] * n_classes for _ in range(n_contexts)]
    # Children come after their parents.
    for context in range(n_contexts):
        own = nearest[context]
        for entry in range(max(1, entry_start[context]), entry_start[context + 1]):
            above[entry] = own[entry_class[entry]]
            own[entry_class[entry]] = entry
        for child in range(child_start[context], child_start[context + 1]):
            nearest[child] = list(own)
    return above, nearest
