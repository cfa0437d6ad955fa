"""Scores of networks as tables of whole numbers, which C looks up without a search."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from priorwise.steps.programs.program import Factor

UNIT = 2.0**-24
"""Scores are multiples of this, see the core's score trees; sums of a few are, too."""
MAX_GROWTH = 4
"""A table has at most this many cells for each listed score."""
MAX_ANSWERS = 16
"""The contexts of a factor with a table have at most this many answers for each entry."""


def tabulate_scores(factor: Factor, n_classes: int) -> NDArray[np.int32] | None:
    """Return the scores of all outcomes (n_entries, n_outcomes) of a factor in units of `UNIT`.

    An outcome that an entry does not list has what its `rest` and the entries above say. None if
    the table would be too large, or if it would not be exact.
    """
    n_entries, n_outcomes = len(factor.rest), factor.n_outcomes
    if n_entries * n_outcomes > MAX_GROWTH * max(len(factor.score), n_entries):
        return None
    if len(factor.value) * n_classes > MAX_ANSWERS * n_entries:
        return None
    table = np.full((n_entries, n_outcomes), np.nan)
    entries = np.repeat(np.arange(n_entries), np.diff(factor.cell_start))
    table[entries, factor.outcome] = factor.score
    above = _find_entries(factor, n_classes)[0]
    for entry in np.flatnonzero(np.isnan(table).any(axis=1)).tolist():
        is_open = np.isnan(table[entry])
        table[entry, is_open] = factor.rest[entry]
        if entry > 0 and factor.rest_towards_parent:
            table[entry, is_open] += table[above[entry], is_open]
    units = table / UNIT
    if not np.isfinite(units).all() or np.abs(units).max() >= 2**31 - 1:
        return None
    whole = units.astype(np.int32)
    return whole if np.array_equal(whole, units) else None


def find_answers(factor: Factor, n_classes: int) -> NDArray[np.int32]:
    """Return the entry that answers for each context and class (n_contexts, n_classes)."""
    return np.array(_find_entries(factor, n_classes)[1], dtype=np.int32)


def _find_entries(factor: Factor, n_classes: int) -> tuple[list[int], list[list[int]]]:
    """Return, for each entry, that of its class in the nearest context above, or the first.

    Then, for each context and class, the entry of the nearest context from there on up.
    """
    n_contexts, entry_class = len(factor.value), factor.entry_class.tolist()
    child_start, entry_start = factor.child_start.tolist(), factor.entry_start.tolist()
    above = [0] * len(entry_class)
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
