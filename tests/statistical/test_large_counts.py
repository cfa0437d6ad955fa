"""Where a node holds more than 1024 rows, the sampler's ratios are approximations: are they good?

The sampler and its twin, which tosses coins and knows no Stirling number, run at fixed
concentrations from the twin's state; compared are the pseudo-counts a node gets and passes on.
"""

import numpy as np
import pytest

from priorwise import _core
from priorwise.counts import CountTree
from priorwise.smoothing.hdp import tie_nodes
from reference.smoothing.hdp_crt import HdpStory

N_BATCHES = 25


def grow_tree(n_leaves: int, leaf_size: int, rng: np.random.Generator) -> CountTree:
    """One inner node below the root, with leaves of equal size and two outcomes, 7 : 3."""
    leaf = np.repeat(np.arange(n_leaves), leaf_size)
    outcome = (rng.random(leaf.size) < 0.3).astype(np.int32)
    return CountTree.from_rows([np.zeros_like(leaf), leaf], outcome, 2)


def batch_means(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    batches = values.reshape(N_BATCHES, -1, values.shape[1]).mean(axis=1)
    return batches.mean(axis=0), batches.std(axis=0, ddof=1) / np.sqrt(N_BATCHES)


@pytest.mark.parametrize(
    ("n_leaves", "leaf_size", "concentration"),
    [
        pytest.param(60, 40, (30.0, 30.0), id="many leaves, moderate concentrations"),
        pytest.param(300, 10, (300.0, 300.0), id="small leaves"),
        pytest.param(6, 2000, (1e4, 1e2), id="large leaves"),
        pytest.param(3, 900, (1e6, 1e3), id="nearly all rows passed on"),
    ],
)
def test_pseudo_counts_of_large_nodes_agree_with_coins(
    n_leaves: int,
    leaf_size: int,
    concentration: tuple[float, float],
    rng: np.random.Generator,
) -> None:
    tree = grow_tree(n_leaves, leaf_size, rng)
    group = tie_nodes(tree, "level")
    story = HdpStory(tree, group, 1.0, 1.0)
    c = np.array([concentration])

    phi = story.draw_phi(story.observed, c, rng)
    by_coins = []
    for _ in range(100 + 40 * N_BATCHES):
        n, t = story.seat_rows(story.observed, phi, c, rng)
        phi = story.draw_phi(n, c, rng)
        by_coins.append([n[0, 1].sum(), t[0, 1].sum()])

    # One sweep a call, so that c, drawn at the end of a sweep, stays what it is.
    passed = t.ravel()
    by_kernel = []
    for seed in range(1000 + 200 * N_BATCHES):
        *_, passed, _, _ = _core.sample_process(
            tree, group, passed, c[0], None, False, 1.0, 1.0, 2.0, 1, 0, 0, seed
        )
        t = passed.reshape(-1, 2)
        by_kernel.append([t[2:].sum(), t[1].sum()])

    expected, expected_se = batch_means(np.array(by_coins[100:]))
    got, got_se = batch_means(np.array(by_kernel[1000:]))
    error = np.hypot(expected_se, got_se)
    assert np.all(error < 0.006 * expected)  # the test can see an error of some per cent
    np.testing.assert_array_less(np.abs(got - expected), 6 * error)
