"""How likely rows differ from those of training so much by chance alone.

All functions return logarithms of such chances, or of bounds on them, where any rows of both are as
likely the new ones as any others. `n_train` and `n_new` are numbers of rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, rel_entr

EXPONENTS = np.geomspace(1e-4, 50.0, 60)
"""Of Chernoff's bound, of which the least is taken."""


def all_new(
    n_rows: NDArray[np.float64] | float, n_train: float, n_new: float
) -> NDArray[np.float64]:
    """Return log of the chance that so many given rows are all among the new ones.

    >>> float(np.exp(all_new(2, 3, 2)).round(3))
    0.1
    """
    m = np.asarray(n_rows, dtype=np.float64)
    n, total = n_new, n_train + n_new
    inside = np.minimum(m, n)
    chance = gammaln(n + 1) - gammaln(n - inside + 1) - gammaln(total + 1)
    chance += gammaln(total - inside + 1)
    return np.where(m > n, -np.inf, np.minimum(chance, 0.0))


def beyond_range(n_below: int, n_above: int, n_train: float, n_new: float) -> float:
    """Return log of a bound on the chance of so many new numbers outside of training's range.

    The k numbers below the least of training are the k least of all, and all new.
    """
    farthest = float(all_new(max(n_below, n_above), n_train, n_new))
    return min(0.0, farthest + float(np.log(2.0)))


def never_seen(unseen: NDArray[np.int64], seen: NDArray[np.float64], n_train: float) -> float:
    """Return log of a bound on the chance of so many new rows with labels of no row of training.

    `unseen` are the rows of each label that training did not have, `seen` the rows of training of
    each label that it had, with those of the new rows. A label with m of all rows is unseen with
    the chance of `all_new`; the rows of such labels are bounded by Chernoff's inequality, which
    holds since labels that are unseen leave less room for others.
    """
    n_new = float(seen.sum() + unseen.sum()) - n_train
    rows = np.concatenate([seen, unseen])
    chance = all_new(rows, n_train, n_new)
    rows, chance = rows[np.isfinite(chance)], chance[np.isfinite(chance)]
    with np.errstate(divide="ignore"):
        otherwise = np.log(-np.expm1(chance))
    bounds = [
        float(np.logaddexp(otherwise, chance + t * rows).sum() - t * unseen.sum())
        for t in EXPONENTS.tolist()
    ]
    return min(0.0, *bounds)


def more_missing(n_missing: int, n_new: int, share: float, n_train: float) -> float:
    """Return log of a bound on the chance of so many missing values among the new rows.

    `share` of training is missing. Where it is none the chance is that of `all_new`; elsewhere it
    is Chernoff's bound for the share of either part.
    """
    if share == 0.0:
        return float(all_new(n_missing, n_train, n_new))
    together = (n_missing + share * n_train) / (n_new + n_train)
    parts = ((n_new, n_missing / n_new), (n_train, share))
    bounds = [
        -n * float(rel_entr(p, together) + rel_entr(1.0 - p, 1.0 - together)) for n, p in parts
    ]
    return min(0.0, *bounds) if n_missing > share * n_new else 0.0
