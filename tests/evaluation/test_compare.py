import math

import numpy as np
import pytest
from scipy import stats

from priorwise.evaluation import corrected_t_test, sign_test, win_draw_loss


def test_wins_are_the_smaller_losses_or_the_larger_gains():
    a, b = [1, 2, 3, 4], [2, 2, 2, 5]
    assert win_draw_loss(a, b) == (2, 1, 1)
    assert win_draw_loss(a, b, higher_is_better=True) == (1, 1, 2)
    assert win_draw_loss(b, a) == (1, 1, 2)
    assert win_draw_loss([math.inf], [math.inf]) == (0, 1, 0)


def test_rounding_makes_draws():
    assert win_draw_loss([0.1234, 0.2], [0.1231, 0.3], decimals=3) == (1, 1, 0)
    assert win_draw_loss([0.1234, 0.2], [0.1231, 0.3]) == (1, 0, 1)


def test_unpaired_or_missing_scores_are_refused():
    with pytest.raises(ValueError, match="equally long"):
        win_draw_loss([1, 2], [1])
    with pytest.raises(ValueError, match="NaN"):
        win_draw_loss([1, np.nan], [1, 2])


@pytest.mark.parametrize(("wins", "losses"), [(0, 0), (7, 0), (12, 5), (5, 12), (9, 9)])
def test_sign_test_sums_the_binomial_tail(wins, losses):
    n = wins + losses
    tail = sum(math.comb(n, k) for k in range(wins, n + 1)) / 2**n
    other = sum(math.comb(n, k) for k in range(wins + 1)) / 2**n
    assert sign_test(wins, losses, alternative="greater") == pytest.approx(tail)
    assert sign_test(wins, losses, alternative="less") == pytest.approx(other)
    assert sign_test(wins, losses) == pytest.approx(min(1, 2 * min(tail, other)))


def test_sign_test_arguments_are_checked():
    with pytest.raises(ValueError, match="wins must be a whole number"):
        sign_test(-1, 3)
    with pytest.raises(ValueError, match="losses must be a whole number"):
        sign_test(1, 2.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="alternative must be one of"):
        sign_test(1, 2, alternative="bigger")


def test_without_overlap_the_corrected_test_tends_to_the_paired_t_test():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=20), rng.normal(size=20)
    for alternative in ("two-sided", "greater", "less"):
        plain = stats.ttest_rel(a, b, alternative=alternative)
        ours = corrected_t_test(a, b, test_train_ratio=1e-12, alternative=alternative)
        assert ours.statistic == pytest.approx(plain.statistic)
        assert ours.p_value == pytest.approx(plain.pvalue)


def test_overlap_makes_the_test_more_careful_by_the_known_factor():
    rng = np.random.default_rng(1)
    a, b = rng.normal(1, 1, size=100), rng.normal(size=100)
    plain = stats.ttest_rel(a, b).statistic
    ours = corrected_t_test(a, b, test_train_ratio=1 / 9).statistic
    assert ours == pytest.approx(plain * np.sqrt((1 / 100) / (1 / 100 + 1 / 9)))


def test_constant_differences_have_an_infinite_or_zero_statistic():
    same = corrected_t_test([1, 2, 3], [1, 2, 3], test_train_ratio=1)
    assert (same.statistic, same.p_value) == (0, 1)
    shifted = corrected_t_test([0.1, 0.2, 0.3], [0.2, 0.3, 0.4], test_train_ratio=1)
    assert (shifted.statistic, shifted.p_value) == (-math.inf, 0)


def test_t_test_arguments_are_checked():
    with pytest.raises(ValueError, match="test_train_ratio must be positive, got 0"):
        corrected_t_test([1, 2], [2, 1], test_train_ratio=0)
    with pytest.raises(ValueError, match="at least two folds"):
        corrected_t_test([1], [2], test_train_ratio=1)
    with pytest.raises(ValueError, match="finite"):
        corrected_t_test([1, np.inf], [2, 1], test_train_ratio=1)
