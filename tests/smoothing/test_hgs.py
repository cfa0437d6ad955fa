"""Hierarchical gradient smoothing: loss, gradient and weights."""

import numpy as np
import pytest

from priorwise import _core
from priorwise.counts import CountTree
from priorwise.smoothing import HGS
from reference.smoothing import hgs
from reference.trees import as_dict_tree, contexts_of

LOSSES = ("log", "squared")


def grow_trees(rng: np.random.Generator) -> list[CountTree]:
    """Ordinary ones, weighted ones, single-row classes, one-row ancestors, depth 0."""
    path = [rng.integers(0, 3, 40), rng.integers(0, 2, 40), rng.integers(0, 2, 40)]
    outcome = rng.integers(0, 3, 40)
    return [
        CountTree.from_rows(path[:1], outcome, 3),
        CountTree.from_rows(path, outcome, 3),
        CountTree.from_rows(path, outcome, 3, weight=rng.integers(1, 20, 40) / 8),
        CountTree.from_rows([[0, 0, 1, 1], [0, 1, 0, 0]], [0, 1, 2, 3], 4),
        CountTree.from_rows([[0, 1, 2], [0, 0, 0]], [0, 0, 1], 2),
        CountTree.from_rows([[0], [0]], [1], 3),
        CountTree.from_rows([], outcome, 3),
    ]


@pytest.mark.parametrize("loss", LOSSES)
def test_loss_leaves_each_row_out(loss: str, rng: np.random.Generator) -> None:
    for tree in grow_trees(rng):
        alpha = rng.gamma(1.0, 2.0, tree.n_nodes)
        weights = dict(zip(contexts_of(tree), alpha, strict=True))
        cost, _ = _core.hgs_loss(tree, alpha, loss)
        assert cost == pytest.approx(hgs.loss(as_dict_tree(tree), weights, loss), rel=1e-12)
        assert np.isfinite(cost)


def test_estimate_weighs_all_ancestors(rng: np.random.Generator) -> None:
    for tree in grow_trees(rng):
        alpha = rng.gamma(1.0, 2.0, tree.n_nodes)
        weights = dict(zip(contexts_of(tree), alpha, strict=True))
        expected = hgs.estimate(as_dict_tree(tree), weights)
        rows = tree.rows(_core.hgs_estimate(tree, alpha), rest="parent")
        np.testing.assert_allclose(rows, [expected[u] for u in contexts_of(tree)], rtol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_gradient_agrees_with_finite_differences(loss: str, rng: np.random.Generator) -> None:
    for tree in grow_trees(rng):
        alpha = 0.5 + rng.gamma(1.0, 2.0, tree.n_nodes)
        _, gradient = _core.hgs_loss(tree, alpha, loss)
        for node in range(tree.n_nodes):
            step = np.zeros(tree.n_nodes)
            step[node] = 1e-5
            above = _core.hgs_loss(tree, alpha + step, loss)[0]
            below = _core.hgs_loss(tree, alpha - step, loss)[0]
            assert gradient[node] == pytest.approx((above - below) / 2e-5, abs=1e-8, rel=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_optimised_weights_cost_no_more_than_published_ones(
    loss: str, rng: np.random.Generator
) -> None:
    for tree in grow_trees(rng):
        free = HGS("optimised", loss=loss, prior_sd=np.inf).weights(tree)
        published = HGS("published", loss=loss).weights(tree)
        start = _core.hgs_loss(tree, np.ones(tree.n_nodes), loss)[0]
        assert _core.hgs_loss(tree, free, loss)[0] <= start + 1e-12
        # Published weights differ from node to node, optimised ones from level to level only.
        after = _core.hgs_loss(tree, published, loss)[0]
        assert after <= start + 1e-12
        assert _core.hgs_loss(tree, free, loss)[0] <= after + 2e-3


@pytest.mark.parametrize("loss", LOSSES)
def test_optimised_weights_cost_less_on_tables_worth_smoothing(
    loss: str, rng: np.random.Generator
) -> None:
    a, b = rng.integers(0, 4, 400), rng.integers(0, 12, 400)
    tree = CountTree.from_rows([a, b], (rng.random(400) < 0.2 + 0.15 * a).astype(int), 2)
    published = _core.hgs_loss(tree, HGS("published", loss=loss).weights(tree), loss)[0]
    optimised = _core.hgs_loss(tree, HGS("optimised", loss=loss).weights(tree), loss)[0]
    assert optimised < published - 0.002


def test_weights_are_not_negative_and_tied_by_level(rng: np.random.Generator) -> None:
    for tree in grow_trees(rng):
        for loss in LOSSES:
            alpha = HGS("optimised", loss=loss).weights(tree)
            assert np.all(np.isfinite(alpha) & (alpha > 0))
            for level in range(tree.depth + 1):
                assert np.ptp(alpha[tree.level == level]) == 0


@pytest.mark.parametrize("loss", LOSSES)
def test_published_descent_stops_near_its_start_on_a_real_size(
    loss: str, rng: np.random.Generator
) -> None:
    path = [rng.integers(0, 4, 3000) for _ in range(4)]
    outcome = (path[0] + (rng.random(3000) < 0.3)) % 4
    tree = CountTree.from_rows(path, outcome, 4)
    np.testing.assert_allclose(HGS("published", loss=loss).weights(tree), 1.0, atol=0.02)


@pytest.mark.parametrize("loss", LOSSES)
def test_published_descent_ends_for_a_step_of_any_size(loss: str, rng: np.random.Generator) -> None:
    # Pure leaves draw the root's weight to zero, where the leaf of one row has nothing left.
    pure = CountTree.from_rows([[0] * 10 + [1] * 10 + [2]], [0] * 10 + [1] * 11, 2)
    for tree in [*grow_trees(rng), pure]:
        for learning_rate in (1.0, 1e3, 1e6):
            smoother = HGS("published", loss=loss, learning_rate=learning_rate)
            assert np.all(np.isfinite(smoother.weights(tree)))
            np.testing.assert_allclose(smoother.rows(tree).sum(axis=1), 1.0)


def test_a_strong_prior_keeps_the_published_start(rng: np.random.Generator) -> None:
    tree = grow_trees(rng)[1]
    np.testing.assert_allclose(HGS("optimised", prior_sd=1e-4).weights(tree), 1.0, atol=1e-3)


def test_kernel_rejects_weights_that_do_not_fit() -> None:
    tree = CountTree.from_rows([[0, 1]], [0, 1], 2)
    with pytest.raises(ValueError, match="alpha needs one entry per node"):
        _core.hgs_estimate(tree, np.ones(1))
    with pytest.raises(ValueError, match="loss must be one of 'log' 'squared', got '0-1'"):
        _core.hgs_loss(tree, np.ones(3), "0-1")
