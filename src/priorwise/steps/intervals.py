"""Intervals of class probabilities: how many rows a prediction is worth.

The error of a model is the mean of sum_k (p_k - t_k)^2, t being the true probabilities, over that
of sum_k p_k (1 - p_k). The share of a class among n rows has the error 1 / n; so a model of the
error e predicts as well as 1 / e rows like the row would tell, and its intervals are Wilson's
(1927) of so many rows. `Calibration.measure` says where e comes from.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv, ndtr, ndtri

from priorwise.common.records import Record, number
from priorwise.counts import hash_rows
from priorwise.data.columns import Columns

Floats = NDArray[np.float64]

# All constants behind the width of intervals, fitted to 1,340 fits of nine kinds of classifiers on
# the fifty kinds of tables "design" of benchmarks/coverage.py, of 100 to 10,000 rows (2026-11).
# tests/statistical/test_interval_coverage.py fails when classifiers change so much that they no
# longer hold.
SHARED = 0.5
"""Error that a model has in common with its rival, as a share of the mean squared difference of
their probabilities."""
OF_TREES, OF_SMOOTH, MAX_OF_POOL = 0.5, 2.0, 6.0
"""`Step.independence` of trees, of linear models, kernels and Gaussians, and at most of pools."""
ROWS_OF_NOISE = 3.0
"""The error of a model of n rows is at least (ROWS_OF_NOISE / n)^(2/3), even if the rival predicts
the same. It is the rate at which curves of bounded slope are learnt from n rows."""
USUAL_ERROR = 0.09
"""Error at 1,000 rows where there are no rows to measure it: the mean over those tables. It falls
with the cube root of the rows."""
LEAST_OPEN = 0.005
"""Added to p (1 - p), so that intervals of probabilities near zero or one have some width."""
NEAR, NEAR_GUESSED, FAR = 0.4, 0.4, 0.25
"""Errors differ from row to row and from table to table, so a normal number z of deviations becomes
z (NEAR + NEAR_GUESSED g + FAR z), g being the share of the error that is guessed."""
CONTINUITY = 0.2
"""Rows, for each standard deviation, that a count of rows may be off by: without it, intervals of
probabilities of which less than a row is known would not reach zero."""
DRAW_SPREAD = 0.5
"""Standard deviation of the logarithm of the size of the errors of a draw, for the same reason."""
N_PARTITIONS, N_SHARED, N_BINS = 32, 8, 8
"""Partitions of the rows that noise is the mean of, the features that the rows of a part share, and
the equally large parts of the values of a number or of a probability."""
FOR_NEAR = 10.0
"""Variance of a draw that rows of near probabilities share, as a multiple of the variance of a mean
over the training rows. With it 90 % of the draws hold the mean of all rows for 93 % of the tables
"design" of 1,000 rows, and that of a tenth of them for 86 %."""
MAX_ERROR = 100.0


@dataclass(frozen=True, eq=False)
class Calibration(Record):
    """How wrong the probabilities of a model are on average: all that its intervals need.

    One over the rows that the probability p of a class is worth is `error` / `root` times
    sqrt(p (1 - p) + LEAST_OPEN): probabilities near zero or one are worth more rows. `root` is the
    mean of that square root, weighted by p (1 - p). `n_rows` is the number of training rows, and
    `guessed` the share of the error that no rows tell.
    """

    error: float = number(least=0.0)
    root: float = number(least=1e-3, default=0.5)
    n_rows: float = number(least=0.0, default=1e9)
    guessed: float = number(least=0.0, most=1.0, default=1.0)

    @classmethod
    def guess(cls, n_rows: float) -> Calibration:
        """Return that of a model whose errors on rows it had not seen are not known."""
        error = min(USUAL_ERROR * (1_000.0 / max(n_rows, 1.0)) ** (1.0 / 3.0), MAX_ERROR)
        return cls(error, n_rows=n_rows)

    @classmethod
    def measure(
        cls,
        proba: Floats,
        rival: Floats,
        y: NDArray[np.int32],
        weight: Floats,
        *,
        n_rows: float,
        independence: float = 1.0,
    ) -> Calibration:
        """Measure the error of a model of `n_rows` training rows on some of them.

        `proba` are its probabilities p for rows of the classes y that it had not seen then, `rival`
        those of another model, q. With t the true probabilities and means over rows and classes,

            E (t - p)^2 = E (t - p) (q - p) + E (t - p) (t - q)

        The first term is known, since y - p is t - p on average: what the rival finds that the
        model misses. The second is what both miss. It is taken to be a share of E (q - p)^2. This
        share is divided by `Step.independence`, and multiplied by the share of the training rows
        that the rival has learnt from.
        """
        share = proba * (1.0 - proba) * weight[:, None]
        apart, left = rival - proba, np.eye(proba.shape[1])[y] - proba
        total = max(float(share.sum()), 1e-12)
        missed = max(float((weight[:, None] * left * apart).sum()) / total, 0.0)
        differs = float((weight[:, None] * apart**2).sum()) / total
        differs *= min(len(y) / max(n_rows, 1.0), 1.0)
        noise = (ROWS_OF_NOISE / max(n_rows, 1.0)) ** (2.0 / 3.0)
        guessed = SHARED / independence * differs + noise
        error = missed + guessed
        root = float((share * np.sqrt(proba * (1.0 - proba) + LEAST_OPEN)).sum()) / total
        return cls(min(error, MAX_ERROR), max(root, 1e-3), n_rows, guessed / error)

    def invert_rows(self, proba: Floats) -> Floats:
        """Return one over the rows that each probability is worth."""
        # Rounded probabilities may lie outside of zero and one by a bit.
        share = np.maximum(proba * (1.0 - proba), 0.0)
        return np.asarray(self.error / self.root * np.sqrt(share + LEAST_OPEN))

    def find_deviations(self, level: float) -> float:
        """Return how many standard deviations an interval of a level reaches."""
        z = float(ndtri((1.0 + level) / 2.0))
        return z * (NEAR + NEAR_GUESSED * self.guessed + FAR * z)

    def find_variance(self, proba: Floats) -> Floats:
        """Return the variances of the log-odds of each class against all others."""
        return self.invert_rows(proba) / np.maximum(proba * (1.0 - proba), 1e-9)

    def find_interval(self, proba: Floats, level: float) -> tuple[Floats, Floats]:
        """Return intervals of a level: the shares of which so many rows may have p as theirs.

        With z standard deviations these are the t for which (p - t)^2 <= z^2 t (1 - t) / n, where
        p is first moved outwards by `CONTINUITY` z of n rows.

        >>> lower, upper = Calibration(0.05).find_interval(np.array([[0.1, 0.9]]), 0.9)
        >>> lower.round(2), upper.round(2)
        (array([[0.03, 0.73]]), array([[0.27, 0.97]]))
        """
        if proba.shape[1] == 1:
            return proba.copy(), proba.copy()
        inverse, z = self.invert_rows(proba), self.find_deviations(level)
        lower = _find_lower_end(proba, inverse, z)
        upper = 1.0 - _find_lower_end(1.0 - proba, inverse, z)
        return np.minimum(lower, proba), np.maximum(upper, proba)

    def draw(self, proba: Floats, noise: Floats, generator: np.random.Generator) -> Floats:
        """Return a draw of the probabilities for each standard normal of (n_draws, *proba.shape).

        The probabilities of a row are Dirichlet-distributed. The size of the errors is itself drawn
        for each draw.
        """
        share = proba * (1.0 - proba)
        inverse = (share * self.invert_rows(proba)).sum(axis=1, keepdims=True)
        inverse /= np.maximum(share.sum(axis=1, keepdims=True), 1e-12)
        size = np.exp(2.0 * DRAW_SPREAD * generator.standard_normal(len(noise)))[:, None, None]
        count = 1.0 / np.maximum(size * inverse, 1e-9)
        # Shapes below this make draws of one that is not even the least number.
        shape = np.maximum(count * proba, 1e-3)
        drawn = np.maximum(gammaincinv(shape, ndtr(noise)), 1e-300)
        return np.asarray(drawn / drawn.sum(axis=-1, keepdims=True))


def _find_lower_end(proba: Floats, inverse: Floats, z: float) -> Floats:
    p = np.maximum(proba - CONTINUITY * z * inverse, 0.0)
    spread = z * z * inverse
    reach = np.sqrt(spread * np.maximum(p * (1.0 - p) + 0.25 * spread, 0.0))
    return np.asarray(np.maximum((p + 0.5 * spread - reach) / (1.0 + spread), 0.0))


def draw_noise(
    columns: Columns,
    proba: Floats,
    calibration: Calibration,
    n_draws: int,
    generator: np.random.Generator,
) -> Floats:
    """Return standard normals (n_draws, n_rows, n_classes) that go together for similar rows.

    The mean error of many rows is that of shares that are counted among the rows of training: a
    normal of small variance is common to rows of near probabilities, an eighth of the rows. In the
    rest, rows that agree in a share h of the features have the correlation h^`N_SHARED`: each of
    several partitions has a normal for every combination of values of so many features drawn at
    random. Numbers agree if they are in the same part of the values that the rows have.
    """
    n_rows, n_classes = proba.shape
    for_near = FOR_NEAR / max(calibration.n_rows * calibration.error, FOR_NEAR)
    noise = np.zeros((n_draws, n_rows, n_classes))
    codes = [*columns.nominal_codes, *map(_bin_values, columns.values)]
    for _ in range(N_PARTITIONS):
        chosen = generator.integers(len(codes), size=N_SHARED) if codes else np.zeros(0, np.int64)
        shared = hash_rows([codes[i] for i in chosen], np.zeros(n_rows, dtype=np.int32))
        distinct, place = np.unique(shared, return_inverse=True)
        noise += generator.standard_normal((n_draws, len(distinct), n_classes))[:, place]
    noise *= np.sqrt((1.0 - for_near) / N_PARTITIONS)
    for k in range(n_classes):
        near = generator.standard_normal((n_draws, N_BINS + 1))
        noise[:, :, k] += np.sqrt(for_near) * near[:, _bin_values(proba[:, k])]
    return noise


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
