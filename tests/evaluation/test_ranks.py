import os
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

from priorwise.evaluation import (
    bergmann_hommel,
    critical_difference,
    friedman_test,
    nemenyi,
    rank_models,
)
from priorwise.evaluation.ranks import _adjust_over_partitions

SHARED = os.environ.get("PRIORWISE_SHARED", "")
needs_shared = pytest.mark.skipif(not SHARED, reason="PRIORWISE_SHARED is not set")
MODELS = ["CLL-SP", "NB", "TAN", "SP", "AUC-SP"]


def read_reference(name):
    return pd.read_csv(Path(SHARED) / "reference" / f"{name}.csv")[MODELS]


def rejected_pairs(frame):
    tests = bergmann_hommel(frame, higher_is_better=True)
    return {frozenset(test.pair) for test in tests if test.rejected}


def pairs_of(*pairs):
    return {frozenset(pair) for pair in pairs}


def draw_scores(seed, n_datasets=15, n_models=4):
    rng = np.random.default_rng(seed)
    shift = rng.normal(size=n_models)
    return {f"m{j}": rng.normal(shift[j], 1.5, size=n_datasets) for j in range(n_models)}


def set_partitions(items):
    """Every partition of a list, by the textbook recursion."""
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for partition in set_partitions(rest):
        yield [[first], *partition]
        for i, block in enumerate(partition):
            yield [*partition[:i], [first, *block], *partition[i + 1 :]]


def slow_bergmann_hommel(scores):
    """Adjusted p-values straight from the definition, as a mapping of pair to value."""
    table = rank_models(scores)
    names, average = table.names, table.average
    error = np.sqrt(len(names) * (len(names) + 1) / (6 * table.n_datasets))
    p = {
        (i, j): 2 * stats.norm.sf(abs(average[i] - average[j]) / error)
        for i, j in combinations(range(len(names)), 2)
    }
    adjusted = dict.fromkeys(p, 0.0)
    for partition in set_partitions(list(range(len(names)))):
        together = [pair for block in partition for pair in combinations(sorted(block), 2)]
        for pair in together:
            bound = len(together) * min(p[other] for other in together)
            adjusted[pair] = max(adjusted[pair], bound)
    return {(names[i], names[j]): min(value, 1.0) for (i, j), value in adjusted.items()}


def test_ties_share_their_mean_rank():
    table = rank_models({"a": [1.0, 3.0], "b": [1.0, 2.0], "c": [0.5, 9.0]})
    assert table.ranks.tolist() == [[2.5, 2.5, 1.0], [2.0, 1.0, 3.0]]
    turned = rank_models({"a": [1.0, 3.0], "b": [1.0, 2.0], "c": [0.5, 9.0]}, higher_is_better=True)
    assert turned.ranks.tolist() == [[1.5, 1.5, 3.0], [2.0, 3.0, 1.0]]


@pytest.mark.parametrize("seed", range(5))
def test_friedman_chi_square_is_scipys_without_ties(seed):
    scores = draw_scores(seed)
    expected = stats.friedmanchisquare(*scores.values()).statistic
    assert friedman_test(scores).chi_square == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(5))
def test_iman_davenport_is_the_two_way_analysis_of_variance_of_the_ranks(seed):
    scores = draw_scores(seed)
    ranks = rank_models(scores).ranks
    n, k = ranks.shape
    between = n * ((ranks.mean(axis=0) - ranks.mean()) ** 2).sum() / (k - 1)
    residual = ranks - ranks.mean(axis=0) - ranks.mean(axis=1, keepdims=True) + ranks.mean()
    within = (residual**2).sum() / ((k - 1) * (n - 1))
    test = friedman_test(scores)
    assert test.statistic == pytest.approx(between / within)
    assert test.p_value == pytest.approx(stats.f.sf(between / within, k - 1, (k - 1) * (n - 1)))


def test_unanimous_data_sets_give_an_infinite_statistic_and_equal_models_zero():
    assert friedman_test({"a": [1, 1, 1], "b": [2, 2, 2]}).statistic == np.inf
    equal = friedman_test({"a": [1, 2, 3], "b": [1, 2, 3]})
    assert (equal.statistic, equal.p_value) == (0, 1)


@pytest.mark.parametrize("n_models", [2, 3, 4, 5, 6])
def test_bergmann_hommel_agrees_with_its_definition(n_models):
    scores = draw_scores(n_models, n_models=n_models)
    slow = slow_bergmann_hommel(scores)
    tests = bergmann_hommel(scores)
    assert {test.pair: test.adjusted_p_value for test in tests} == pytest.approx(slow)
    assert [test.p_value for test in tests] == sorted(test.p_value for test in tests)
    assert all(test.rejected == (test.adjusted_p_value <= 0.05) for test in tests)


def test_bergmann_hommel_lies_between_the_raw_and_the_bonferroni_value():
    for test in bergmann_hommel(draw_scores(7, n_models=9)):
        assert test.p_value <= test.adjusted_p_value <= min(1, 36 * test.p_value)


def test_the_kind_of_frame_changes_nothing():
    scores = draw_scores(3)
    plain = bergmann_hommel(scores)
    assert bergmann_hommel(pd.DataFrame(scores)) == plain
    assert bergmann_hommel(pl.DataFrame(scores)) == plain


def test_frames_that_cannot_be_ranked_are_refused():
    with pytest.raises(ValueError, match="column 'name' of frame must hold numbers"):
        friedman_test({"name": ["x", "y"], "a": [1, 2]})
    with pytest.raises(ValueError, match="column 'b' of frame must not hold missing"):
        friedman_test({"a": [1, 2], "b": [1, np.nan]})
    with pytest.raises(ValueError, match="at least two models"):
        friedman_test({"a": [1, 2]})
    with pytest.raises(ValueError, match="at least two data sets, got 1"):
        friedman_test({"a": [1], "b": [2]})
    with pytest.raises(ValueError, match="equally long"):
        friedman_test({"a": [1, 2], "b": [1, 2, 3]})
    with pytest.raises(ValueError, match="at most 11 models, got 12"):
        bergmann_hommel({str(i): [1.0, 2.0] for i in range(12)})
    with pytest.raises(ValueError, match="alpha must be a number above 0 and below 1, got 0"):
        bergmann_hommel({"a": [1, 2], "b": [1, 2]}, alpha=0)


def test_nemenyi_rejects_where_ranks_differ_by_more_than_the_critical_difference():
    scores = draw_scores(11, n_datasets=30, n_models=5)
    table = rank_models(scores)
    average = dict(zip(table.names, table.average, strict=True))
    cut = critical_difference(5, 30)
    tests = nemenyi(scores)
    assert any(test.rejected for test in tests)
    assert not all(test.rejected for test in tests)
    for test in tests:
        a, b = test.pair
        assert test.rejected == (abs(average[a] - average[b]) > cut)


@pytest.mark.parametrize(("k", "q"), [(2, 1.960), (5, 2.728), (10, 3.164)])
def test_critical_difference_uses_the_printed_studentised_range(k, q):
    expected = q * np.sqrt(k * (k + 1) / (6 * 20))
    assert critical_difference(k, 20) == pytest.approx(expected, abs=1e-3)


@needs_shared
def test_superparent_table_of_conditional_log_likelihood_is_reproduced():
    frame = read_reference("clsp_table2_cll")
    test = friedman_test(frame, higher_is_better=True)
    expected = [1.8194, 3.7222, 3.6111, 3.0833, 2.7639]
    assert list(test.average_ranks.values()) == pytest.approx(expected, abs=5e-5)
    assert test.statistic == pytest.approx(10.7604, abs=5e-5)
    best = [("CLL-SP", other) for other in MODELS[1:]]
    assert rejected_pairs(frame) == pairs_of(*best)


@needs_shared
def test_superparent_table_of_accuracy_is_reproduced():
    frame = read_reference("clsp_table7_acc")
    test = friedman_test(frame, higher_is_better=True)
    printed = [2.3333, 3.6944, 3.75, 2.9444, 2.2778]  # from scores with more decimals
    assert list(test.average_ranks.values()) == pytest.approx(printed, abs=0.09)
    assert rejected_pairs(frame) == pairs_of(
        ("NB", "AUC-SP"), ("NB", "CLL-SP"), ("TAN", "AUC-SP"), ("TAN", "CLL-SP")
    )


@needs_shared
def test_superparent_table_of_auc_agrees_with_its_own_win_counts():
    # The paper's ranks (its Table 15) contradict its pairwise wins (its Table 13), which have no
    # ties: 1 + losses / 36 is then the average rank. The printed scores side with the wins.
    frame = read_reference("clsp_table12_auc")
    losses = {
        "CLL-SP": 12 + 8 + 13 + 22,
        "NB": 15 + 24 + 29 + 24,
        "TAN": 21 + 25 + 29 + 28,
        "SP": 10 + 11 + 27 + 23,
        "AUC-SP": 6 + 7 + 9 + 14,
    }
    from_wins = {name: 1 + count / 36 for name, count in losses.items()}
    ranks = friedman_test(frame, higher_is_better=True).average_ranks
    assert ranks == pytest.approx(from_wins, abs=0.09)
    must_reject = pairs_of(("NB", "AUC-SP"), ("TAN", "AUC-SP"))
    assert rejected_pairs(frame) >= must_reject


def test_printed_p_values_give_the_printed_rejections():
    # z-values of the SuperParent paper's Table 16, as pairs of (NB, TAN, SP, AUC-SP, CLL-SP).
    z = {
        (0, 1): 0.074536,
        (0, 2): 1.900658,
        (0, 3): 3.503173,
        (0, 4): 2.310604,
        (1, 2): 1.975193,
        (1, 3): 3.577709,
        (1, 4): 2.385139,
        (2, 3): 1.602515,
        (2, 4): 0.409946,
        (3, 4): 1.19257,
    }
    p = 2 * stats.norm.sf(list(z.values()))
    adjusted = _adjust_over_partitions(p, list(z), 5)
    assert {pair for pair, value in zip(z, adjusted, strict=True) if value <= 0.05} == {
        (0, 3),
        (1, 3),
    }
