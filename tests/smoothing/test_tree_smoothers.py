"""Hierarchical shrinkage, the average over prunings, and the choice among smoothers."""

from __future__ import annotations

import numpy as np
import pytest

from priorwise.counts import CountTree
from priorwise.smoothing import (
    HGS,
    MLE,
    BestOf,
    HierarchicalShrinkage,
    Laplace,
    MBranch,
    MEstimate,
    PruningAverage,
)
from priorwise.smoothing.base import as_smoother
from reference import decision_trees as slow


def random_tree(seed, n_rows=40, n_outcomes=3):
    rng = np.random.default_rng(seed)
    path = [rng.integers(2, size=n_rows), rng.integers(3, size=n_rows)]
    return CountTree.from_rows(
        path, rng.integers(n_outcomes, size=n_rows), n_outcomes, weight=rng.random(n_rows) * 3
    )


def with_an_empty_node(tree):
    first, last = tree.row_start[tree.n_nodes - 1 : tree.n_nodes + 1]
    counts = tree.counts.copy()
    for cell in range(first, last):
        above, gone = cell, counts[cell]
        while above >= 0:
            counts[above] = max(counts[above] - gone, 0.0)
            above = tree.parent_cell[above]
    return tree.with_counts(counts)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("lam", [0.2, 5.0, 300.0])
def test_hierarchical_shrinkage_agrees_with_its_slow_twin(seed, lam):
    tree = with_an_empty_node(random_tree(seed))
    found = HierarchicalShrinkage(lam).rows(tree)
    np.testing.assert_allclose(found, slow.shrink_hierarchically(tree, lam), atol=1e-13)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("rate", "pseudo", "stop"), [(1.0, 1.0, 0.5), (0.2, 3.0, 0.1)])
def test_pruning_average_agrees_with_listing_all_prunings(seed, rate, pseudo, stop):
    tree = with_an_empty_node(random_tree(seed))
    found = PruningAverage(rate, pseudo_count=pseudo, stop=stop).rows(tree)
    np.testing.assert_allclose(found, slow.average_prunings(tree, stop, pseudo, rate), atol=1e-12)


def test_the_limits_of_shrinkage_are_frequencies_and_the_root():
    tree = random_tree(3)
    strong = HierarchicalShrinkage(1e12).rows(tree)
    np.testing.assert_allclose(strong, np.broadcast_to(strong[0], strong.shape), atol=1e-8)
    weak = HierarchicalShrinkage(1e-12).rows(tree)
    np.testing.assert_allclose(weak[1:], MLE().rows(tree)[1:], atol=1e-9)


@pytest.mark.parametrize(("smoother", "message"), [
    (HierarchicalShrinkage("cv"), "lam must be a number to smooth"),
    (HierarchicalShrinkage(-1.0), "lam must be a number above 0"),
    (PruningAverage("cv"), "rate must be a number to smooth"),
    (PruningAverage(1.5), "rate must be a number above 0.0 and at most 1, got 1.5"),
    (PruningAverage(1.0, stop=1.0), "stop must be a number above 0.0 and below 1, got 1.0"),
    (BestOf(), "chosen by a model"),
    (HGS(), "mode must be one of 'optimised', 'published', 'depth' to smooth a tree, got 'cv'"),
    (HGS("depth", growth=0.0), "growth must be a number above 0.0, got 0.0"),
    (BestOf([]), "at least one smoother"),
])  # fmt: skip
def test_errors_name_the_parameter(smoother, message):
    with pytest.raises(ValueError, match=message):
        smoother.smooth(random_tree(0))


def test_the_best_of_several_offers_all_their_candidates():
    members = [Laplace(), HierarchicalShrinkage("cv")]
    assert len(BestOf(members).candidates()) == 1 + len(HierarchicalShrinkage("cv").candidates())
    assert BestOf([Laplace()]).smooth(random_tree(0)).sum() > 0
    assert as_smoother("shrinkage").lam == "cv"
    assert as_smoother("pruning-average").rate == "cv"
    assert as_smoother("hgs").mode == "cv"


@pytest.mark.parametrize("smoother", [HierarchicalShrinkage("typo"), PruningAverage("typo")])
def test_candidates_of_an_unknown_word_are_an_error(smoother):
    with pytest.raises(ValueError, match="'cv', got 'typo'"):
        smoother.candidates()


@pytest.mark.parametrize("smoother", [
    MLE(), Laplace(), MEstimate(3.0), MBranch(), HierarchicalShrinkage(4.0), PruningAverage(0.5),
    HGS("optimised"), HGS("published"), HGS("depth", weight=3.0, growth=0.5),
], ids=str)  # fmt: skip
def test_shares_of_the_path_add_up_to_the_estimate(smoother):
    rng = np.random.default_rng(0)
    path = [rng.integers(2, size=40), rng.integers(3, size=40)]
    tree = CountTree.from_rows(path, rng.integers(3, size=40), 3)
    theta = MLE().rows(tree)
    estimate = smoother.rows(tree)
    for node in range(tree.n_nodes):
        shares = smoother.path_shares(tree, node)
        above = [*slow.ancestors(tree, node)[::-1], node]
        rows = np.vstack([np.full(3, 1 / 3), theta[above]])
        assert (shares >= -1e-15).all()
        np.testing.assert_allclose(shares @ rows, estimate[node], atol=1e-12)


def test_hgs_by_depth_weighs_each_level_by_one_factor_more():
    tree = random_tree(0)
    weights = HGS("depth", weight=3.0, growth=0.5).weights(tree)
    np.testing.assert_allclose(weights, 3.0 * 0.5**tree.level)
    assert {(c.weight, c.growth) for c in HGS("cv").candidates()} >= {(0.1, 0.5), (10.0, 2.0)}
