"""Intervals of class probabilities: how far a prediction may be from the truth.

A model knows, for each row and class, the variance v of the score whose softmax is the probability.
The log-odds L_k of class k against the others then have, with q_j = p_j / (1 - p_k), the variance

    t_k^2 = v_k + sum over j != k of q_j^2 v_j

and are taken as normal. Their mean is chosen so that the mean of the probability is the one that
was predicted: it is further from zero than the log-odds of that probability, by a factor of
sqrt(1 + pi t^2 / 8) and by at most t^2 / 2.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import map_coordinates, spline_filter
from scipy.special import betaincinv, expit, ndtr, softmax

from priorwise.common.numeric import sum_of_others
from priorwise.counts import hash_rows
from priorwise.data.tables import Columns

TINY = 1e-100
"""Probabilities below it are taken as this large."""
MAX_VARIANCE = 1e6
"""Variances are cut off here: such a probability may be anything."""
MIN_BETA = 1.0
MAX_LOG_ODDS = 30.0
"""Log-odds of means of beta variates are cut off here: their intervals then end below 1e-6."""
N_MEANS, N_VARIANCES, REACH = 81, 31, float(np.arcsinh(MAX_LOG_ODDS / 2.0))
"""Size and reach of the grid of `tabulate_beta_ends`."""
NO_MORE_THAN_ZERO = 1e-6
"""Ends of intervals below it are zero: no table tells such probabilities apart. So at one."""
LEAST_COUNT = 1e-4
N_CENTRING, N_ROUNDS = 64, 6
"""Fixed draws, and rounds of corrections, that make the mean of draws the prediction."""

N_PARTITIONS, N_SHARED, N_BINS = 32, 4, 8
"""Partitions of the rows that noise is the mean of, the features that the rows of a part share, and
the equally large parts of the values of a number."""


def dirichlet_spread(
    proba: NDArray[np.float64], inverse: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the variances of the scores of Dirichlet distributions, given one over their rows."""
    return trigamma(np.maximum(proba / inverse[:, None], LEAST_COUNT))


def find_log_odds(
    proba: NDArray[np.float64], variance: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the log-odds of each class against the others, and their variances."""
    proba = np.maximum(proba, TINY)
    others = sum_of_others(proba)
    shares = sum_of_others(proba * proba * variance) / (others * others)
    return np.log(proba) - np.log(others), np.minimum(variance + shares, MAX_VARIANCE)


def centre_log_odds(
    log_odds: NDArray[np.float64], variance: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the mean of normal log-odds whose mean probability has the given log-odds."""
    further = np.abs(log_odds) * (np.sqrt(1.0 + np.pi / 8.0 * variance) - 1.0)
    return log_odds + np.copysign(np.minimum(further, variance / 2.0), log_odds)


def find_interval(
    proba: NDArray[np.float64], variance: NDArray[np.float64], n_deviations: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return intervals that reach as far as so many standard deviations of a normal variate.

    >>> lower, upper = find_interval(np.array([[0.5, 0.5]]), np.array([[0.5, 0.5]]), 1.645)
    >>> lower.round(2), upper.round(2)
    (array([[0.16, 0.16]]), array([[0.84, 0.84]]))
    """
    if proba.shape[1] == 1:
        return proba.copy(), proba.copy()
    log_odds, squared = find_log_odds(proba, variance)
    centre, reach = centre_log_odds(log_odds, squared), n_deviations * np.sqrt(squared)
    lower, upper = expit(centre - reach), expit(centre + reach)
    wide = np.nonzero(squared > MIN_BETA)
    lower[wide] = expit(find_beta_ends(log_odds[wide], squared[wide], n_deviations))
    upper[wide] = expit(-find_beta_ends(-log_odds[wide], squared[wide], n_deviations))
    lower[lower < NO_MORE_THAN_ZERO] = 0.0
    upper[upper > 1.0 - NO_MORE_THAN_ZERO] = 1.0
    return np.minimum(lower, proba), np.maximum(upper, proba)


def find_beta_ends(
    log_odds: NDArray[np.float64], variance: NDArray[np.float64], n_deviations: float
) -> NDArray[np.float64]:
    """Return the log-odds of lower ends of intervals of beta variates, to 0.002.

    Upper ends are minus the lower ends of minus the log-odds. Splines on the grid of
    `tabulate_beta_ends` give them in a hundredth of the time of the inverse distribution function.
    """
    n_rows, n_columns = N_MEANS - 1, N_VARIANCES - 1
    row = (
        0.5 * n_rows * (1.0 + np.arcsinh(log_odds.clip(-MAX_LOG_ODDS, MAX_LOG_ODDS) / 2.0) / REACH)
    )
    column = n_columns * np.sqrt(np.log(variance) / np.log(MAX_VARIANCE))
    table = tabulate_beta_ends(n_deviations)
    ends = map_coordinates(table, [row, column], order=3, mode="mirror", prefilter=False)
    return np.asarray(4.0 * np.sinh(ends))


@lru_cache(maxsize=16)
def tabulate_beta_ends(n_deviations: float) -> NDArray[np.float64]:
    """Return coefficients of splines of lower ends, for a grid of log-odds and variances.

    Rows are log-odds 2 sinh(s) of the mean, columns variances MAX_VARIANCE^(t^2), with s and t in
    equal steps; the splines are of arcsinh(x / 4), x being the log-odds of the ends.
    """
    log_odds = 2.0 * np.sinh(np.linspace(-REACH, REACH, N_MEANS))[:, None]
    variance = MAX_VARIANCE ** (np.linspace(0.0, 1.0, N_VARIANCES) ** 2)
    log_odds, variance = np.broadcast_arrays(log_odds, variance)
    mean = expit(log_odds)
    count = find_beta_count(mean, variance)
    a, b = count * mean, count * expit(-log_odds)
    lower = np.maximum(betaincinv(a, b, ndtr(-n_deviations)), TINY)
    from_one = np.clip(betaincinv(b, a, ndtr(n_deviations)), TINY, 0.5)
    below = np.log(lower) - np.log1p(-np.minimum(lower, 0.5))
    ends = np.where(lower < 0.5, below, np.log1p(-from_one) - np.log(from_one))
    return np.asarray(spline_filter(np.arcsinh(ends / 4.0), order=3, mode="mirror"))


def find_beta_count(
    mean: NDArray[np.float64], variance: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return a + b of the beta distributions of given mean whose log-odds have the given variance.

    The variance is trigamma(a) + trigamma(b), and trigamma(x) is close to
    1 / x + (1 + x) / (x^2 + 2 x^3).
    """
    low, high = np.full(mean.shape, -46.0), np.full(mean.shape, 46.0) - np.log(mean)
    for _ in range(50):
        middle = 0.5 * (low + high)
        total = np.exp(middle)
        a, b = total * mean, total * (1.0 - mean)
        too_wide = trigamma(a) + trigamma(b) > variance
        low, high = np.where(too_wide, middle, low), np.where(too_wide, high, middle)
    return np.exp(0.5 * (low + high))


def trigamma(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return trigamma(x) to 1.4 %."""
    return np.asarray((1.0 + (1.0 + x) / (x * (1.0 + 2.0 * x))) / x)


def draw_noise(
    columns: Columns, n_draws: int, n_classes: int, generator: np.random.Generator
) -> NDArray[np.float64]:
    """Return standard normals (n_draws, n_rows, n_classes) that go together for similar rows.

    Rows that agree in a share h of the features have the correlation h^`N_SHARED`: each of several
    partitions has a normal for every combination of values of so many features drawn at random.
    Numbers agree if they are in the same part of the values that the rows have.
    """
    codes = [*columns.nominal_codes, *map(_bin_values, columns.values)]
    noise = np.zeros((n_draws, columns.n_rows, n_classes))
    for _ in range(N_PARTITIONS):
        chosen = generator.integers(len(codes), size=N_SHARED) if codes else np.zeros(0, np.int64)
        shared = hash_rows([codes[i] for i in chosen], np.zeros(columns.n_rows, dtype=np.int32))
        distinct, place = np.unique(shared, return_inverse=True)
        noise += generator.standard_normal((n_draws, len(distinct), n_classes))[:, place]
    return noise / np.sqrt(N_PARTITIONS)


def _bin_values(values: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return which of `N_BINS` equally large parts each number is in; missing ones have their own.

    >>> _bin_values(np.array([0.1, 0.2, 5.0, np.nan]))
    array([3, 7, 7, 8], dtype=int32)
    """
    missing = np.isnan(values)
    bins = np.full(len(values), N_BINS, dtype=np.int32)
    if not missing.all():
        known = values[~missing]
        cuts = np.quantile(known, np.arange(1, N_BINS) / N_BINS, method="lower")
        bins[~missing] = np.searchsorted(cuts, known, side="right")
    return bins


def draw_proba(
    proba: NDArray[np.float64], variance: NDArray[np.float64], noise: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return a draw of the probabilities for each standard normal of (n_draws, *proba.shape)."""
    deviation = np.sqrt(np.minimum(variance, MAX_VARIANCE / 2.0))
    score = np.log(np.maximum(proba, TINY))
    # The same fixed draws for every row, in pairs of opposite signs, find the mean of the scores.
    fixed = np.random.default_rng(0).standard_normal((N_CENTRING // 2, 1, proba.shape[1]))
    fixed = np.concatenate([fixed, -fixed]) * deviation
    for _ in range(N_ROUNDS):
        mean = softmax(score + fixed, axis=-1).mean(axis=0)
        score += np.log(np.maximum(proba, TINY)) - np.log(np.maximum(mean, TINY))
    return np.asarray(softmax(score + deviation * noise, axis=-1))
