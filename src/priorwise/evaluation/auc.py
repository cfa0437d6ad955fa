"""How certain an area under the ROC curve is."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit
from scipy.stats import beta, t

from priorwise.common.validation import check_number
from priorwise.evaluation.predictions import check_predictions


def auc_interval(
    y_true: ArrayLike, proba: ArrayLike, *, labels: ArrayLike | None = None, level: float = 0.95
) -> tuple[float, float]:
    """Return an interval for the AUC that `hand_till_auc` estimates, NaN for a single class.

    The estimate M is a mean over pairs of rows of different classes. With V_i the part of row i in
    it, the mean over its pairs, DeLong's variance is::

        variance = sum over classes c of var(V_i, rows of c) / n_c

    The interval is taken on the log-odds of M, with a quantile of Student's t whose degrees of
    freedom are Welch's. A class with one row has the largest variance that V_i can have. Where the
    variance is zero, as without any mistake, the interval is that of Clopper and Pearson for as
    many pairs as the smallest class has rows: no AUC has a larger variance than its mean over pairs
    that share no row. Sources: DeLong, DeLong and Clarke-Pearson (1988); van Dantzig (1951).

    >>> low, high = auc_interval([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9])
    >>> round(low, 3), high
    (0.158, 1.0)
    """
    check_number("level", level, above=0.0, below=1.0)
    given = check_predictions(y_true, proba, labels)
    parts = split_auc(given.codes, given.proba)
    if len(parts) < 2:
        return float("nan"), float("nan")
    auc = float(sum(part.mean() for part in parts)) / 2.0
    n_rows = np.array([len(part) for part in parts])
    most, means = 2.0 / len(parts), np.array([part.mean() for part in parts])
    variance = np.array([part.var(ddof=1) if len(part) > 1 else 0.0 for part in parts])
    variance = np.where(n_rows > 1, variance, means * (most - means)) / n_rows
    tail, total = (1.0 - level) / 2.0, float(variance.sum())
    if not (total > 0.0 and 0.0 < auc < 1.0):
        n_pairs = int(n_rows.min())
        right = auc * n_pairs
        low = float(beta.ppf(tail, right, n_pairs - right + 1.0)) if auc > 0.0 else 0.0
        high = float(beta.ppf(1.0 - tail, right + 1.0, n_pairs - right)) if auc < 1.0 else 1.0
        return low, high
    freedom = total**2 / float((variance**2 / np.maximum(n_rows - 1, 1)).sum())
    half = float(t.ppf(1.0 - tail, freedom)) * np.sqrt(total) / (auc * (1.0 - auc))
    return float(expit(logit(auc) - half)), float(expit(logit(auc) + half))


def split_auc(codes: NDArray[np.intp], proba: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Return the part of each row in the AUC, an array for each class that has rows.

    The means of the arrays sum to twice the AUC, as each pair of rows counts for both.
    """
    present = np.unique(codes)
    rows = [np.flatnonzero(codes == k) for k in present]
    parts = [np.zeros(len(own)) for own in rows]
    for k, label in enumerate(present.tolist()):
        scores = [np.sort(proba[own, label]) for own in rows]
        for j, others in enumerate(scores):
            if j != k:
                parts[k] += _share_below(others, proba[rows[k], label])
                parts[j] += 1.0 - _share_below(scores[k], proba[rows[j], label])
    n_pairs = max(len(present) * (len(present) - 1), 1)
    return [part / n_pairs for part in parts]


def _share_below(
    ascending: NDArray[np.float64], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the share of sorted numbers that are below each value, those equal to it by half."""
    places = [np.searchsorted(ascending, values, side=side) for side in ("left", "right")]
    return np.asarray((places[0] + places[1]) / (2.0 * len(ascending)))
