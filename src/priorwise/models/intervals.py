"""Intervals of class probabilities: how far a prediction may be from the truth.

A model knows, for each row and class, the variance v of the score whose softmax is the probability.
The log-odds L_k of class k against the others then have, with q_j = p_j / (1 - p_k), the variance

    t_k^2 = v_k + sum over j != k of q_j^2 v_j

and are taken as normal. Their mean is chosen so that the mean of the probability is the one that
was predicted: it is further from zero than the log-odds of that probability, by a factor of
sqrt(1 + pi t^2 / 8) and by at most t^2 / 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import map_coordinates, spline_filter
from scipy.special import betaincinv, expit, ndtr, ndtri
from sklearn.utils.validation import check_is_fitted

from priorwise.common.docstrings import describe
from priorwise.common.numeric import draw_seed, sum_of_others
from priorwise.common.validation import check_number
from priorwise.counts import hash_rows
from priorwise.data.tables import Columns
from priorwise.models.prediction_sets import PredictionSets
from priorwise.models.table_reader import ROWS

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
MAX_FITTED_ROWS = 30_000.0
"""Rows of the largest tables that factors were fitted to. With more rows, only what a model knows
of its variance makes intervals narrower."""
DEFAULT_FACTORS = {"constant": -0.31, "rows": -0.19, "classes": -1.62, "gini": 1.13}
"""Factors of `combine_parts` for classifiers that know no part of their variance."""
N_CENTRING, N_ROUNDS = 64, 6
"""Fixed draws, and rounds of corrections, that make the mean of draws the prediction."""

N_PARTITIONS, N_SHARED, N_BINS = 32, 4, 8
"""Partitions of the rows that noise is the mean of, the features that the rows of a part share, and
the equally large parts of the values of a number."""


class Intervals(PredictionSets):
    """What classifiers have to say how far their probabilities may be from the true ones."""

    tails = (0.38, 0.44)
    """Factors a and b of z (a + b |z|), which takes the place of a normal number z.

    How wrong fitted variances are differs from table to table, so intervals of high levels are
    wider, and those of low levels narrower, than normal ones. They were fitted as the factors of
    `combine_parts` were."""

    class_count_: NDArray[np.float64]

    def predict_columns(self, columns: Columns) -> NDArray[np.float64]:
        """Predict class probabilities of rows that have been read, as the classifier does."""
        raise NotImplementedError

    @describe(ROWS)
    def spread_columns(self, columns: Columns) -> NDArray[np.float64]:
        """Return the variance of the score of each class for rows that have been read.

        By default it follows from the number of training rows and the probabilities alone.

        Returns
        -------
        array of shape (n_rows, n_classes)
            Variances of the scores whose softmax are the probabilities.
        """
        proba = self.predict_columns(columns)
        return combine_parts(proba, {}, float(self.class_count_.sum()), DEFAULT_FACTORS)

    @describe(ROWS)
    def spread_parts(self, columns: Columns) -> dict[str, NDArray[np.float64]]:
        """Return what the variance of the scores follows from, before it is scaled.

        Returns
        -------
        dict of str to array of shape (n_rows, n_classes)
            Variances by the name of what they come from.
        """
        return {"all": self.spread_columns(columns)}

    @describe(ROWS)
    def predict_interval(
        self, X: Any, level: float = 0.9
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Predict intervals that contain the true class probabilities with a given chance.

        The number of training rows behind a prediction, and how much the parts of the model
        differ, say how far it may be from the truth. docs/intervals.md says what is in the interval
        and how it was measured.

        Parameters
        ----------
        level : float
            Share of the true probabilities that are to lie in their intervals, between 0 and 1.

        Returns
        -------
        tuple of two arrays of shape (n_rows, n_classes)
            Lower and upper ends; `predict_proba` lies between them.

        Examples
        --------
        >>> from priorwise import NaiveBayesClassifier
        >>> X, y = [["sun"], ["sun"], ["rain"], ["rain"]], ["out", "out", "in", "out"]
        >>> lower, upper = NaiveBayesClassifier().fit(X * 9, y * 9).predict_interval([["rain"]])
        >>> bool(lower[0, 0] < 0.5 < upper[0, 0])
        True
        """
        check_number("level", level, above=0.0, below=1.0)
        return self._find_interval(*self._predict_with_spread(X), level)

    @describe(ROWS)
    def sample_proba(
        self, X: Any, n_draws: int = 100, *, random_state: Any = None
    ) -> NDArray[np.float64]:
        """Draw class probabilities that may be the true ones.

        A draw is one function of the features: rows with the same features have the same draw, and
        rows that have much in common have similar errors. So the mean of a draw over rows is a draw
        of the mean over rows. docs/intervals.md says how well that was measured to hold.

        Parameters
        ----------
        n_draws : int
            Number of draws.
        random_state : int, RandomState instance or None
            Seed of the draws.

        Returns
        -------
        array of shape (n_draws, n_rows, n_classes)
            Probabilities, which sum to one over the classes. Their mean over the draws approaches
            `predict_proba`.
        """
        check_number("n_draws", n_draws, least=1, whole=True)
        proba, variance = self._predict_with_spread(X)
        generator = np.random.default_rng(draw_seed(random_state))
        reader: Any = self
        noise = draw_noise(reader._read(X), int(n_draws), proba.shape[1], generator)
        return draw_proba(proba, variance, self._stretch(noise))

    def _find_interval(
        self, proba: NDArray[np.float64], variance: NDArray[np.float64], level: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return intervals of a level, given probabilities and the variances of their scores."""
        return find_interval(proba, variance, float(self._stretch(ndtri((1.0 + level) / 2.0))))

    def _stretch(self, z: Any) -> Any:
        """Turn standard normal numbers into those of a distribution with heavier tails."""
        return z * (self.tails[0] + self.tails[1] * np.abs(z))

    def _predict_with_spread(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        check_is_fitted(self)
        reader: Any = self
        columns = reader._read(X)
        return self.predict_columns(columns), self.spread_columns(columns)


def dirichlet_spread(
    proba: NDArray[np.float64], inverse: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the variances of the scores of Dirichlet distributions, given one over their rows."""
    return trigamma(np.maximum(proba / inverse[:, None], LEAST_COUNT))


def combine_parts(
    proba: NDArray[np.float64],
    parts: Mapping[str, NDArray[np.float64]],
    n_rows: float,
    factors: Mapping[str, float],
) -> NDArray[np.float64]:
    """Return variances of scores, given parts of them: those of so many rows behind a prediction.

    A part, variances of scores (n_rows, n_classes), becomes one number s per row, the sum of the
    variances of probabilities over sum p (1 - p): one over the rows that such a distribution would
    be learnt from. One over the number of rows behind the prediction is the product of powers of
    these numbers, of `n_rows` (those of training), of the number of classes and of
    sum p (1 - p). `factors` are the logarithm of a constant and the exponents; they were fitted to
    generated tables by benchmarks/fit_interval_factors.py.
    """
    terms = list_terms(proba, parts, n_rows)
    log_inverse = sum(factors[name] * term for name, term in terms.items())
    return dirichlet_spread(proba, np.exp(np.clip(log_inverse, -12.0, 3.0)))


def list_terms(
    proba: NDArray[np.float64], parts: Mapping[str, NDArray[np.float64]], n_rows: float
) -> dict[str, NDArray[np.float64]]:
    """Return the logarithms that `combine_parts` multiplies by the factors, for each row."""
    square = proba * (1.0 - proba)
    gini = square.sum(axis=1)
    terms = {
        "constant": np.ones(len(proba)),
        "rows": np.full(len(proba), np.log(min(n_rows, MAX_FITTED_ROWS) / 1000.0)),
        "classes": np.full(len(proba), np.log(proba.shape[1] / 2.0)),
        "gini": np.log(gini + 0.02),
    }
    for name, part in parts.items():
        variance = np.minimum(find_log_odds(proba, part)[1], 1e3)
        share = (square * square * variance).sum(axis=1) / np.maximum(gini, 1e-12)
        terms[name] = np.log(share + 1e-4)
    return terms


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
        mean = _softmax(score + fixed).mean(axis=0)
        score += np.log(np.maximum(proba, TINY)) - np.log(np.maximum(mean, TINY))
    return _softmax(score + deviation * noise)


def _softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    proba = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(proba / proba.sum(axis=-1, keepdims=True))
