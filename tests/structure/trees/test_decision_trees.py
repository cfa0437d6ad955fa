"""Growth of trees, rows down them, pruning."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from priorwise import _core
from priorwise.counts import CountTree
from priorwise.structure import DecisionTree
from priorwise.structure.trees import C45, RandomSplits, split_trees
from priorwise.structure.trees.pruning import reduced_error_splits, weakest_links
from reference import decision_trees as slow
from reference.trees import validate


def random_table(seed, n_rows=60, n_classes=3, missing=0.1):
    rng = np.random.default_rng(seed)
    numbers = [np.round(rng.normal(size=n_rows), 1) for _ in range(2)]
    for column in numbers:
        column[rng.random(n_rows) < missing] = np.nan
    codes = [rng.integers(arity, size=n_rows).astype(np.int32) for arity in (2, 5)]
    signal = np.nan_to_num(numbers[0]) + 0.7 * codes[0] + rng.normal(scale=0.4, size=n_rows)
    outcome = np.digitize(signal, [0.0, 0.8][: n_classes - 1]).astype(np.int32)
    return [numbers[0], codes[0], numbers[1], codes[1]], outcome


def assert_same(tree: DecisionTree, nested, node=0):
    counts = tree.counts
    assert tree.feature[node] == nested["feature"]
    np.testing.assert_allclose(counts.count_rows()[node], nested["counts"], atol=1e-9)
    if nested["feature"] < 0:
        return
    np.testing.assert_equal(tree.threshold[node], nested["threshold"])
    children = range(counts.child_start[node], counts.child_start[node + 1])
    assert [int(counts.value[child]) for child in children] == list(nested["children"])
    for child, below in zip(children, nested["children"].values(), strict=True):
        assert_same(tree, below, child)


@pytest.mark.parametrize("criterion", ["gain-ratio", "gain"])
@pytest.mark.parametrize("mdl_correction", [False, True])
@pytest.mark.parametrize("nominal_splits", ["values", "one-value"])
@given(seed=st.integers(0, 10**6), weighted=st.sampled_from(["unit", "whole", "real"]))
@settings(max_examples=settings().max_examples // 5)
def test_best_tree_is_that_of_the_slow_twin(
    criterion, mdl_correction, nominal_splits, seed, weighted
):
    columns, outcome = random_table(seed)
    rng = np.random.default_rng(seed)
    weight = {
        "unit": np.ones(len(outcome)),
        "whole": rng.integers(0, 4, len(outcome)).astype(float),
        "real": rng.random(len(outcome)),
    }[weighted]
    rules = C45(criterion, 2.0, 4, mdl_correction=mdl_correction, nominal_splits=nominal_splits)
    table = _core.SortedColumns(columns, len(outcome), 1)
    tree, leaf = rules.grow(table, outcome, 3, grow_weight=weight)
    validate(tree.counts)
    kept = np.flatnonzero(weight > 0)
    nested = slow.grow(
        [column[kept] for column in columns], outcome[kept], weight[kept], 3, vars(rules)
    )
    assert_same(tree, nested)
    assert (leaf[weight == 0] == -1).all()


@pytest.mark.parametrize("direction", [-1, 1])
def test_splits_of_monotone_features_are_those_the_slow_twin_says(direction):
    columns, outcome = random_table(3)
    outcome = (outcome > 0).astype(np.int32)
    monotone = tuple(0 if column.dtype == np.int32 else direction for column in columns)
    rules = C45("gain", 2.0, 4, monotone=monotone)
    tree, _ = rules.grow(_core.SortedColumns(columns, len(outcome), 1), outcome, 2)
    assert_same(tree, slow.grow(columns, outcome, np.ones(len(outcome)), 2, vars(rules)))
    free, _ = C45("gain", 2.0, 4).grow(_core.SortedColumns(columns, len(outcome), 1), outcome, 2)
    assert not np.array_equal(free.feature, tree.feature)


@pytest.mark.parametrize("seed", range(3))
def test_rows_reach_the_leaf_the_slow_twin_says(seed):
    columns, outcome = random_table(seed)
    table = _core.SortedColumns(columns, len(outcome), 1)
    tree, leaf = C45().grow(table, outcome, 3)
    np.testing.assert_array_equal(tree.find(columns, len(outcome)), leaf)
    nested = slow.grow(columns, outcome, np.ones(len(outcome)), 3, vars(C45(max_depth=10**6)))
    fresh, _ = random_table(seed + 100, missing=0.3)
    fresh[3] = fresh[3] + np.int32(2)  # codes training did not have
    for row, node in enumerate(tree.find(fresh, 60)):
        path = []
        while node > 0:
            path.append(int(tree.counts.value[node]))
            node = tree.counts.parent[node]
        assert path[::-1] == slow.walk(nested, fresh, row)


def test_many_rows_of_numbers_reach_the_nodes_that_each_reaches_alone():
    generator = np.random.default_rng(4)
    columns = list(generator.normal(size=(3, 200)))
    outcome = (columns[0] + columns[2] > 0.0).astype(np.int32)
    tree, leaf = C45().grow(_core.SortedColumns(columns, 200, 1), outcome, 2)
    np.testing.assert_array_equal(tree.find(columns, 200), leaf)
    columns[2][[70, 199]] = np.nan  # of the second 64 rows and of those after the third
    columns[0][10] = np.inf
    node_rows = generator.normal(size=(tree.n_nodes, 2))
    together = tree.find(columns, 200)
    alone = [tree.find([column[[row]] for column in columns], 1)[0] for row in range(200)]
    assert tree.n_leaves > 5
    np.testing.assert_array_equal(together, alone)
    hard = tree.blend(columns, 200, node_rows, np.empty(0))
    np.testing.assert_array_equal(hard, node_rows[together])


@pytest.mark.parametrize("seed", range(3))
def test_soft_thresholds_blend_as_the_slow_twin_does(seed):
    n_rows = 40
    columns, outcome = random_table(seed)
    tree, _ = C45(mdl_correction=False).grow(_core.SortedColumns(columns, 60, 1), outcome, 3)
    rng = np.random.default_rng(seed)
    node_rows = rng.dirichlet(np.ones(3), tree.n_nodes)
    bandwidth = np.where(tree.kind == 1, rng.choice([0.0, 0.01, 0.3], tree.n_nodes), 0.0)
    fresh, _ = random_table(seed + 50, n_rows, missing=0.3)
    found = tree.blend(fresh, n_rows, node_rows, bandwidth)
    slowly = [slow.blend(tree, fresh, row, node_rows, bandwidth) for row in range(n_rows)]
    np.testing.assert_allclose(found, slowly, rtol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    hard = tree.blend(fresh, n_rows, node_rows, np.zeros(tree.n_nodes))
    np.testing.assert_array_equal(hard, node_rows[tree.find(fresh, n_rows)])


def test_features_are_sorted_once_with_missing_last():
    column = np.array([3.0, np.nan, -1.0, 3.0, -0.0])
    codes = np.array([2, 0, 1, 0, 2], dtype=np.int32)
    table = _core.SortedColumns([column, codes], 5, 1)
    np.testing.assert_array_equal(table.row, [2, 4, 0, 3, 1, 1, 3, 2, 0, 4])
    np.testing.assert_array_equal(table.rank, [0, 1, 2, 2, 2**31 - 1, 0, 0, 1, 2, 2])


@pytest.mark.parametrize("n_outcomes", [3, 70])
def test_leaf_counts_are_those_of_the_rows_below(n_outcomes):
    rng = np.random.default_rng(0)
    columns, outcome = random_table(0)
    tree, leaf = C45().grow(_core.SortedColumns(columns, 60, 1), outcome, 3)
    outcome = rng.integers(n_outcomes, size=60).astype(np.int32)
    weight = rng.random(60)
    nodes = tree.counts
    wide = _core.count_leaves(
        CountTree, nodes.parent, nodes.value, nodes.level_start, leaf, outcome, weight, n_outcomes,
        n_outcomes <= 64,
    )  # fmt: skip
    validate(wide)
    slowly = np.zeros((tree.n_nodes, n_outcomes))
    for r in range(60):
        for node in [leaf[r], *slow.ancestors(tree.counts, leaf[r])]:
            slowly[node, outcome[r]] += weight[r]
    assert wide.is_dense == (n_outcomes <= 64)
    found = wide.count_rows()
    np.testing.assert_allclose(found, slowly, atol=1e-12)


def test_threads_change_no_bit():
    rng = np.random.default_rng(3)
    columns = [rng.normal(size=4000) for _ in range(12)]
    outcome = (columns[0] * columns[1] > rng.normal(size=4000)).astype(np.int32)
    one, _ = C45().grow(_core.SortedColumns(columns, 4000, 1), outcome, 2)
    two, _ = C45().grow(_core.SortedColumns(columns, 4000, 3), outcome, 2, n_jobs=3)
    np.testing.assert_array_equal(one.threshold, two.threshold)
    np.testing.assert_array_equal(one.counts.counts, two.counts.counts)
    np.testing.assert_array_equal(one.gain, two.gain)


def test_weight_two_is_the_row_twice():
    columns, outcome = random_table(5)
    weight = np.random.default_rng(5).integers(0, 3, 60)
    twice = np.repeat(np.arange(60), weight)
    a, _ = C45().grow(_core.SortedColumns(columns, 60, 1), outcome, 3, grow_weight=weight)
    repeated = _core.SortedColumns([column[twice] for column in columns], len(twice), 1)
    b, _ = C45().grow(repeated, outcome[twice], 3)
    np.testing.assert_array_equal(a.feature, b.feature)
    np.testing.assert_array_equal(a.counts.counts, b.counts.counts)


def test_rows_that_only_count_choose_no_split_but_open_branches():
    code = np.array([0, 0, 1, 1, 2], dtype=np.int32)
    outcome = np.array([0, 0, 1, 1, 1], dtype=np.int32)
    grow_weight = np.array([1.0, 1, 1, 1, 0])
    table = _core.SortedColumns([code], 5, 1)
    tree, leaf = C45().grow(
        table, outcome, 2, grow_weight=grow_weight, count_weight=1 - grow_weight
    )
    np.testing.assert_array_equal(tree.counts.value, [-1, 0, 1, 2])
    np.testing.assert_array_equal(tree.counts.totals, [1, 0, 0, 1])
    assert leaf[4] == 3


def test_a_deep_chain_needs_no_recursion():
    depth = 4000
    x = np.arange(depth, dtype=float)
    outcome = (np.arange(depth) % 2).astype(np.int32)
    # Only cuts that take one row from an end leave a pure side: the tree is a chain.
    rules = C45("gain-ratio", min_samples_leaf=1, mdl_correction=False, numeric_min_share=0.0)
    tree, leaf = rules.grow(_core.SortedColumns([x], depth, 1), outcome, 2)
    assert tree.counts.depth > 500
    validate(tree.counts)
    np.testing.assert_array_equal(tree.find([x], depth), leaf)


def test_a_nominal_feature_may_have_a_hundred_thousand_values():
    n_values = 100_000
    code = np.arange(2 * n_values, dtype=np.int32) % n_values
    outcome = (code % 3).astype(np.int32)
    table = _core.SortedColumns([code], 2 * n_values, 1)
    tree, _ = C45().grow(table, outcome, 3)
    assert tree.n_nodes == n_values + 1
    assert tree.find([np.array([7, n_values + 5], dtype=np.int32)], 2).tolist() == [8, 0]


def test_many_values_of_noise_are_not_taken_off_one_by_one():
    rng = np.random.default_rng(0)
    code = rng.integers(20_000, size=40_000).astype(np.int32)
    outcome = rng.integers(2, size=40_000).astype(np.int32)
    table = _core.SortedColumns([code], 40_000, 1)
    tree, _ = C45("gain", nominal_splits="one-value").grow(table, outcome, 2)
    assert tree.n_nodes < 10


def test_one_of_many_values_pays_for_the_choice_as_the_slow_twin_says():
    rng = np.random.default_rng(1)
    code = rng.integers(45, size=300).astype(np.int32)
    outcome = ((code < 4) ^ (rng.random(300) < 0.1)).astype(np.int32)
    rules = C45("gain", max_depth=5, nominal_splits="one-value")
    tree, _ = rules.grow(_core.SortedColumns([code], 300, 1), outcome, 2)
    assert_same(tree, slow.grow([code], outcome, np.ones(300), 2, vars(rules)))
    assert tree.n_nodes > 1


@pytest.mark.parametrize("columns", [
    [np.zeros(6)], [np.full(6, np.nan)], [np.zeros(6, dtype=np.int32)], [],
])  # fmt: skip
def test_features_that_say_nothing_leave_the_root(columns):
    outcome = np.array([0, 1] * 3, dtype=np.int32)
    tree, leaf = C45().grow(_core.SortedColumns(columns, 6, 1), outcome, 2)
    assert tree.n_nodes == 1
    assert (leaf == 0).all()


def test_a_constant_feature_may_split_by_being_missing():
    x = np.array([1.0, 1.0, 1.0, np.nan, np.nan])
    outcome = np.array([0, 0, 0, 1, 1], dtype=np.int32)
    tree, leaf = C45().grow(_core.SortedColumns([x], 5, 1), outcome, 2)
    assert tree.threshold[0] == np.inf
    np.testing.assert_array_equal(leaf, [1, 1, 1, 2, 2])
    np.testing.assert_array_equal(tree.find([np.array([1e300, np.nan])], 2), [1, 2])


@pytest.mark.parametrize("max_leaf_nodes", [2, 5, 9])
def test_max_leaf_nodes_keeps_the_splits_that_gain_most(max_leaf_nodes):
    columns, outcome = random_table(2, n_rows=300)
    table = _core.SortedColumns(columns, 300, 1)
    full, _ = C45().grow(table, outcome, 3)
    tree, leaf = C45(max_leaf_nodes=max_leaf_nodes).grow(table, outcome, 3)
    assert tree.n_leaves <= max_leaf_nodes < full.n_leaves
    validate(tree.counts)
    np.testing.assert_array_equal(tree.find(columns, 300), leaf)
    assert tree.gain.sum() <= full.gain.sum()


def grow_randomly(columns, outcome, seed, **rules):
    forest, rows = RandomSplits(**rules).grow_forest(
        columns, outcome, 3, np.array([seed], dtype=np.uint64)
    )
    return split_trees(forest, rows.count(forest))[0], rows


@pytest.mark.parametrize("seed", range(4))
def test_random_trees_grow_until_leaves_are_pure(seed):
    columns, outcome = random_table(seed, n_rows=200)
    columns.append(np.random.default_rng(seed).normal(size=200))  # no two rows alike
    tree, grown = grow_randomly(columns, outcome, seed, max_features=2)
    validate(tree.counts)
    rows = tree.counts.count_rows()
    assert ((rows[tree.is_leaf] > 0).sum(axis=1) == 1).all()
    np.testing.assert_array_equal(tree.find(columns, 200), grown.leaf[0])
    again, _ = grow_randomly(columns, outcome, seed, max_features=2)
    np.testing.assert_array_equal(tree.threshold, again.threshold)
    other, _ = grow_randomly(columns, outcome, seed + 1, max_features=2)
    assert not np.array_equal(tree.threshold, other.threshold)


def test_random_gain_is_the_information_the_split_gains():
    columns, outcome = random_table(1, n_rows=200)
    tree, grown = grow_randomly(columns, outcome, 1)
    rows = tree.counts.count_rows()
    information = np.array([row.sum() * slow.entropy(row) for row in rows])
    gain = information.copy()
    np.subtract.at(gain, tree.counts.parent[1:], information[1:])
    np.testing.assert_allclose(grown.gain[~tree.is_leaf], gain[~tree.is_leaf], atol=1e-9)


def test_max_features_draws_features_at_random():
    rng = np.random.default_rng(0)
    outcome = rng.integers(2, size=400).astype(np.int32)
    columns = [outcome + rng.normal(size=400) for _ in range(6)]
    table = _core.SortedColumns(columns, 400, 1)
    roots = {int(C45(max_features=1).grow(table, outcome, 2, seed=s)[0].feature[0])
             for s in range(60)}  # fmt: skip
    assert roots == set(range(6))


def test_cutting_all_splits_leaves_the_root_and_cutting_none_the_tree():
    columns, outcome = random_table(7, n_rows=200)
    tree, leaf = C45().grow(_core.SortedColumns(columns, 200, 1), outcome, 3)
    same, number = tree.cut(np.ones(tree.n_nodes, dtype=bool))
    np.testing.assert_array_equal(number, np.arange(tree.n_nodes))
    np.testing.assert_array_equal(same.threshold, tree.threshold)
    root, number = tree.cut(np.zeros(tree.n_nodes, dtype=bool))
    assert root.n_nodes == 1
    assert (number == 0).all()
    some = np.random.default_rng(0).random(tree.n_nodes) < 0.7
    smaller, number = tree.cut(some)
    validate(smaller.counts)
    np.testing.assert_array_equal(number[leaf], smaller.find(columns, 200))


def test_reduced_error_pruning_makes_no_more_errors_on_its_rows():
    columns, outcome = random_table(3, n_rows=400)
    grow_weight = (np.arange(400) % 2).astype(float)
    table = _core.SortedColumns(columns, 400, 1)
    tree, leaf = C45(min_samples_leaf=1).grow(
        table, outcome, 3, grow_weight=grow_weight, count_weight=np.ones(400)
    )
    grown = tree.recount(leaf, outcome, grow_weight)
    splits = reduced_error_splits(grown, leaf, outcome, 1 - grow_weight)
    smaller, number = grown.cut(splits)
    assert 1 <= smaller.n_leaves < grown.n_leaves

    def errors(tree, node):
        majority = tree.counts.count_rows().argmax(axis=1)
        return ((majority[node] != outcome) * (1 - grow_weight)).sum()

    assert errors(smaller, number[leaf]) <= errors(grown, leaf)


def test_weakest_links_give_the_tree_of_least_cost_and_complexity():
    columns, outcome = random_table(4, n_rows=120)
    tree, _ = C45(max_depth=3).grow(_core.SortedColumns(columns, 120, 1), outcome, 3)
    rows = tree.counts.count_rows()
    error = (rows.sum(axis=1) - (rows**2).sum(axis=1) / rows.sum(axis=1)) / 120
    links = weakest_links(tree)
    for price in [0.0, 0.001, 0.004, 0.01, 0.03, 0.1]:
        smaller, number = tree.cut(links > price)
        leaves = {int(np.flatnonzero(number == n)[0]) for n in np.flatnonzero(smaller.is_leaf)}
        cost = error[list(leaves)].sum() + price * len(leaves)
        best = min(
            error[list(pruning)].sum() + price * len(pruning)
            for pruning in slow.prunings(tree.counts)
        )
        assert cost == pytest.approx(best, abs=1e-12)
