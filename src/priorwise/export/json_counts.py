"""Counts of rows from which the numbers of trees and networks follow, in less room than these."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.counts.packed_trees import PackedTrees, expand_rows
from priorwise.export.layout import Arrays, list_factors, trace_entries, whole
from priorwise.steps.networks.networks import Networks
from priorwise.steps.trees import Trees, list_levels

Floats = NDArray[np.float64]

MAX_DIFFERENCE = 1e-10
"""Largest change of a probability by rows of leaves that are computed from counts."""

UNIT = 2.0**24
"""Scores are multiples of one over this number."""

MAX_COUNT = 2.0**24
"""Rows of an entry are known exactly below this number, since they are stored in 32 bits."""


def find_leaf_counts(step: Trees) -> Arrays | None:
    """Return the counts of classes at leaves if the rows of all nodes follow from them.

    A node has the row p = (n + c p_parent) / (N + c), a root (n + 1 / n_classes) / (N + 1), both
    rounded to 32 bits. Leaf i has `n_kinds[i]` classes of `kind`, which rise, each with its
    `count`. Rows of two classes take little room, and browsers read them faster than counts.
    """
    if step.strength == 0.0 or step.n_classes <= 2 or len(step.bandwidth):
        return None
    trees, rows = step.trees, expand_rows(step.rows)
    counts = trees.unsmooth(rows, step.strength)
    if not np.array_equal(np.round(counts), counts) or counts.max(initial=0.0) >= 2**31:
        return None
    smoothed = _smooth(trees, counts, step.strength).astype(np.float32).astype(np.float64)
    difference = np.maximum.reduceat(np.abs(smoothed - rows).max(axis=1), trees.tree_start[:-1])
    if difference.sum() * step.factor / step.n_trees > MAX_DIFFERENCE:
        return None
    leaves = whole(counts[trees.is_leaf])
    row, kind = np.nonzero(leaves)
    n_kinds = np.bincount(row, minlength=len(leaves))
    return Arrays(
        strength=step.strength, n_kinds=whole(n_kinds), kind=whole(kind), count=leaves[row, kind]
    )


def _smooth(trees: PackedTrees, counts: Floats, strength: float) -> Floats:
    parent, total = trees.find_parents(), counts.sum(axis=1, keepdims=True)
    # Right for the roots, the first level; the others follow from those above.
    p = (counts + 1.0 / counts.shape[1]) / (total + 1.0)
    for level in list(list_levels(parent))[1:]:
        above = strength * p[parent[level]]
        p[level] = (counts[level] + above) / (total[level] + strength)
    return p


def find_cell_counts(step: Networks, networks: Arrays) -> Arrays | None:
    """Return the counts of the cells of those factors whose scores follow from them; or None.

    `is_counted` says for which factors. `concentration` and `weight` are those of each level of
    each factor, the root's first, then that of the class. `rest` are the rests of the entries
    `odd_entry`; those of other entries follow from the counts.
    """
    if not step.levels:
        return None
    levels = np.concatenate(step.levels, axis=1)
    n_rows = np.concatenate([product.n_rows for product in step.products]).astype(np.float64)
    is_counted, counts, odd_entry, rests = [], [np.empty(0)], [np.empty(0)], [np.empty(0)]
    first_level = first_entry = 0
    for factor in list_factors(networks):
        own_levels = levels[:, first_level : first_level + len(factor.path) + 2]
        own_rows = n_rows[first_entry : first_entry + len(factor.rest)]
        count, odd = _count_cells(factor, step.n_classes, own_levels, own_rows)
        is_counted.append(count is not None)
        if count is not None:
            counts.append(count)
            odd_entry.append(first_entry + odd)
            rests.append(factor.rest[odd])
        first_level, first_entry = first_level + own_levels.shape[1], first_entry + len(own_rows)
    return Arrays(
        is_counted=whole(is_counted),
        concentration=levels[0],
        weight=levels[1],
        count=whole(np.concatenate(counts)),
        odd_entry=whole(np.concatenate(odd_entry)),
        rest=np.concatenate(rests).astype(np.float32),
    ) if any(is_counted) else None  # fmt: skip


def _count_cells(factor: Arrays, n_classes: int, levels: Floats, n_rows: Floats) -> Any:
    """Return the counts of a factor's cells, and the entries whose rest does not follow from them.

    With q, the parent's estimate, and the concentration c and the weight C of its level, a cell
    with n of the N rows of its entry has::

        p = (n + c q) / (N + c),    score = parent's score + C (log p - log q)

    Scores are rounded, so that n is the nearest whole number; None if one of them differs then.
    """
    above, level, _ = trace_entries(factor, n_classes)
    n_cells = np.diff(factor.cell_start)
    entry = np.repeat(np.arange(len(above)), n_cells)
    place = entry * factor.n_outcomes + factor.outcome
    wanted = above[entry] * factor.n_outcomes + factor.outcome
    up = np.minimum(np.searchsorted(place, wanted), len(place) - 1)
    is_full = n_cells == factor.n_outcomes
    if (place[up] != wanted).any() or not (factor.rest_towards_parent or is_full.all()):
        return None, None
    (c, weight), score = levels[:, level], factor.score.astype(np.float64)
    count, p, exact = np.zeros((3, len(score)))
    with np.errstate(all="ignore"):
        for one in range(int(level.max(initial=-1)) + 1):
            cell = np.flatnonzero(level[entry] == one)
            own, total = entry[cell], n_rows[entry[cell]]
            q = p[up[cell]] if one else np.full(len(cell), 1.0 / factor.n_outcomes)
            log_q = np.log(q) if one else 0.0
            estimate = np.exp(log_q + (score[cell] - exact[up[cell]]) / weight[own])
            n = np.round(np.nan_to_num(estimate * (total + c[own]) - c[own] * q, nan=-1.0))
            count[cell] = np.clip(n, -1.0, MAX_COUNT)
            p[cell] = (count[cell] + c[own] * q) / (total + c[own])
            exact[cell] = exact[up[cell]] + weight[own] * (np.log(p[cell]) - log_q)
    n_counted = np.bincount(entry, count, minlength=len(n_rows))
    is_right = (n_counted == n_rows) & (n_counted < MAX_COUNT)
    if not (is_right.all() and (count >= 0.0).all() and (_round(exact) == score).all()):
        return None, None
    # C++ has rests from sums of probabilities, which are rounded.
    rest = weight * np.log(c / (n_rows + c)) - np.where(level == 0, np.log(factor.n_outcomes), 0.0)
    return count, np.flatnonzero(~is_full & (_round(rest) != factor.rest))


def _round(score: Floats) -> NDArray[np.float32]:
    """Return scores as C++ rounds them, half a unit away from zero."""
    rounded = np.sign(score) * np.floor(np.abs(score) * UNIT + 0.5) / UNIT
    return rounded.astype(np.float32)
