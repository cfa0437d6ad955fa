"""Sums of leave-one-out losses over many rows."""

import numpy as np
import pytest

from priorwise.counts import count_trees
from priorwise.smoothing import MLE
from priorwise.structure.networks import Network, NetworkCounts, SubmodelScorer

N_ROWS = 4_000_000


def hopeless_scorer() -> SubmodelScorer:
    """A scorer by which the row x = 0, y = 0 is impossible in its own class.

    Class 0 has no other row of x = 0, and class 1 has some: the log-loss is that of 1e-300.
    """
    x, y = np.array([[0, 1, 1, 0, 0, 1], [0, 0, 0, 1, 1, 1]], dtype=np.int32)
    trees = count_trees([x, y], [2, 2], [0, 1], [[1], []])
    network = Network.naive(1)
    return SubmodelScorer.prepare(NetworkCounts(network, trees[1], trees[:1]), MLE(), loss="log")


@pytest.mark.parametrize("by_table", [False, True])
def test_log_losses_of_millions_of_rows_do_not_overflow(by_table: bool) -> None:
    scorer = hopeless_scorer()
    rows = np.zeros(N_ROWS, dtype=np.int32)
    sums = scorer.score([rows], rows, by_table=by_table, n_jobs=2)
    losses = scorer.choose(sums, N_ROWS).losses
    # Prior of class 0 without the row, two of five; then the least probability there is.
    expected = [[-np.log(2 / 5), -np.log(1e-300)]]
    np.testing.assert_allclose(losses, expected, rtol=1e-9)


def test_sums_of_losses_do_not_depend_on_batches() -> None:
    scorer = hopeless_scorer()
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 2, (2, 30_000)).astype(np.int32)
    whole = scorer.score([x], y)
    for n_batches in (2, 7, 1000):
        parts = np.array_split(np.arange(len(y)), n_batches)
        sums = sum(scorer.score([x[part]], y[part]) for part in parts)
        np.testing.assert_array_equal(np.asarray(sums), whole)
