"""Intervals of the AUC."""

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import norm

from priorwise.evaluation import hand_till_auc
from priorwise.evaluation.auc import auc_interval, split_auc
from reference.comparison import delong_variance


@pytest.mark.parametrize(("n_classes", "decimals"), [(2, 9), (2, 1), (3, 1), (4, 9)])
def test_the_variance_is_that_of_pairs_of_rows(n_classes: int, decimals: int) -> None:
    rng = np.random.default_rng(n_classes)
    y = rng.permutation(np.arange(60) % n_classes)
    proba = rng.dirichlet(np.ones(n_classes), 60).round(decimals) + 1e-9
    proba += 0.2 * np.eye(n_classes)[y]
    proba /= proba.sum(axis=1, keepdims=True)
    parts = split_auc(y, proba)
    auc, variance = delong_variance(y, proba)
    assert sum(part.mean() for part in parts) / 2 == pytest.approx(auc)
    assert hand_till_auc(y, proba) == pytest.approx(auc)
    assert sum(part.var(ddof=1) / len(part) for part in parts) == pytest.approx(variance)
    low, high = auc_interval(y, proba)
    assert 0.0 < low < auc < high < 1.0
    assert logit(low) + logit(high) == pytest.approx(2 * logit(auc))
    # Student's quantile of some 20 rows or more is a little above the normal one.
    half = logit(high) - logit(auc)
    assert 1.96 <= half * auc * (1 - auc) / np.sqrt(variance) < 2.1


@pytest.mark.parametrize(("n_events", "n_others"), [(3, 12), (8, 40), (40, 160)])
@pytest.mark.parametrize("auc", [0.6, 0.9, 0.97])
def test_intervals_contain_the_true_auc(n_events: int, n_others: int, auc: float) -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [n_others, n_events])
    covered = []
    for _ in range(300):
        p = expit(rng.normal(size=len(y)) + y * norm.ppf(auc) * np.sqrt(2))
        low, high = auc_interval(y, p)
        covered.append(low <= auc <= high)
    # 95 % of 300, less three standard errors.
    assert np.mean(covered) > 0.91


def test_a_perfect_order_of_few_rows_is_not_certain() -> None:
    ends = []
    for n_events in (1, 2, 5, 30, 300):
        y = np.repeat([0, 1], [4 * n_events, n_events])
        low, high = auc_interval(y, np.linspace(0.1, 0.9, len(y)))
        # If the AUC were lower, as many pairs without a row in common were right in fewer cases.
        assert low**n_events == pytest.approx(0.025)
        assert high == 1.0
        mirrored = auc_interval(1 - y, np.linspace(0.1, 0.9, len(y)))
        assert mirrored == pytest.approx((0.0, 1.0 - low))
        ends.append(low)
    assert ends == sorted(ends)
    assert ends[1] < 0.2
    assert ends[-1] > 0.98


def test_few_rows_of_a_class_make_wide_intervals() -> None:
    proba = np.array([[0.8, 0.1, 0.1], [0.3, 0.4, 0.3], [0.2, 0.5, 0.3], [0.4, 0.3, 0.3]])
    low, high = auc_interval([0, 1, 1, 2], proba, labels=[0, 1, 2])
    assert low < 0.4
    assert high > 0.9
    constant = auc_interval([0, 1] * 3, np.full((6, 2), 0.5))
    assert constant[0] < 0.2
    assert constant[1] > 0.8
    assert np.isnan(auc_interval([1, 1], [[0.5, 0.5]] * 2, labels=[0, 1])).all()
    with pytest.raises(ValueError, match="level must be a number above 0"):
        auc_interval([0, 1], [0.2, 0.8], level=1.0)


def test_higher_levels_are_wider() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 100)
    p = expit(rng.normal(size=100) + y)
    ends = [auc_interval(y, p, level=level) for level in (0.5, 0.9, 0.99)]
    assert ends[2][0] < ends[1][0] < ends[0][0] < ends[0][1] < ends[1][1] < ends[2][1]
