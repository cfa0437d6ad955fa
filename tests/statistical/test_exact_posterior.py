"""Samplers against the enumerated posterior of tiny trees."""

import numpy as np
import pytest

from priorwise.counts import CountTree
from priorwise.smoothing import HDP, PitmanYor
from priorwise.smoothing.hdp import tie_nodes
from reference.comparison import least_p_value
from reference.smoothing.hdp_crt import HdpStory
from reference.smoothing.hdp_exact import ExactPosterior
from reference.trees import as_dict_tree, contexts_of

TYINGS = ("level", "single", "parent", "none")
TREES = {
    "one level": ([[0, 0, 0, 0, 1, 1, 2, 2]], [0, 0, 0, 1, 1, 1, 0, 1], 2),
    "two levels": (
        [[0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 0, 0, 0, 1]],
        [0, 0, 1, 1, 1, 1, 1, 0],
        2,
    ),
    "rows that end above the leaves": (
        [[0, 0, 0, 1, 1, 1, -1, -1], [0, 0, 1, 0, -1, -1, 0, 1]],
        [0, 0, 1, 1, 1, 0, 0, 1],
        2,
    ),
    "three outcomes": ([[0, 0, 0, 1, 1, 1], [0, 0, 1, 0, 0, 0]], [0, 0, 0, 1, 1, 2], 3),
}
N_RUNS = 32


@pytest.fixture(params=TREES)
def tree(request: pytest.FixtureRequest) -> CountTree:
    return CountTree.from_rows(*TREES[request.param])


def enumerate_mean(
    tree: CountTree, tying: str, shape: float, rate: float, discount: float | None = 0.0
) -> np.ndarray:
    mean = ExactPosterior(as_dict_tree(tree), tying, shape, rate, discount).mean()
    return np.concatenate([mean[context] for context in contexts_of(tree)])


def run_gibbs(tree: CountTree, tying: str, n_iter: int, discount: float | None = 0.0) -> np.ndarray:
    options = HDP("gibbs", tying=tying, prior="thesis", n_iter=n_iter).get_params()
    smoother = HDP(**options) if discount == 0.0 else PitmanYor(discount=discount, **options)
    return np.array([smoother.smooth(tree, seed) for seed in range(N_RUNS)])


def test_enumeration_without_sharing_is_a_dirichlet_posterior() -> None:
    # With c so large that siblings are one, all rows meet the root's prior.
    tree = CountTree.from_rows([[0, 0, 1]], [0, 0, 1], 2)
    mean = enumerate_mean(tree, "level", 1e6, 1.0)
    np.testing.assert_allclose(mean, [0.6, 0.4] * 3, atol=1e-4)


@pytest.mark.parametrize("tying", TYINGS)
def test_gibbs_agrees_with_the_enumerated_posterior(
    tree: CountTree, tying: str, alpha: float
) -> None:
    exact = enumerate_mean(tree, tying, 2.0, 1.0)
    runs = run_gibbs(tree, tying, n_iter=4000)
    assert np.abs(runs.mean(axis=0) - exact).max() < 0.004
    assert least_p_value(runs, exact) > alpha


@pytest.mark.parametrize(("tying", "discount"), [("level", 0.4), ("level", None), ("single", None)])
def test_pitman_yor_sampler_agrees_with_the_enumerated_posterior(
    tree: CountTree, tying: str, discount: float | None, alpha: float
) -> None:
    exact = enumerate_mean(tree, tying, 2.0, 1.0, discount)
    runs = run_gibbs(tree, tying, 4000, discount)
    assert np.abs(runs.mean(axis=0) - exact).max() < 0.004
    assert least_p_value(runs, exact) > alpha
    fixed = PitmanYor(discount=discount, tying=tying, prior="thesis").smooth(tree)
    assert np.abs(fixed - exact).max() < 0.06


def test_control_a_posterior_under_another_discount_is_rejected(
    tree: CountTree, alpha: float
) -> None:
    exact = enumerate_mean(tree, "level", 2.0, 1.0, 0.4)
    for discount in (0.3, None):
        assert least_p_value(run_gibbs(tree, "level", 2000, discount), exact) < alpha


@pytest.mark.parametrize("tying", TYINGS)
def test_coin_tossing_twin_agrees_with_the_enumerated_posterior(
    tree: CountTree, tying: str, alpha: float, rng: np.random.Generator
) -> None:
    exact = enumerate_mean(tree, tying, 2.0, 1.0)
    runs = HdpStory(tree, tie_nodes(tree, tying), 2.0, 1.0, n_chains=200)
    means = runs.posterior_means(n_sweeps=100, n_burn_in=40, rng=rng)
    assert np.abs(means.mean(axis=0).ravel() - exact).max() < 0.01
    assert least_p_value(means, exact) > alpha


def test_control_a_posterior_under_another_prior_is_rejected(tree: CountTree, alpha: float) -> None:
    exact = enumerate_mean(tree, "level", 2.0, 0.7)
    assert least_p_value(run_gibbs(tree, "level", n_iter=4000), exact) < alpha
