"""Forests in flat arrays, against their slow twins."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from priorwise import _core
from priorwise.smoothing import ParentEstimate
from priorwise.structure.trees import PackedTrees, RandomSplits, split_trees
from reference import forests as slow
from reference.trees import validate

N_CLASSES = 3


def random_table(seed, n_rows=70):
    rng = np.random.default_rng(seed)
    numbers = [np.round(rng.normal(size=n_rows), 1), rng.normal(size=n_rows)]
    numbers[0][rng.random(n_rows) < 0.15] = np.nan
    codes = [rng.integers(arity, size=n_rows).astype(np.int32) for arity in (2, 5)]
    signal = np.nan_to_num(numbers[0]) + 0.7 * codes[0] + rng.normal(scale=0.4, size=n_rows)
    outcome = np.digitize(signal, [0.0, 0.8]).astype(np.int32)
    return [numbers[0], codes[0], numbers[1], codes[1]], outcome


def grow(seed, n_trees=6, counts="all", weight=None, n_jobs=1, **rules):
    columns, outcome = random_table(seed)
    seeds = np.random.default_rng(seed).integers(2**62, size=n_trees).astype(np.uint64)
    forest, rows = RandomSplits(2, **rules).grow_forest(
        columns, outcome, N_CLASSES, seeds, share=0.632, counts=counts,
        grow_weight=weight, n_jobs=n_jobs,
    )  # fmt: skip
    return columns, outcome, forest, rows


@pytest.mark.parametrize("counts", ["all", "grown"])
@pytest.mark.parametrize("weighted", ["unit", "whole", "real"])
def test_counts_and_leaves_are_those_of_the_slow_twin(counts, weighted):
    rng = np.random.default_rng(1)
    weight = {
        "unit": None,
        "whole": rng.integers(0, 4, 70).astype(float),
        "real": rng.random(70) + 0.5,
    }[weighted]
    columns, outcome, forest, rows = grow(3, counts=counts, weight=weight)
    weights = np.ones(70) if weight is None else weight
    counted = weights * (1.0 - rows.out) if counts == "grown" else np.tile(weights, (6, 1))
    expected = slow.count(forest, columns, outcome, counted, N_CLASSES)
    np.testing.assert_allclose(rows.count(forest), expected, atol=1e-5)
    leaf = [[slow.path(forest, t, columns, r)[-1] for r in range(70)] for t in range(6)]
    np.testing.assert_array_equal(rows.leaf, np.where(weights > 0, leaf, -1))
    np.testing.assert_array_equal(_core.find_forest_leaves(forest, columns, 70, 1), leaf)
    assert not rows.out[:, weights == 0.0].any()
    assert 0.25 < rows.out[:, weights > 0.0].mean() < 0.45


@pytest.mark.parametrize("strength", [0.03, 3.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_out_of_bag_rows_are_those_of_the_slow_twin(strength, weighted):
    weight = np.random.default_rng(2).integers(1, 4, 70).astype(float) if weighted else None
    columns, outcome, forest, rows = grow(4, weight=weight)
    for own in (np.ones(70), np.zeros(70)):
        counts = rows.count(forest)
        expected = slow.out_of_bag(forest, counts, columns, rows.out, outcome, own, strength)
        found = rows.out_of_bag(forest, strength, own)
        np.testing.assert_allclose(found, expected, atol=1e-13)
        some = np.arange(0, 70, 3)
        of_outcome = rows.outcome_proba(forest, [1.0, strength], own, some)
        np.testing.assert_allclose(of_outcome[:, 0, 1], expected[some, outcome[some]], atol=1e-13)
        if not own.any():
            at_leaves = rows.leaf_rows(forest, rows.smooth(forest, strength))
            np.testing.assert_allclose(at_leaves, expected, atol=1e-7)
        known = ~np.isnan(found[:, 0])
        np.testing.assert_allclose(found[known].sum(axis=1), 1.0, rtol=1e-12)


def test_smoothed_nodes_are_those_of_the_smoother_on_every_tree():
    _, _, forest, rows = grow(5)
    found = np.split(rows.smooth(forest, 3.0), forest.tree_start[1:-1])
    for tree, proba in zip(split_trees(forest, rows.count(forest)), found, strict=True):
        validate(tree.counts)
        expected = ParentEstimate(3.0).rows(tree.counts)
        np.testing.assert_allclose(proba, expected, atol=1e-7)


@pytest.mark.parametrize("counts", ["all", "grown"])
@pytest.mark.parametrize("least", [0.0, 7.0, 30.0, 1000.0])
def test_pruned_forests_are_those_of_the_slow_twin(counts, least):
    columns, _, forest, rows = grow(5, counts=counts)
    totals, all_counts = rows.count(forest).sum(axis=1), rows.count(forest)
    pruned, pruned_rows = rows.prune(forest, least)
    new_counts, new_proba = pruned_rows.count(pruned), pruned_rows.smooth(pruned, 3.0)
    proba, leaf = rows.smooth(forest, 3.0), _core.find_forest_leaves(pruned, columns, 70, 1)
    np.testing.assert_array_equal(leaf, pruned_rows.leaf)
    for t, row in itertools.product(range(6), range(70)):
        nodes = [forest.tree_start[t] + node for node in slow.path(forest, t, columns, row)]
        n_kept = next((i for i, node in enumerate(nodes) if totals[node] < least), len(nodes) - 1)
        own = pruned.tree_start[t] + leaf[t, row]
        np.testing.assert_array_equal(new_counts[own], all_counts[nodes[n_kept]])
        np.testing.assert_array_equal(new_proba[own], proba[nodes[n_kept]])
        assert pruned.nodes[own]["threshold"] == totals[nodes[n_kept]]
    assert (pruned.n_nodes == 6) == (least == 1000.0)
    strengths, own_weight, every = [0.5, 3.0], np.full(70, float(counts == "all")), np.arange(70)
    judged = rows.outcome_proba(forest, strengths, own_weight, every, [0.0, least])
    for i, trees, grown in ((0, forest, rows), (1, pruned, pruned_rows)):
        alone = grown.outcome_proba(trees, strengths, own_weight, every)
        np.testing.assert_allclose(judged[:, i], alone[:, 0], atol=1e-14)


def test_counts_follow_from_the_probabilities_of_a_pruned_forest():
    _, _, forest, rows = grow(5, weight=np.random.default_rng(0).integers(1, 4, 70).astype(float))
    pruned, rows = rows.prune(forest, 5.0)
    found = pruned.unsmooth(rows.smooth(pruned, 3.0), 3.0)
    np.testing.assert_array_equal(found, rows.count(pruned))


def test_gains_are_shared_by_the_splits_that_are_left():
    _, _, forest, rows = grow(5)
    pruned, pruned_rows = rows.prune(forest, 10.0)
    shares = pruned.sum_gains(pruned_rows.gain, 4)
    kept = rows.count(forest).sum(axis=1) >= 10.0
    expected = forest.sum_gains(np.where(kept, rows.gain, 0.0), 4)
    np.testing.assert_allclose(shares, expected, atol=1e-14)
    assert shares.sum() == pytest.approx(1.0)


def test_trees_one_by_one_lead_to_the_same_leaves():
    columns, _, forest, rows = grow(6)
    trees = split_trees(forest, rows.count(forest))
    for tree, leaf in zip(trees, rows.leaf, strict=True):
        np.testing.assert_array_equal(tree.find(columns, 70), leaf)
    # Missing and unknown values too, where training had none.
    new = [np.full(4, np.nan), np.full(4, -1, np.int32), np.full(4, np.nan),
           np.array([-1, 0, 3, 99], np.int32)]  # fmt: skip
    leaves = _core.find_forest_leaves(forest, new, 4, 1)
    for tree, leaf in zip(trees, leaves, strict=True):
        np.testing.assert_array_equal(tree.find(new, 4), leaf)
        assert tree.is_leaf[leaf].all()


def test_averages_and_contributions_are_those_of_the_slow_twin():
    columns, _, forest, rows = grow(7)
    proba = rows.smooth(forest, 1.0)
    found = _core.average_forest(forest, columns, 70, proba, 1)
    np.testing.assert_allclose(found, slow.average(forest, columns, 70, proba), atol=1e-14)
    steps = _core.contribute_forest(forest, columns, 70, proba, 1)
    proba = proba.astype(np.float64)
    row = np.zeros((4, N_CLASSES))
    for t, start in enumerate(forest.tree_start[:-1]):
        nodes = [start + node for node in slow.path(forest, t, columns, 11)]
        for above, below in itertools.pairwise(nodes):
            row[forest.nodes[above]["split"] >> 4] += (
                proba[below].astype(float) - proba[above]
            ) / 6
    np.testing.assert_allclose(steps[11], row, atol=1e-14)


@pytest.mark.parametrize("n_trees", [1, 16, 37])
def test_a_few_rows_have_the_bits_that_they_have_among_many(n_trees):
    columns, _, forest, rows = grow(7, n_trees=n_trees)
    proba = rows.smooth(forest, 1.0)
    together = _core.average_forest(forest, columns, 70, proba, 1)
    for few in (1, 5, 16, 17):
        part = _core.average_forest(forest, [column[:few] for column in columns], few, proba, 1)
        np.testing.assert_array_equal(part, together[:few])


def test_threads_change_no_bit_of_a_forest():
    columns, _, one, rows = grow(8, n_trees=9)
    _, _, many, many_rows = grow(8, n_trees=9, n_jobs=3)
    np.testing.assert_array_equal(one.nodes, many.nodes)
    np.testing.assert_array_equal(rows.count(one), many_rows.count(many, n_jobs=3))
    proba, big = rows.smooth(one, 1.0), [np.tile(column, 60) for column in columns]
    np.testing.assert_array_equal(proba, many_rows.smooth(many, 1.0, n_jobs=3))
    for ask in (_core.average_forest, _core.contribute_forest):
        alone, together = (ask(one, big, 4200, proba, n_threads) for n_threads in (1, 3))
        np.testing.assert_array_equal(alone, together)
    own = np.ones(70)
    np.testing.assert_array_equal(
        rows.out_of_bag(one, 1.0, own), many_rows.out_of_bag(many, 1.0, own, n_jobs=3)
    )


def test_a_share_of_the_rows_grows_each_tree_to_purity():
    columns, outcome, forest, rows = grow(9, n_trees=200, min_samples_leaf=1.0)
    assert set(np.unique(rows.out)) == {0, 1}
    assert abs(rows.out.mean() - 0.368) < 0.02
    _, _, _, heavy = grow(9, n_trees=200, weight=np.full(70, 1000.5))
    np.testing.assert_array_equal(heavy.out, rows.out)
    columns[2] = np.arange(70.0)  # no two rows alike
    forest, rows = RandomSplits(2).grow_forest(
        columns, outcome, N_CLASSES, np.arange(20, dtype=np.uint64), share=0.632, counts="grown"
    )
    leaf = (forest.nodes["split"] & 15) == 0
    assert ((rows.count(forest)[leaf] > 0).sum(axis=1) == 1).all()


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1e9, 1e13])
def test_weights_of_any_scale_grow_trees_that_count_them(scale):
    weight = scale * np.random.default_rng(0).random(70)
    _, _, forest, rows = grow(9, weight=weight)
    assert np.isfinite(rows.smooth(forest, 1.0)).all()
    roots = rows.count(forest)[forest.tree_start[:-1]]
    np.testing.assert_allclose(roots.sum(axis=1), weight.sum())


def test_arrays_that_do_not_fit_together_are_an_error():
    columns, _, forest, rows = grow(10)
    proba = rows.smooth(forest, 1.0)
    with pytest.raises(ValueError, match="node_rows needs one entry per node"):
        _core.average_forest(forest, columns, 70, proba[:-1], 1)
    with pytest.raises(ValueError, match="the number of columns must be at least 4, got 3"):
        _core.average_forest(forest, columns[:3], 70, proba, 1)
    with pytest.raises(ValueError, match="tree_start must rise from 0 to the number of nodes"):
        PackedTrees(forest.tree_start[:-1], forest.split, forest.threshold, forest.leaf_weight)
