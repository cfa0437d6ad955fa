"""The arrays of networks as C reads them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.export.layout import Arrays, list_factors, trace_entries

UNIT = 2.0**-24
"""Scores are multiples of this, see the core's score trees; sums of a few are, too."""
MAX_GROWTH = 4
"""A table of scores has at most this many cells for each listed score."""
MAX_ANSWERS = 16
"""The contexts of a factor with a table have at most this many answers for each entry."""

_TYPES = {
    **dict.fromkeys(("cell_start", "entry_class", "outcome", "fixed", "answer"), np.int32),
    **dict.fromkeys(("rest", "score"), np.float32),
}


def lay_out_factors(step: Arrays) -> tuple[list[NDArray[Any]], dict[str, NDArray[Any]]]:
    """Return the members of the factors, one array for each, and the arrays that they lead to.

    The scores of a factor are "fixed" ones of a table, with the row that "answer"s for each context
    and class, or else those of entries and cells. An entry has the place where its cells begin, its
    class and what other outcomes have; a factor has one more entry, where the cells of the last one
    end.
    """
    arrays: dict[str, list[NDArray[Any]]] = {name: [] for name in _TYPES}
    sizes = dict.fromkeys(_TYPES, 0)
    is_fixed, cell, entry = [], [], []
    for factor in list_factors(step):
        parts = _tabulate(factor, step.log_prior.shape[1]) or _list_entries(factor)
        is_fixed.append("fixed" in parts)
        cell.append(sizes["fixed" if is_fixed[-1] else "score"])
        entry.append(sizes["answer" if is_fixed[-1] else "rest"])
        for name, part in parts.items():
            arrays[name].append(part)
            sizes[name] += len(part)
    path = np.cumsum(step.n_parents) - step.n_parents
    start = np.cumsum(step.n_contexts + 1) - (step.n_contexts + 1)
    places = (is_fixed, step.rest_towards_parent, path, start, cell, entry)
    members = [np.asarray(one, dtype=np.int32) for one in places]
    joined = {
        name: np.concatenate([np.empty(0, dtype=kind), *arrays[name]]).astype(kind)
        for name, kind in _TYPES.items()
    }
    return [step.column, step.n_outcomes, step.n_parents, *members], joined


def _tabulate(factor: Arrays, n_classes: int) -> dict[str, NDArray[Any]]:
    """Return the scores of all outcomes and entries of a factor in units of `UNIT`.

    An outcome that an entry does not list has what its `rest` and the entries above say. C looks
    scores up in the table without a search. {} if it would be too large, or would not be exact.
    """
    n_entries, n_outcomes = len(factor.rest), factor.n_outcomes
    if n_entries * n_outcomes > MAX_GROWTH * max(len(factor.score), n_entries):
        return {}
    if len(factor.value) * n_classes > MAX_ANSWERS * n_entries:
        return {}
    table = np.full((n_entries, n_outcomes), np.nan)
    entries = np.repeat(np.arange(n_entries), np.diff(factor.cell_start))
    table[entries, factor.outcome] = factor.score
    above, _, nearest = trace_entries(factor, n_classes)
    for entry in np.flatnonzero(np.isnan(table).any(axis=1)).tolist():
        is_open = np.isnan(table[entry])
        table[entry, is_open] = factor.rest[entry]
        if entry > 0 and factor.rest_towards_parent:
            table[entry, is_open] += table[above[entry], is_open]
    units = table.ravel() / UNIT
    is_small = np.isfinite(units).all() and np.abs(units).max() < 2**31 - 1
    if not is_small or (units != np.round(units)).any():
        return {}
    return {"fixed": units, "answer": nearest.ravel() * n_outcomes}


def _list_entries(factor: Arrays) -> dict[str, NDArray[Any]]:
    return {
        "cell_start": factor.cell_start,
        "entry_class": np.append(factor.entry_class, 0),
        "rest": np.append(factor.rest, 0.0),
        "outcome": factor.outcome,
        "score": factor.score,
    }
