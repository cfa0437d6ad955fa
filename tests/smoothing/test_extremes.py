"""Smoothers at extremes of counts, parameters and shapes of trees."""

from collections import Counter

import numpy as np
import pytest

from fuzz import smoothers
from priorwise import _core
from priorwise.counts import CountTree
from priorwise.smoothing import (
    HDP,
    HGS,
    HierarchicalShrinkage,
    LevelShrinkage,
    MBranch,
    MEstimate,
    PruningAverage,
)
from priorwise.smoothing.hdp import tie_nodes
from reference.trees import validate, without_row

N_CASES = 2000


def two_levels(weight: list[float]) -> CountTree:
    """Four rows: two contexts, two outcomes each."""
    return CountTree.from_rows([[0, 0, 1, 1]], [0, 1, 0, 1], 2, weight=weight)


def assert_rows_of_probabilities(tree: CountTree, cells: np.ndarray) -> None:
    rows = tree.rows(cells, rest="parent")
    assert np.isfinite(rows).all()
    assert (rows >= 0.0).all()
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, rtol=1e-9)


def test_drawn_smoothers_give_rows_that_sum_to_one_or_refuse_by_name() -> None:
    outcomes = Counter(smoothers.case(seed=0, index=index) for index in range(N_CASES))
    assert outcomes["accepted"] > 0.7 * N_CASES
    assert outcomes["ValueError"] > 0


@pytest.mark.parametrize("largest", [2e9, 3e9, 1e12, 2.0**52])
def test_sampler_holds_counts_beyond_32_bits(largest: float) -> None:
    tree = two_levels([largest, 1.0, 2.0, 5.0])
    rows = HDP("gibbs", n_iter=5000).rows(tree)
    assert rows[1, 0] == pytest.approx(1.0, abs=1e-8)
    # The fixed point is near, but not equal: the root has a few pseudo-counts only.
    np.testing.assert_allclose(rows[2], HDP().rows(tree)[2], atol=0.05)


def test_sampler_refuses_counts_beyond_whole_numbers() -> None:
    tree = two_levels([1.0, 1.0, 2.0, 5.0])
    tree = tree.with_counts([1.0, 1.0, 2.0**52, 2.0**52, 2.0**52, 2.0**52])
    group = tie_nodes(tree, "level")
    with pytest.raises(
        ValueError, match=r"counts must have a sum of at most 2\*\*53 for inference"
    ):
        _core.sample_process(
            tree, group, tree.counts, np.ones(1), None, False, 1.0, 1.0, 2.0, 2, 1, 0, 0
        )


def test_sampler_refuses_fractional_counts() -> None:
    with pytest.raises(
        ValueError, match=r"'gibbs' needs whole counts, got 0\.5: use inference='var"
    ):
        HDP("gibbs").smooth(two_levels([0.5, 1.0, 2.0, 5.0]))


def test_tree_refuses_weights_beyond_whole_numbers() -> None:
    with pytest.raises(ValueError, match=r"weight must be .* with a sum of at most 2\*\*53"):
        two_levels([1e308, 1e308, 2.0, 5.0])


@pytest.mark.parametrize("inference", ["variational", "gibbs"])
@pytest.mark.parametrize("name", ["prior_shape", "prior_rate"])
@pytest.mark.parametrize("value", [1e-300, 1e300])
def test_extreme_priors_are_refused_by_name(inference: str, name: str, value: float) -> None:
    smoother = HDP(inference).set_params(**{name: value})
    with pytest.raises(ValueError, match=f"{name} must be a number at least 1e-09 and at most"):
        smoother.smooth(two_levels([3.0, 1.0, 2.0, 5.0]))


@pytest.mark.parametrize("name", ["shape", "rate"])
@pytest.mark.parametrize("value", [1e-300, np.nan, np.inf])
def test_kernel_of_the_sampler_refuses_extreme_priors(name: str, value: float) -> None:
    tree = two_levels([3.0, 1.0, 2.0, 5.0])
    group = tie_nodes(tree, "level")
    shape, rate = (value, 1.0) if name == "shape" else (1.0, value)
    with pytest.raises(ValueError, match=f"prior_{name} must be a number from 1e-09 to 1e\\+09"):
        _core.sample_process(
            tree, group, tree.counts, np.ones(1), None, False, shape, rate, 2.0, 2, 1, 0, 0
        )


@pytest.mark.parametrize("concentration", [0.0, 5e-324, 1e12])
def test_sampler_starts_from_any_concentration(concentration: float) -> None:
    tree = two_levels([30.0, 1.0, 2.0, 5.0])
    group = tie_nodes(tree, "level")
    start = np.array([concentration])
    mean, *_ = _core.sample_process(
        tree, group, tree.counts, start, None, False, 1.0, 1.0, 2.0, 9, 3, 0, 0
    )
    assert_rows_of_probabilities(tree, mean)


@pytest.mark.parametrize("m", [5e-324, 1e-300, 1e308])
@pytest.mark.parametrize("count", [5e-324, 1e-300, 1.0, 1e15])
@pytest.mark.parametrize("smoother", [MEstimate, MBranch])
def test_rows_sum_to_one_for_any_m(smoother: type, m: float, count: float) -> None:
    tree = CountTree.from_rows([[0, 0, 0, 1]], [0, 1, 2, 0], 3, weight=np.full(4, count))
    assert_rows_of_probabilities(tree, smoother(m).smooth(tree))


def test_ordinary_weights_are_shrunk_by_the_formula_to_the_last_bit() -> None:
    tree = two_levels([3.0, 1.0, 2.0, 5.0])
    cells = MEstimate(0.3).smooth(tree)
    np.testing.assert_array_equal(cells[2:4], (np.array([3.0, 1.0]) + 0.3 * 0.5) / 4.3)


def test_removed_rows_leave_an_inner_node_the_sum_of_its_children() -> None:
    tree = two_levels([1e15, 1.0, 0.1, 5.0])
    tree = without_row(tree, [0], 0, 1e15)
    validate(tree)
    assert tree.counts[0] == 0.1
    assert_rows_of_probabilities(tree, HierarchicalShrinkage(1e9).smooth(tree))


def test_hierarchical_shrinkage_is_never_negative_where_counts_do_not_add_up() -> None:
    tree = two_levels([1.0, 1.0, 0.0, 4.0])
    tree = tree.with_counts([0.0, 1.0, *tree.counts[2:]])
    assert (HierarchicalShrinkage(1.0).smooth(tree) >= 0.0).all()


def test_level_weights_are_finite_in_a_deep_chain_of_many_rows() -> None:
    # The leave-one-out estimate of the single row falls by a factor of 1e15 at each level.
    path = [[0, 0]] * 40
    tree = CountTree.from_rows(path, [0, 1], 2, weight=[1e15, 1.0])
    assert np.isfinite(_core.level_weights(tree)).all()
    assert_rows_of_probabilities(tree, LevelShrinkage().smooth(tree))


def test_published_descent_ends_with_the_smallest_tolerance() -> None:
    tree = two_levels([3.0, 1.0, 2.0, 5.0])
    smoother = HGS("published", learning_rate=1e-6, tolerance=5e-324)
    assert_rows_of_probabilities(tree, smoother.smooth(tree))


def test_extreme_pseudo_counts_of_prunings_are_refused_by_name() -> None:
    for pseudo_count in (5e-324, 1e308):
        with pytest.raises(ValueError, match="pseudo_count must be a number at least 1e-09 and at"):
            PruningAverage(1.0, pseudo_count=pseudo_count).smooth(two_levels([1.0] * 4))


def test_hgs_shares_of_a_node_without_rows_are_those_of_its_parent() -> None:
    tree = two_levels([1.0, 1.0, 0.1, 4.0])
    tree = without_row(tree, [1], 1, 4.0)
    tree = without_row(tree, [1], 0, 0.1)
    shares = HGS("depth").path_shares(tree, 2)
    np.testing.assert_allclose(shares[:-1], HGS("depth").path_shares(tree, 0))
    assert shares[-1] == 0.0


def test_outcomes_that_the_row_above_leaves_nothing_share_as_the_rows_further_up_do() -> None:
    # Rounding gives outcome 6 all of the row above the last node.
    first, second, outcome = [0, 0, 0, 1], [0, 0, 1, 0], [6, 6, 6, 3]
    tree = CountTree.from_rows([first, second], outcome, 7, weight=[1e14, 1e14, 1e-160, 1e14])
    smoother = HGS("depth", weight=0.001, growth=20.0)
    rows = smoother.rows(tree)
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, rtol=1e-9)
    last = rows[tree.level == 2][1]
    assert last[6] < 0.99
    assert last[3] > 0.001 > last[0]
