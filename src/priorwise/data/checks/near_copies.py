"""Near-copies: rows much nearer to another row than chance puts them, and of the same class."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from priorwise.common.numeric import gen_batches
from priorwise.data.checks.findings import Finding

NEAR, FAR = 10, 20
"""Rows have the neighbours from `NEAR` to `FAR` at typical distances."""
MIN_ROWS, MAX_ROWS, MAX_NUMBERS = 60, 100_000, 16
"""Fewest and most rows, and most continuous numbers, that are compared."""
N_SCREENED = 100
"""Rows that are compared at first. If less than `MIN_SHARE` of them are near-copies, no more are: a
table with 5 % of near-copies is passed over with a chance of 4 %, and the search takes 3 to 6 % of
a fit with the effort "fast" instead of 8 to 24."""
MIN_COMPARED, MAX_PAIRS = 250, 5_000_000
"""Rows compared then: as many as make `MAX_PAIRS` pairs, but at least the first number."""
MAX_CHANCE = 1e-3
"""Chance of a nearest neighbour as near as that of a near-copy, where rows are independent."""
MIN_NEAR, MIN_SHARE, MIN_DEVIATIONS = 10, 0.02, 3.0
"""Least number and share of near-copies, and by how many standard deviations their classes agree
more often than those of typical neighbours. Of 960 clean generated tables (clusters, curves,
spikes, rounded numbers, tails) and 88 visible sets none has as many; 2026-11."""
N_KNOTS = 33
BATCH_ROWS = 256

_RANKS = np.arange(NEAR, FAR)
DIMENSION_FACTOR = float(np.mean([(1.0 / np.arange(i, FAR)).sum() for i in _RANKS]))
"""Mean of log (distance of the last / distance of the other typical neighbours), times the
dimension, of rows that are independent."""


def find_near_copies(continuous: NDArray[np.float64], y: NDArray[np.int32]) -> Iterator[Finding]:
    """Find rows that are nearly copies, such as visits of one patient, and share the class.

    Rows are given by their continuous numbers (n_features, n_rows) and their classes.
    Where rows are independent and m is the dimension of the space they fill near a row, the nearest
    neighbour is at most r times as far as the tenth with the chance 9 r^m, about.
    """
    known = np.flatnonzero(~np.isnan(continuous).any(axis=0))
    if len(continuous) < 2 or not MIN_ROWS <= len(known) <= MAX_ROWS:
        return
    rows, y = _spread_evenly(continuous[:, known]), y[known]
    n_compared = min(len(y), max(MIN_COMPARED, MAX_PAIRS // len(y)))
    for n_rows, least in ((min(N_SCREENED, n_compared), 1), (n_compared, MIN_NEAR)):
        compared = np.linspace(0, len(y) - 1, n_rows).astype(np.intp)
        neighbours, distance = _find_neighbours(rows, compared)
        near = _find_near(distance)
        if len(near) < max(least, MIN_SHARE * n_rows):
            return
    agrees = y[neighbours[near]] == y[compared[near], None]
    typical = float(agrees[:, NEAR - 1 :].mean())
    spread = np.sqrt(max(typical * (1.0 - typical), 0.01) / len(near))
    if agrees[:, 0].mean() - typical > MIN_DEVIATIONS * spread:
        yield Finding(
            "near-copies", "", f"about {len(near) / n_compared:.0%} of the rows are nearly copies "
            f"of another row, whose class is the same in {agrees[:, 0].mean():.0%} of them, "
            f"that of other near rows in {typical:.0%}: out-of-fold scores are too good if such "
            "rows belong together, as visits of a patient do",
            "say what belongs together by groups=",
        )  # fmt: skip


def _find_near(distance: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the places of the rows whose nearest neighbour is nearer than chance puts it."""
    with np.errstate(invalid="ignore", divide="ignore"):
        log_ratio = np.log(distance[:, -1:] / distance[:, NEAR - 1 : -1]).mean(axis=1)
    usable = np.flatnonzero(np.isfinite(distance).all(axis=1) & np.isfinite(log_ratio))
    if not len(usable):
        return usable
    # Not more than the mean dimension: near a row it is measured by few neighbours.
    log_ratio = log_ratio[usable]
    dimension = DIMENSION_FACTOR / np.maximum(log_ratio, max(log_ratio.mean(), 1e-9))
    ratio = distance[usable, 0] / distance[usable, NEAR - 1]
    return usable[(NEAR - 1) * ratio**dimension <= MAX_CHANCE]


def _spread_evenly(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return some of the numbers (n_rows, n_features), spread evenly from 0 to 1."""
    some = np.linspace(0, len(values) - 1, min(len(values), MAX_NUMBERS)).astype(np.intp)
    shares = np.linspace(0.0, 1.0, N_KNOTS)
    # Slopes between numbers as small, or as large, as there are overflow: such columns are zero.
    with np.errstate(all="ignore"):
        spread = [np.interp(own, np.quantile(own, shares), shares) for own in values[some]]
    return np.nan_to_num(np.stack(spread, axis=1), posinf=0.0, neginf=0.0)


def _find_neighbours(
    rows: NDArray[np.float64], compared: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the `FAR` nearest rows of some, and their distances; rows that are equal come last."""
    coarse = rows.astype(np.float32)
    squares = np.einsum("nf,nf->n", coarse, coarse)
    neighbours = np.empty((len(compared), FAR), dtype=np.intp)
    distance = np.empty((len(compared), FAR))
    for batch in gen_batches(len(compared), BATCH_ROWS):
        own = compared[batch]
        about = squares - (np.float32(2.0) * coarse[own]) @ coarse.T
        about[np.arange(len(own)), own] = np.inf
        nearest = np.argpartition(about, FAR - 1, axis=1)[:, :FAR]
        exact = ((rows[own, None] - rows[nearest]) ** 2).sum(axis=2)
        exact[exact == 0.0] = np.inf
        order = np.argsort(exact, axis=1, kind="stable")
        neighbours[batch] = np.take_along_axis(nearest, order, axis=1)
        distance[batch] = np.sqrt(np.take_along_axis(exact, order, axis=1))
    return neighbours, distance
