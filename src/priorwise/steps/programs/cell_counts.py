"""Counts of rows at the cells of weighted networks, from which their scores follow."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.steps.programs.program import CellCounts, Floats, Networks

UNIT = 2.0**24
"""Scores are multiples of one over this number."""

MAX_COUNT = 2.0**24
"""Rows of an entry are known exactly below this number, since they are stored in 32 bits."""


def find_cell_counts(networks: Networks, levels: Floats, n_rows: NDArray[Any]) -> CellCounts | None:
    """Return the counts of the cells of those factors whose scores follow from them; or None.

    `levels` has the concentration c and the weight C of each level of each factor, the root's
    first, then that of the class; `n_rows` the rows of each entry. With q, the parent's estimate, a
    cell with n of the N rows of its entry has::

        p = (n + c q) / (N + c),    score = parent's score + C (log p - log q)

    Scores are rounded, so that n is the nearest whole number; all scores are compared afterwards.
    """
    cells = _Cells(networks, levels, n_rows)
    bad = cells.solve()
    counted = ~bad
    if not counted.any():
        return None
    entry, rest = cells.compare_rests(counted)
    return CellCounts(
        counted.astype(np.int32),
        levels[0],
        levels[1],
        cells.count[counted[cells.cell_factor]].astype(np.int32),
        entry.astype(np.int32),
        rest,
    )


class _Cells:
    """The entries and cells of all factors with the entry and the cell above each of them."""

    def __init__(self, networks: Networks, levels: Floats, n_rows: NDArray[Any]) -> None:
        self.networks, self.n_rows = networks, n_rows.astype(np.float64)
        self.concentration, self.weight = levels
        n_factors, n_contexts = len(networks.column), int(networks.n_contexts.sum())
        context_factor = np.repeat(np.arange(n_factors), networks.n_contexts)
        # Arrays of starts have one number more than contexts, for each factor.
        start = np.arange(n_contexts) + context_factor
        n_children = networks.child_start[start + 1] - networks.child_start[start]
        n_entries = networks.entry_start[start + 1] - networks.entry_start[start]
        is_root = np.diff(context_factor, prepend=-1) > 0
        above = np.arange(n_contexts)
        above[~is_root] = np.repeat(np.arange(n_contexts), n_children)
        depth = np.zeros(n_contexts, dtype=np.int64)
        for _ in range(int(networks.n_parents.max(initial=0))):
            depth = np.where(is_root, 0, depth[above] + 1)
        context = np.repeat(np.arange(n_contexts), n_entries)
        self.entry_factor = context_factor[context]
        kind = networks.entry_class.astype(np.int64)
        self.entry_level = np.where(kind < 0, 0, depth[context] + 1)
        # Entries are in the order of contexts and classes, the root's of all classes first.
        width = networks.log_prior.shape[1] + 1
        known = context * width + kind + 1
        wanted = np.where(is_root[context], context * width, above[context] * width + kind + 1)
        self.entry_above, found = _search(known, wanted)
        self.is_bad = np.zeros(n_factors, dtype=bool)
        self.is_bad[self.entry_factor[~found]] = True
        first_level = np.cumsum(networks.n_parents + 2) - (networks.n_parents + 2)
        self.entry_place = first_level[self.entry_factor] + self.entry_level
        self._find_cells()

    def _find_cells(self) -> None:
        networks = self.networks
        is_dense = networks.is_dense.astype(bool)
        n_outcomes = networks.n_outcomes.astype(np.int64)
        entry_is_dense = is_dense[self.entry_factor]
        self.n_cells = n_outcomes[self.entry_factor]
        places = np.arange(int((~entry_is_dense).sum()))
        sparse_factor = (np.cumsum(~is_dense) - 1)[self.entry_factor[~entry_is_dense]]
        starts = places + sparse_factor
        self.n_cells[~entry_is_dense] = (
            networks.cell_start[starts + 1] - networks.cell_start[starts]
        )
        self.cell_entry = np.repeat(np.arange(len(self.n_cells)), self.n_cells)
        self.cell_factor = self.entry_factor[self.cell_entry]
        first = np.cumsum(self.n_cells) - self.n_cells
        outcome = np.arange(len(self.cell_entry)) - first[self.cell_entry]
        outcome[~is_dense[self.cell_factor]] = networks.outcome
        most = int(n_outcomes.max(initial=1))
        known = self.cell_entry * most + outcome
        wanted = self.entry_above[self.cell_entry] * most + outcome
        self.cell_above, found = _search(known, wanted)
        self.is_bad[self.cell_factor[~found]] = True

    def solve(self) -> NDArray[np.bool_]:
        """Find the counts level by level; return the factors whose scores do not follow."""
        score = self.networks.score.astype(np.float64)
        self.count = np.zeros(len(score))
        p, exact = np.zeros(len(score)), np.zeros(len(score))
        level = self.entry_level[self.cell_entry]
        with np.errstate(all="ignore"):
            for one in range(int(level.max(initial=-1)) + 1):
                cell = np.flatnonzero(level == one)
                entry, above = self.cell_entry[cell], self.cell_above[cell]
                place, total = self.entry_place[entry], self.n_rows[entry]
                c, weight = self.concentration[place], self.weight[place]
                q = 1.0 / self.networks.n_outcomes[self.cell_factor[cell]] if one == 0 else p[above]
                before = exact[above] if one > 0 else weight * np.log(q)
                estimate = q * np.exp((score[cell] - before) / weight)
                count = np.round(np.nan_to_num(estimate * (total + c) - c * q, nan=-1.0))
                count = np.clip(count, -1.0, MAX_COUNT)
                p[cell] = (count + c * q) / (total + c)
                log_p = np.log(p[cell])
                exact[cell] = weight * log_p if one == 0 else before + weight * (log_p - np.log(q))
                self.count[cell] = count
                is_wrong = (round_score(exact[cell]) != score[cell]) | (count < 0.0)
                self.is_bad[self.cell_factor[cell[is_wrong]]] = True
        n_counted = np.bincount(self.cell_entry, self.count, minlength=len(self.n_rows))
        is_wrong = (n_counted != self.n_rows) | (n_counted >= MAX_COUNT)
        self.is_bad[self.entry_factor[is_wrong]] = True
        is_dense = self.networks.is_dense.astype(bool)
        self.is_bad |= ~is_dense & ~self.networks.rest_towards_parent.astype(bool)
        return self.is_bad

    def compare_rests(
        self, counted: NDArray[np.bool_]
    ) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """Return the entries of counted factors whose rest does not follow exactly, and the rests.

        C++ has them from sums of probabilities, which are rounded.
        """
        n_outcomes = self.networks.n_outcomes[self.entry_factor]
        is_used = counted[self.entry_factor] & (self.n_cells < n_outcomes)
        entry = np.flatnonzero(is_used)
        c, weight = (
            self.concentration[self.entry_place[entry]],
            self.weight[self.entry_place[entry]],
        )
        rest = weight * np.log(c / (self.n_rows[entry] + c))
        rest -= np.where(self.entry_level[entry] == 0, np.log(n_outcomes[entry]), 0.0)
        differs = entry[round_score(rest) != self.networks.rest[entry]]
        return differs, self.networks.rest[differs]


def round_score(score: Floats) -> NDArray[np.float32]:
    """Return scores as C++ rounds them, half a unit away from zero."""
    rounded = np.sign(score) * np.floor(np.abs(score) * UNIT + 0.5) / UNIT
    return rounded.astype(np.float32)


def _search(
    known: NDArray[np.int64], wanted: NDArray[np.int64]
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the place of each wanted number among rising ones, and whether it is there."""
    place = np.minimum(np.searchsorted(known, wanted), max(len(known) - 1, 0))
    return place, known[place] == wanted
