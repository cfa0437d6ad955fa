"""Comparison of two models on many data sets, or on the folds of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from priorwise.common.docstrings import describe
from priorwise.common.validation import check_choice

ALTERNATIVES = ("two-sided", "greater", "less")
_PARAMETERS = """
Parameters
----------
a, b : array-like of shape (n,)
    Scores of two models, on the same data sets or folds in the same order.
alternative : {"two-sided", "greater", "less"}
    Whether the test asks for any difference, for larger or for smaller values of the first model.
"""


class WinDrawLoss(NamedTuple):
    """Number of data sets on which the first of two models is better, equal and worse.

    Parameters
    ----------
    wins, draws, losses : int
        Number of data sets.

    Examples
    --------
    >>> win_draw_loss([0.1, 0.2, 0.3], [0.2, 0.2, 0.1])
    WinDrawLoss(wins=1, draws=1, losses=1)
    """

    wins: int
    draws: int
    losses: int


@describe(_PARAMETERS)
def win_draw_loss(
    a: ArrayLike, b: ArrayLike, *, higher_is_better: bool = False, decimals: int | None = None
) -> WinDrawLoss:
    """Count the data sets on which model `a` is better than, equal to and worse than model `b`.

    Parameters
    ----------
    higher_is_better : bool
        Whether higher scores are better.
    decimals : int, optional
        Number of decimals that scores are rounded to before they are compared, as in printed
        tables. By default scores are not rounded.

    Returns
    -------
    WinDrawLoss
        Wins, draws and losses of model `a`. Two infinite scores of equal sign are a draw.

    Examples
    --------
    >>> win_draw_loss([0.10, 0.20, 0.3], [0.15, 0.20, 0.2])
    WinDrawLoss(wins=1, draws=1, losses=1)
    >>> win_draw_loss([0.101, 0.20], [0.104, 0.25], decimals=2)
    WinDrawLoss(wins=1, draws=1, losses=0)
    """
    first, second = _check_pair(a, b)
    if decimals is not None:
        first, second = np.round(first, decimals), np.round(second, decimals)
    n_less, n_more = int((first < second).sum()), int((first > second).sum())
    wins, losses = (n_more, n_less) if higher_is_better else (n_less, n_more)
    return WinDrawLoss(wins, len(first) - wins - losses, losses)


@describe(_PARAMETERS)
def sign_test(wins: int, losses: int, *, alternative: str = "two-sided") -> float:
    """P-value of the binomial sign test; draws are left out.

    Under the null hypothesis a win has probability 1/2, so for "greater" (more wins)::

        p = sum over k >= wins of binomial(wins + losses, k) / 2^(wins + losses)

    "less" is the other tail, "two-sided" both. He Zhang's thesis (2020) prints one term of this sum
    (Eq. 35); a test needs the sum.

    Parameters
    ----------
    wins, losses : int
        Number of data sets on which the first model is better and worse.

    Returns
    -------
    float
        The p-value; 1 without wins and losses.

    Examples
    --------
    >>> round(sign_test(15, 5, alternative="greater"), 4)
    0.0207
    """
    for name, value in (("wins", wins), ("losses", losses)):
        if int(value) != value or value < 0:
            raise ValueError(f"{name} must be a whole number that is not negative, got {value!r}")
    check_choice("alternative", alternative, ALTERNATIVES)
    n = int(wins) + int(losses)
    if n == 0:
        return 1.0
    return float(stats.binomtest(int(wins), n, 0.5, alternative=alternative).pvalue)


@dataclass(frozen=True)
class TTest:
    """Result of a paired t-test.

    Parameters
    ----------
    statistic : float
        The statistic t.
    p_value : float
        Probability of a statistic at least as extreme if the models are equal.
    mean_difference : float
        Mean of the first model's scores minus mean of the second one's.

    Examples
    --------
    >>> result = corrected_t_test([0.1, 0.2, 0.1], [0.2, 0.3, 0.4], test_train_ratio=0.5)
    >>> round(result.mean_difference, 3)
    -0.167
    """

    statistic: float
    p_value: float
    mean_difference: float


@describe(_PARAMETERS)
def corrected_t_test(
    a: ArrayLike,
    b: ArrayLike,
    *,
    test_train_ratio: float,
    alternative: str = "two-sided",
) -> TTest:
    """Nadeau and Bengio's corrected resampled t-test on the J folds of one data set.

    With d the differences ``a - b`` of the folds::

        t = mean(d) / sqrt((1/J + n_test/n_train) * var(d)),   J - 1 degrees of freedom

    The second term accounts for training sets that overlap. If all differences are equal, t is
    infinite, or zero if they are zero. Source: Nadeau and Bengio (2003).

    Parameters
    ----------
    test_train_ratio : float
        Value of n_test/n_train: 1/9 for ten-fold, 1 for two-fold cross-validation.

    Returns
    -------
    TTest
        Statistic, p-value and mean difference.

    Examples
    --------
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
    check_choice("alternative", alternative, ALTERNATIVES)
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
        raise ValueError("a and b must not hold NaN: leave out data sets on which a model failed")
    return first, second
