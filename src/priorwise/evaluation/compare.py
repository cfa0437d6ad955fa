"""Two models compared: over many data sets, or over the folds of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

ALTERNATIVES = ("two-sided", "greater", "less")


class WinDrawLoss(NamedTuple):
    """Number of data sets on which the first model is better, equal and worse."""

    wins: int
    draws: int
    losses: int


def win_draw_loss(
    a: ArrayLike, b: ArrayLike, lower_is_better: bool = True, *, decimals: int | None = None
) -> WinDrawLoss:
    """Count on how many data sets model ``a`` beats, equals and loses to model ``b``.

    ``a`` and ``b`` hold one score per data set, in the same order. Scores draw when they are
    equal; with ``decimals`` both are rounded first, as printed tables are. Two equal infinities
    draw.

    >>> win_draw_loss([0.10, 0.20, 0.3], [0.15, 0.20, 0.2])
    WinDrawLoss(wins=1, draws=1, losses=1)
    >>> win_draw_loss([0.101, 0.20], [0.104, 0.25], decimals=2)
    WinDrawLoss(wins=1, draws=1, losses=0)
    """
    first, second = _check_pair(a, b)
    if decimals is not None:
        first, second = np.round(first, decimals), np.round(second, decimals)
    n_less, n_more = int((first < second).sum()), int((first > second).sum())
    wins, losses = (n_less, n_more) if lower_is_better else (n_more, n_less)
    return WinDrawLoss(wins, len(first) - wins - losses, losses)


def sign_test(wins: int, losses: int, alternative: str = "two-sided") -> float:
    """P-value of the binomial sign test; draws are left out.

    Under the null hypothesis a win has chance 1/2, so for "greater" (more wins than chance)::

        p = sum over k >= wins of binomial(wins + losses, k) / 2^(wins + losses)

    "less" is the other tail, "two-sided" both. Without wins or losses p is 1. Wang (2020)
    prints one term of this sum (Eq. 35); the tail is what a test needs.

    >>> round(sign_test(15, 5, alternative="greater"), 4)
    0.0207
    """
    for name, value in (("wins", wins), ("losses", losses)):
        if int(value) != value or value < 0:
            raise ValueError(f"{name} must be a whole number that is not negative, got {value!r}")
    _check_alternative(alternative)
    n = int(wins) + int(losses)
    if n == 0:
        return 1.0
    return float(stats.binomtest(int(wins), n, 0.5, alternative=alternative).pvalue)


@dataclass(frozen=True)
class TTest:
    """A paired t-test: statistic, p-value, and the mean difference it judges."""

    statistic: float
    p_value: float
    mean_difference: float


def corrected_t_test(
    a: ArrayLike,
    b: ArrayLike,
    *,
    test_train_ratio: float,
    alternative: str = "two-sided",
) -> TTest:
    """Nadeau and Bengio's corrected resampled t-test on the J folds of one data set.

    With d the differences ``a - b`` per fold::

        t = mean(d) / sqrt((1/J + n_test/n_train) * var(d)),   J - 1 degrees of freedom

    The second term pays for training sets that overlap. ``test_train_ratio`` is n_test/n_train:
    1/9 for ten-fold, 1 for two-fold cross-validation. Where all differences are equal t is
    infinite, or zero when they are all zero. Source: Nadeau and Bengio (2003).

    >>> test = corrected_t_test([0.30, 0.32, 0.31], [0.25, 0.29, 0.26], test_train_ratio=1 / 9)
    >>> round(test.statistic, 3), round(test.p_value, 4)
    (5.629, 0.0301)
    """
    first, second = _check_pair(a, b)
    if len(first) < 2:
        raise ValueError(f"a and b must have at least two folds, got {len(first)}")
    if not np.isfinite(first).all() or not np.isfinite(second).all():
        raise ValueError("a and b must be finite")
    if not test_train_ratio > 0:
        raise ValueError(f"test_train_ratio must be positive, got {test_train_ratio}")
    _check_alternative(alternative)
    difference = first - second
    mean = float(difference.mean())
    variance = float(difference.var(ddof=1)) * (1 / len(difference) + test_train_ratio)
    if variance == 0 or np.ptp(difference) <= 1e-12 * np.abs(difference).max():
        statistic = 0.0 if mean == 0 else float(np.copysign(np.inf, mean))
    else:
        statistic = mean / float(np.sqrt(variance))
    distribution = stats.t(len(difference) - 1)
    p_value = {
        "greater": distribution.sf(statistic),
        "less": distribution.cdf(statistic),
        "two-sided": 2 * distribution.sf(abs(statistic)),
    }[alternative]
    return TTest(statistic, float(min(p_value, 1.0)), mean)


def _check_pair(a: ArrayLike, b: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if first.ndim != 1 or first.shape != second.shape:
        raise ValueError(
            f"a and b must be one-dimensional and equally long, got {first.shape}, {second.shape}"
        )
    if np.isnan(first).any() or np.isnan(second).any():
        raise ValueError("a and b must not hold NaN: leave out data sets one of them failed on")
    return first, second


def _check_alternative(alternative: str) -> None:
    if alternative not in ALTERNATIVES:
        raise ValueError(f"alternative must be one of {ALTERNATIVES}, got {alternative!r}")
