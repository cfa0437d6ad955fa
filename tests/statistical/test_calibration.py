"""Simulation-based calibration: draws of `HDP.sample` rank the truth uniformly.

Concentrations, probabilities and rows are drawn from the model; the rank of the true probability
among posterior draws is then uniform, and an interval of level 0.9 holds it nine times in ten
(Talts et al. 2018, arXiv 1804.06788).
"""

import numpy as np
import pytest
from scipy.stats import binomtest, chisquare

from priorwise.counts import CountTree
from priorwise.smoothing import HDP, PitmanYor
from priorwise.smoothing.hdp import tie_nodes
from reference.smoothing.hdp_crt import HdpStory

LEAF_SIZES = np.array([2, 6, 25, 3, 8, 40])
N_TRUTHS = 500
N_DRAWS = 63
N_BINS = 8
THINNING = 10
SAMPLERS = {
    "level": HDP(tying="level", prior="thesis"),
    "single": HDP(tying="single", prior="thesis"),
    "none": HDP(tying="none", prior="thesis"),
    "explicit prior": HDP(prior_shape=3.0, prior_rate=0.5),
    "discounts": PitmanYor(prior="thesis"),
}
WRONG = {
    "prior too diffuse": HDP(prior="diffuse"),
    "prior too tight": HDP(prior_shape=40.0, prior_rate=4.0),
    "discounts too large": PitmanYor(discount=0.9, prior="thesis"),
}


def rank_truths(name: str, sampler: HDP, shape: float, rate: float) -> np.ndarray:
    """Share of draws below the truth, for the first outcome: (truths, nodes), in 0..1."""
    # Draws of Pitman-Yor processes take longer.
    n_truths = N_TRUTHS * 2 // 5 if "discount" in name else N_TRUTHS
    path = [[0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2]]
    tree = CountTree.from_rows(path, [0] * 6, 2)
    group = tie_nodes(tree, sampler.tying)
    story = HdpStory(tree, group, shape, rate, n_truths)
    rng = np.random.default_rng(2018)
    if "discount" in name:
        story.discount = rng.beta(1.0, 3.0, (n_truths, story.n_groups))
    c = story.draw_concentrations(rng)
    phi = story.draw_phi(np.zeros_like(story.observed), c, rng)
    rows = story.draw_rows(phi, LEAF_SIZES, rng)
    sampler = sampler.set_params(n_iter=N_DRAWS * THINNING, n_burn_in=100)
    ranks = np.empty((n_truths, tree.n_nodes))
    for i in range(n_truths):
        draws = sampler.sample(tree.with_counts(rows[i].ravel()), n_samples=N_DRAWS, seed=i)
        # Draws beyond the smallest number next to one count as one: let a coin break ties.
        below = (draws[:, ::2] < phi[i, :, 0]).sum(axis=0)
        ties = (draws[:, ::2] == phi[i, :, 0]).sum(axis=0)
        ranks[i] = below + np.floor(rng.random(tree.n_nodes) * (ties + 1))
    return ranks / N_DRAWS


def least_p_value(ranks: np.ndarray) -> float:
    """Chi-square of the ranks' histogram at every node; the smallest p times the nodes."""
    bins = np.minimum((ranks * (N_DRAWS / (N_DRAWS + 1)) * N_BINS).astype(int), N_BINS - 1)
    p = [chisquare(np.bincount(column, minlength=N_BINS)).pvalue for column in bins.T]
    return min(p) * len(p)


@pytest.mark.parametrize("name", SAMPLERS)
def test_truths_rank_uniformly_among_posterior_draws(name: str, alpha: float) -> None:
    sampler = SAMPLERS[name]
    prior = sampler._prior()
    ranks = rank_truths(name, sampler, prior.shape, prior.rate)
    assert least_p_value(ranks) > alpha / 2
    covered = (np.abs(ranks - 0.5) <= 0.45).sum(axis=0)
    # Of the 64 ranks, 58 lie in the interval.
    inside = np.mean(np.abs(np.arange(N_DRAWS + 1) / N_DRAWS - 0.5) <= 0.45)
    p = [binomtest(int(k), len(ranks), inside).pvalue for k in covered]
    assert min(p) * len(p) > alpha / 2


@pytest.mark.parametrize("name", WRONG)
def test_control_truths_from_another_prior_do_not_rank_uniformly(name: str, alpha: float) -> None:
    ranks = rank_truths(name, WRONG[name], 2.0, 1.0)
    assert least_p_value(ranks) < alpha


def test_control_draws_that_are_too_narrow_do_not_rank_uniformly(
    alpha: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = HDP.sample

    def draw_narrow(self: HDP, tree: CountTree, *, n_samples: int, seed: int) -> np.ndarray:
        draws = draw(self, tree, n_samples=n_samples, seed=seed)
        return 0.5 * (draws + np.roll(draws, 1, axis=0))

    monkeypatch.setattr(HDP, "sample", draw_narrow)
    assert least_p_value(rank_truths("level", SAMPLERS["level"], 2.0, 1.0)) < alpha
