"""HDP against posterior means of long runs of two independent samplers.

The folder named by PRIORWISE_SHARED holds `reference/hdp_oracles/*.json`, each with the `counts`
of every leaf context and, per tying, `mean` and `sd` of every node, under the prior Gamma(2, 1).
"""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from priorwise.counts import CountTree
from priorwise.smoothing import HDP

SHARED = os.environ.get("PRIORWISE_SHARED")
FILES = sorted(Path(SHARED, "reference", "hdp_oracles").glob("*.json")) if SHARED else []
TYINGS = ("level", "single", "parent", "none")

pytestmark = pytest.mark.skipif(not SHARED, reason="PRIORWISE_SHARED is not set")


def leaf_errors(file: Path, tying: str, smoother: HDP) -> tuple[np.ndarray, np.ndarray]:
    """Error and the oracle's sd for every leaf and outcome."""
    oracle = json.loads(file.read_text())
    contexts = np.array([[int(v) for v in key.split(",")] for key in oracle["counts"]])
    counts = np.array(list(oracle["counts"].values()), dtype=float)
    n_leaves, n_outcomes = counts.shape
    path = np.repeat(contexts.T, n_outcomes, axis=1)
    outcome = np.tile(np.arange(n_outcomes), n_leaves)
    tree = CountTree.from_rows(list(path), outcome, n_outcomes, weight=counts.ravel())
    estimate = smoother.rows(tree, tree.find(list(contexts.T)), seed=1)
    nodes = oracle["posterior"][tying]["nodes"]
    mean = np.array([nodes[key]["mean"] for key in oracle["counts"]])
    sd = np.array([nodes[key]["sd"] for key in oracle["counts"]])
    return np.abs(estimate - mean), sd


@pytest.mark.parametrize("tying", TYINGS)
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_gibbs_reaches_the_long_run_means(file: Path, tying: str) -> None:
    error, sd = leaf_errors(file, tying, HDP("gibbs", tying=tying, prior="thesis", n_iter=20_000))
    assert np.all(error <= 5 * sd + 0.006)
    assert error.mean() <= 0.002


def has_a_hundred_rows(file: Path) -> bool:
    return np.sum(list(json.loads(file.read_text())["counts"].values())) >= 100


# The fixed point promises nothing below 100 rows.
@pytest.mark.parametrize("file", [*filter(has_a_hundred_rows, FILES)], ids=lambda file: file.stem)
def test_fixed_point_is_near_the_long_run_means(file: Path) -> None:
    error, _ = leaf_errors(file, "level", HDP(tying="level", prior="thesis"))
    assert error.mean() <= 0.003
    assert error.max() <= 0.03
