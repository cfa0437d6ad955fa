"""The arrays of networks as C reads them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.export.fixed_scores import find_answers, tabulate_scores
from priorwise.steps.programs.program import Factor, Networks

_TYPES = {
    **dict.fromkeys(("cell_start", "entry_class", "outcome", "fixed", "answer"), np.int32),
    **dict.fromkeys(("rest", "score"), np.float32),
}


def lay_out_factors(step: Networks) -> tuple[list[NDArray[Any]], dict[str, NDArray[Any]]]:
    """Return the members of the factors, one array for each, and the arrays that they lead to.

    The scores of a factor are "fixed" ones of a table, with the row that "answer"s for each context
    and class, or else those of entries and cells. An entry has the place where its cells begin, its
    class and what other outcomes have; a factor has one more entry, where the cells of the last one
    end.
    """
    arrays: dict[str, list[NDArray[Any]]] = {name: [] for name in _TYPES}
    sizes = dict.fromkeys(_TYPES, 0)
    is_fixed, cell, entry = [], [], []
    for factor in step.list_factors():
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


def _tabulate(factor: Factor, n_classes: int) -> dict[str, NDArray[Any]]:
    table = tabulate_scores(factor, n_classes)
    if table is None:
        return {}
    answer = find_answers(factor, n_classes).ravel() * table.shape[1]
    return {"fixed": table.ravel(), "answer": answer}


def _list_entries(factor: Factor) -> dict[str, NDArray[Any]]:
    return {
        "cell_start": factor.cell_start,
        "entry_class": np.append(factor.entry_class, 0),
        "rest": np.append(factor.rest, 0.0),
        "outcome": factor.outcome,
        "score": factor.score,
    }


def join_contexts(step: Networks) -> list[NDArray[Any]]:
    """Return the value of each context, and where its children and entries begin.

    A factor has one more context, where the children and entries of the last one end.
    """
    return [
        np.insert(step.value, np.cumsum(step.n_contexts), 0),
        step.child_start,
        step.entry_start,
    ]
