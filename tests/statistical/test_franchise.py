"""The Pitman-Yor sampler leaves the joint distribution of rows and tables as it is.

Rows and tables are drawn together by the story of the Chinese restaurant franchise: a row sits down
at a table of its node with a probability in proportion to n - a, n the rows there, or at a new one,
which sends a row to the parent, in proportion to c + a T. Such a state is an exact draw from the
posterior of its rows, and sweeps of the kernel must keep it one: concentrations, discounts and
draws of phi keep the moments of the prior, and the number of tables keeps its mean (Geweke 2004).
"""

import numpy as np
import pytest
from scipy.special import digamma

from priorwise import _core
from priorwise.counts import CountTree
from priorwise.smoothing.hdp import ROOT_CONCENTRATION, tie_nodes
from reference.comparison import least_p_value

PATH = [[0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2]]
LEAF_SIZES = (1, 30, 5, 2, 40, 12)
N_OUTCOMES = 3
SHAPE, RATE = 2.0, 0.5
DISCOUNTS = np.arange(0.01, 0.96, 0.02)
"""Those that the kernel learns, under a prior in proportion to (1 - a)^2."""
N_CHAINS = 250
N_CONTROL_CHAINS = 125
"""What fewer chains show to be wrong, `N_CHAINS` would."""


class Franchise:
    def __init__(
        self, tree: CountTree, c: np.ndarray, discount: np.ndarray, rng: np.random.Generator
    ) -> None:
        self.tree, self.c, self.discount, self.rng = tree, c, discount, rng
        self.tables: list[list[list[int]]] = [
            [[] for _ in range(N_OUTCOMES)] for _ in range(tree.n_nodes)
        ]

    def seat(self, node: int) -> int:
        """Seat one row at a node; return its outcome."""
        tables = self.tables[node]
        if node == 0:
            weights = [len(own) + ROOT_CONCENTRATION / N_OUTCOMES for own in tables]
            outcome = self.draw(weights)
            tables[outcome].append(1)
            return outcome
        level = self.tree.level[node] - 1
        places = [(k, i) for k in range(N_OUTCOMES) for i in range(len(tables[k]))]
        weights = [tables[k][i] - self.discount[level] for k, i in places]
        chosen = self.draw([*weights, self.c[level] + self.discount[level] * len(places)])
        if chosen < len(places):
            k, i = places[chosen]
            tables[k][i] += 1
            return k
        outcome = self.seat(int(self.tree.parent[node]))
        tables[outcome].append(1)
        return outcome

    def draw(self, weights: list[float]) -> int:
        place = self.rng.random() * sum(weights)
        upper = np.cumsum(weights)
        return min(int(np.searchsorted(upper, place, side="right")), len(weights) - 1)


def run_chain(exponent: float, fixed: float | None, rng: np.random.Generator) -> np.ndarray:
    """Draw a state, sweep, and return what must have the same mean as before."""
    tree = CountTree.from_rows(PATH, [0] * 6, N_OUTCOMES)
    c = rng.gamma(SHAPE, 1.0 / RATE, 2)
    discount = rng.choice(DISCOUNTS, 2, p=prior_weights(exponent))
    story = Franchise(tree, c, discount, rng)
    leaf_rows = [[0] * N_OUTCOMES for _ in LEAF_SIZES]
    first = int(tree.level_start[2])
    for leaf, size in enumerate(LEAF_SIZES):
        for _ in range(size):
            leaf_rows[leaf][story.seat(first + leaf)] += 1
    counts = np.zeros((tree.n_nodes, N_OUTCOMES))
    counts[first:] = leaf_rows
    for node in range(tree.n_nodes - 1, 0, -1):
        counts[tree.parent[node]] += counts[node]
    t = np.array([[float(len(own)) for own in node] for node in story.tables])
    t[0] = 0.0
    start = discount if fixed is None else np.full(2, fixed)
    _, draws, _, _, passed, c, swept = _core.sample_process(
        tree.with_counts(counts.ravel()), tie_nodes(tree, "level"), t.ravel(), c, start,
        fixed is None, SHAPE, RATE, ROOT_CONCENTRATION, 30, 29, 1, int(rng.integers(2**63)),
    )  # fmt: skip
    phi = draws[0].reshape(tree.n_nodes, N_OUTCOMES)[:, 0]
    more_tables = (passed - t.ravel()).reshape(t.shape).sum(axis=1)[1:]
    return np.concatenate([c, np.log(c), swept, swept**2, phi, phi**2, more_tables])


def prior_weights(exponent: float) -> np.ndarray:
    weights = (1.0 - DISCOUNTS) ** exponent
    return weights / weights.sum()


def prior_moments(exponent: float) -> np.ndarray:
    k, weights = N_OUTCOMES, prior_weights(exponent)
    c = np.random.default_rng(0).gamma(SHAPE, 1.0 / RATE, 500_000)
    # Of the variance that a level adds.
    share = float(weights @ (1.0 - DISCOUNTS) * np.mean(1.0 / (c + 1.0)))
    second = [(ROOT_CONCENTRATION / k + 1.0) / (ROOT_CONCENTRATION + 1.0) / k]
    for _ in range(2):
        second.append((1.0 - share) * second[-1] + share / k)
    squares = np.repeat(second, [1, 2, 6])
    of_discount = np.repeat([weights @ DISCOUNTS, weights @ DISCOUNTS**2], 2)
    mean, log_mean = SHAPE / RATE, digamma(SHAPE) - np.log(RATE)
    return np.concatenate(
        [[mean] * 2, [log_mean] * 2, of_discount, [1.0 / k] * 9, squares, [0.0] * 8]
    )


@pytest.mark.parametrize(
    ("exponent", "fixed", "stays"),
    [
        pytest.param(2.0, None, True, id="discounts learnt"),
        pytest.param(-1.0, None, False, id="discounts of another prior"),
        pytest.param(2.0, 0.8, False, id="discounts fixed"),
    ],
)
def test_only_a_kernel_with_the_same_discounts_keeps_the_joint_distribution(
    exponent: float, fixed: float | None, stays: bool, alpha: float
) -> None:
    rng = np.random.default_rng(2004)
    n_chains = N_CHAINS if stays else N_CONTROL_CHAINS
    chains = np.array([run_chain(exponent, fixed, rng) for _ in range(n_chains)])
    values = np.delete(chains, [4, 5, 6, 7], axis=1) if fixed is not None else chains
    moments = prior_moments(exponent)
    expected = np.delete(moments, [4, 5, 6, 7]) if fixed is not None else moments
    assert (least_p_value(values, expected) > alpha) is stays
