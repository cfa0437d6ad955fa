"""The Pitman-Yor smoother: Stirling ratios, the fixed point against its twin, many outcomes."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.special import gammaln

from priorwise import _core
from priorwise.counts import CountTree
from priorwise.smoothing import HDP, PitmanYor
from priorwise.smoothing.hdp import ROOT_CONCENTRATION, tie_nodes
from reference.smoothing import hdp_fixed_point
from reference.smoothing.hdp_exact import tied_group
from reference.smoothing.pitman_yor import (
    discounted_ratio,
    discounted_row,
    mean_tables,
    seat_rows,
)
from reference.trees import Context, as_dict_tree, contexts_of

TYINGS = ("level", "single", "parent", "none")


def grow_tree(rng: np.random.Generator, n_rows: int = 80) -> CountTree:
    path = [rng.integers(0, 2, n_rows), rng.integers(0, 3, n_rows)]
    return CountTree.from_rows(path, (rng.geometric(0.4, n_rows) + path[0]) % 4, 4)


def solve(tree: CountTree, tying: str, discount: float) -> tuple:
    group = tie_nodes(tree, tying)
    start = np.full(int(group.max()) + 1, 20.0)
    discounts = np.full(len(start), discount)
    return _core.solve_process(
        tree, group, start, discounts, False, 1.0, 0.02, ROOT_CONCENTRATION, 5000, 1e-12
    )


def follow_recursion(n_rows: int, discount: float) -> np.ndarray:
    """V(n, t) of all t, by the recursion that the table of the kernel uses."""
    now = np.zeros(n_rows + 2)
    for n in range(1, n_rows):
        t = np.arange(1, n + 1)
        after = np.zeros_like(now)
        after[t] = now[t] * (now[t - 1] + n - discount * (t - 1)) / (now[t] + n - discount * t)
        after[1] = 0.0
        after[n + 1] = now[n] + n * (1.0 - discount)
        now = after
    return now


@pytest.mark.parametrize("discount", [0.05, 0.5, 0.94])
def test_ratios_keep_their_promise(discount: float) -> None:
    for t in range(2, 41):
        exact = discounted_ratio(40, t, discount)
        assert _core.discounted_stirling_ratio(40, t, discount) == pytest.approx(exact, rel=1e-13)
    exact_row = follow_recursion(1200, discount)
    for t in (1, 2, 10, 128, 129, 400, 1100, 1199, 1200):
        ratio = _core.discounted_stirling_ratio(1200, t, discount)
        assert ratio == pytest.approx(exact_row[t], rel=5e-4 if t <= 128 else 1e-8)


def test_logarithms_of_numbers_differ_as_exact_ones() -> None:
    for n, t in ((40, 7), (40, 39), (120, 25)):
        rows = [discounted_row(n, Fraction(a)) for a in (0.31, 0.33)]
        expected = float(np.log(float(rows[1][t] / rows[0][t])))
        low, high = (_core.log_discounted_stirling(n, t, a) for a in (0.31, 0.33))
        assert high - low == pytest.approx(expected, abs=1e-10)
    # S_a(n, t) = S_a(n, 1) / (V(n, 2) ... V(n, t)), S_a(n, 1) = Gamma(n - a) / Gamma(1 - a)
    logs = []
    for a in (0.91, 0.93):
        product = np.log(follow_recursion(1200, a)[2:1201]).cumsum()
        logs.append(gammaln(1200 - a) - gammaln(1 - a) - np.append(0.0, product))
    for t in (1, 2, 40, 130, 700, 1136, 1199):
        low, high = (_core.log_discounted_stirling(1200, t, a) for a in (0.91, 0.93))
        assert high - low == pytest.approx(logs[1][t - 1] - logs[0][t - 1], abs=1e-7)


@pytest.mark.parametrize("n", [10**6, 2**53])
def test_ratios_of_many_rows_have_their_limits(n: int) -> None:
    # S_a(n, t) is near (n - 1)! n^-a / ((t - 1)! a^(t - 1)), so V is near a (t - 1).
    assert _core.discounted_stirling_ratio(n, 5, 0.8) == pytest.approx(3.2, rel=1e-3)
    last = 0.5 * n * (n - 1) * 0.4
    assert _core.discounted_stirling_ratio(n, n, 0.6) == pytest.approx(last)


def test_seating_row_by_row_is_near_the_exact_mean() -> None:
    for discount, error in ((0.0, 1e-12), (0.2, 0.005), (0.5, 0.015)):
        for x in (0.05, 1.0, 20.0):
            for n in (2, 9, 40):
                exact = mean_tables(x, n, discount)
                assert seat_rows(x, n, discount) == pytest.approx(exact, rel=error)


@pytest.mark.parametrize("tying", TYINGS)
@pytest.mark.parametrize("discount", [0.0, 0.3, 0.8])
def test_fixed_point_solves_its_equations(
    tying: str, discount: float, rng: np.random.Generator
) -> None:
    tree = grow_tree(rng)

    def group_of(context: Context) -> object:
        return tied_group(context, tying)

    phi, _ = hdp_fixed_point.solve(as_dict_tree(tree), group_of, 1.0, 0.02, 20.0, 3000, discount)
    rows = tree.rows(solve(tree, tying, discount)[0], rest="parent")
    np.testing.assert_allclose(rows, [phi[u] for u in contexts_of(tree)], atol=1e-6)


def test_without_discount_the_estimate_is_that_of_hdp(rng: np.random.Generator) -> None:
    tree = grow_tree(rng, 300)
    for tying in TYINGS:
        hdp, pitman_yor = HDP(tying=tying), PitmanYor(tying=tying, discount=0.0)
        np.testing.assert_allclose(pitman_yor.smooth(tree), hdp.smooth(tree), atol=1e-6)
    sampled = PitmanYor("gibbs", discount=0.0, n_iter=3000).smooth(tree, 1)
    np.testing.assert_allclose(sampled, HDP("gibbs", n_iter=3000).smooth(tree, 2), atol=0.02)


def test_many_rare_outcomes_are_predicted_better_than_by_hdp() -> None:
    rng = np.random.default_rng(1)
    n_outcomes, n_rows = 5000, 8000
    zipf = 1.0 / np.arange(1, n_outcomes + 1) ** 1.1
    outcome = rng.choice(n_outcomes, n_rows, p=zipf / zipf.sum())
    context = rng.integers(0, 10, n_rows)
    moved = rng.random(n_rows) < 0.5
    outcome[moved] = (outcome[moved] * 7 + 311 * context[moved]) % n_outcomes
    tree = CountTree.from_rows([context[:6000]], outcome[:6000], n_outcomes)
    losses = []
    for smoother in (HDP(), PitmanYor()):
        rows = smoother.rows(tree, range(1, 11))
        losses.append(-np.log(rows[context[6000:], outcome[6000:]]).mean())
    assert losses[1] < losses[0] - 0.05
    assert (PitmanYor().discounts(tree)[1:] > 0.3).all()


def test_draws_have_the_mean_of_the_sweeps_and_depend_on_the_seed_alone(
    rng: np.random.Generator,
) -> None:
    tree = grow_tree(rng)
    smoother = PitmanYor("gibbs", prior="thesis", n_iter=6000)
    draws, concentrations = smoother.sample_with_concentrations(tree, n_samples=1000, seed=3)
    rows = draws.reshape(1000, tree.n_nodes, 4)
    np.testing.assert_allclose(rows.sum(axis=2), 1.0, atol=1e-12)
    np.testing.assert_allclose(draws.mean(axis=0), smoother.smooth(tree, 3), atol=0.03)
    assert (concentrations > 0).all()
    assert np.unique(concentrations[:, 0]).size > 900
    np.testing.assert_array_equal(smoother.sample(tree, n_samples=1000, seed=3), draws)
    assert not np.array_equal(smoother.sample(tree, n_samples=1000, seed=4), draws)


def test_discounts_of_few_outcomes_are_small(rng: np.random.Generator) -> None:
    tree = CountTree.from_rows([rng.integers(0, 20, 4000)], rng.integers(0, 2, 4000), 2)
    assert PitmanYor().discounts(tree).max() < 0.2


def test_wrong_discounts_are_named(rng: np.random.Generator) -> None:
    with pytest.raises(ValueError, match=r"discount must be a number at least 0.* got 1"):
        PitmanYor(discount=1.0).smooth(grow_tree(rng))
