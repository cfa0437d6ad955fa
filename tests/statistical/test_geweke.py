"""Geweke's joint-distribution test of the Gibbs kernel.

Start many chains from the prior: concentrations, probabilities phi, rows. Then let each go round:
seat the rows by coins given phi, sweep with the kernel, draw phi from what the sweep left, draw
rows anew from phi. If the kernel leaves the posterior unchanged, every chain stays at the prior
for ever, and the prior's moments are known exactly (Geweke 2004, JASA 99, 799-804).
"""

import numpy as np
import pytest
from scipy.special import digamma
from scipy.stats import gamma

from priorwise import _core
from priorwise.counts import CountTree
from priorwise.smoothing.hdp import tie_nodes
from reference.comparison import least_p_value
from reference.smoothing.hdp_crt import ROOT_CONCENTRATION, HdpStory

# Leaves of 1, 2, 5, 12, 30 and 90 rows: below and beyond the sampler's window of 21.
LEAF_SIZES = np.array([1, 30, 5, 2, 90, 12])
N_OUTCOMES = 3
SHAPE, RATE = 2.0, 0.5


def empty_story(tying: str, n_chains: int) -> HdpStory:
    path = [[0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2]]
    tree = CountTree.from_rows(path, [0] * 6, N_OUTCOMES)
    return HdpStory(tree, tie_nodes(tree, tying), SHAPE, RATE, n_chains)


def go_round(
    story: HdpStory, n_rounds: int, kernel_rate: float, rng: np.random.Generator
) -> np.ndarray:
    """Statistics of each chain, averaged over its rounds."""
    c = story.draw_concentrations(rng)
    phi = story.draw_phi(np.zeros_like(story.observed), c, rng)
    total = np.zeros((story.n_chains, summarise(c, phi).shape[1]))
    for _ in range(n_rounds):
        rows = story.draw_rows(phi, LEAF_SIZES, rng)
        _, t = story.seat_rows(rows, phi, c, rng)
        for chain in range(story.n_chains):
            tree = story.tree.with_counts(rows[chain].ravel())
            _, draws, _, _, _, c[chain], _ = _core.sample_process(
                tree, story.group, t[chain].ravel(), c[chain].copy(), None, False, SHAPE,
                kernel_rate, ROOT_CONCENTRATION, 3, 2, 1, int(rng.integers(2**63)),
            )  # fmt: skip
            phi[chain] = draws[0].reshape(phi[chain].shape)
        total += summarise(c, phi)
    return total / n_rounds


def summarise(c: np.ndarray, phi: np.ndarray) -> np.ndarray:
    first = phi[:, :, 0]
    return np.hstack([c, np.log(c), first, first**2])


def prior_moments(story: HdpStory) -> np.ndarray:
    """The expectation of `summarise`."""
    n_nodes, k = story.tree.n_nodes, N_OUTCOMES
    # E[phi_u^2] = E[c / (c + 1) phi_parent^2 + phi_parent / (c + 1)], over c by its quantiles.
    c = gamma.ppf((np.arange(20_000) + 0.5) / 20_000, SHAPE, scale=1.0 / RATE)
    share = c / (c + 1.0)
    root = (ROOT_CONCENTRATION / k + 1.0) / (ROOT_CONCENTRATION + 1.0) / k
    second = np.empty((n_nodes, len(c)))
    second[0] = root
    for node in range(1, n_nodes):
        above = second[story.tree.parent[node]]
        if story.n_groups > 1:  # the parent's c is another one
            above = above.mean()
        second[node] = share * above + (1.0 - share) / k
    moments = [np.full(story.n_groups, SHAPE / RATE)]
    moments += [np.full(story.n_groups, digamma(SHAPE) - np.log(RATE))]
    moments += [np.full(n_nodes, 1.0 / k), second.mean(axis=1)]
    return np.concatenate(moments)


@pytest.mark.parametrize("tying", ["level", "single", "parent", "none"])
def test_chains_that_start_at_the_prior_stay_there(
    tying: str, alpha: float, rng: np.random.Generator
) -> None:
    story = empty_story(tying, n_chains=100)
    assert least_p_value(go_round(story, 60, RATE, rng), prior_moments(story)) > alpha


def test_control_a_kernel_with_another_prior_drifts_away(
    alpha: float, rng: np.random.Generator
) -> None:
    story = empty_story("level", n_chains=100)
    assert least_p_value(go_round(story, 60, 1.25 * RATE, rng), prior_moments(story)) < alpha


def test_moments_of_the_prior_are_those_of_draws_from_it(
    alpha: float, rng: np.random.Generator
) -> None:
    for tying in ("single", "none"):
        story = empty_story(tying, n_chains=20_000)
        c = story.draw_concentrations(rng)
        phi = story.draw_phi(np.zeros_like(story.observed), c, rng)
        assert least_p_value(summarise(c, phi), prior_moments(story)) > alpha / 2
