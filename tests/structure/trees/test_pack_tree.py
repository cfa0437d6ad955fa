"""Decision trees as packed binary trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from priorwise import _core
from priorwise.counts.packed_trees import PackedTrees
from priorwise.structure import DecisionTree
from priorwise.structure.trees.counted_trees import CountedTrees, dense_count_tree
from priorwise.structure.trees.decision_tree import (
    EQUAL,
    LEAF,
    MISSING,
    NOMINAL,
    NUMERIC,
)
from reference import decision_trees as slow

N_FEATURES, N_CODES = 4, 5
"""Even features are numbers, odd ones codes."""


def pack_splits(counts, feature, kind, threshold, missing_value, gain):
    """Make a tree of the splits of its nodes; the arrays are what the tree then says they are."""
    nodes, owner = _core.pack_tree(counts, feature, kind, threshold, missing_value)
    return DecisionTree(
        PackedTrees.from_nodes(np.array([0, len(owner)]), nodes), owner, counts, gain
    )


def draw_splits(seed, n_splits=12) -> dict[str, Any]:
    """The arguments of `DecisionTree.pack` for a tree of random splits that rows can reach."""
    rng = np.random.default_rng(seed)
    parent, value = [-1], [-1]
    splits: list[tuple] = []
    while len(splits) < len(parent):
        feature = int(rng.integers(N_FEATURES))
        kind, threshold, missing, branches = LEAF, np.nan, -1, []
        if len(parent) < 3 * n_splits and (not splits or rng.random() < 0.7):
            kind = NUMERIC if feature % 2 == 0 else int(rng.choice([NOMINAL, EQUAL]))
        if kind == NUMERIC:
            threshold = rng.choice([np.round(rng.normal(), 1), np.inf], p=[0.8, 0.2])
            branches = [0, 1] if np.isfinite(threshold) else [0]
            missing = int(rng.choice([*branches, MISSING]))
            branches += [MISSING] if missing == MISSING and rng.random() < 0.5 else []
        elif kind == NOMINAL:
            branches = sorted(rng.choice(N_CODES, rng.integers(1, N_CODES), replace=False))
        elif kind == EQUAL:
            threshold, branches = float(rng.integers(N_CODES)), [0, 1]
            missing = int(rng.choice([-1, 0]))
        parent += [len(splits)] * len(branches)
        value += [int(branch) for branch in branches]
        splits.append((feature if kind != LEAF else -1, kind, threshold, missing))
    tree = dense_count_tree(
        np.array(parent, np.int32), np.array(value, np.int32), rng.random((len(parent), 2))
    )
    columns = list(zip(*splits, strict=True))
    return {
        "counts": tree,
        "feature": np.array(columns[0], np.int32),
        "kind": np.array(columns[1], np.uint8),
        "threshold": np.array(columns[2], np.float64),
        "missing_value": np.array(columns[3], np.int32),
    }


def pack(splits: dict[str, Any], gain=None) -> DecisionTree:
    n_nodes = splits["counts"].n_nodes
    return pack_splits(**splits, gain=np.zeros(n_nodes) if gain is None else gain)


def draw_rows(seed, n_rows=80):
    rng = np.random.default_rng(seed)
    columns = []
    for feature in range(N_FEATURES):
        numbers = np.round(rng.normal(size=n_rows), 1)
        numbers[rng.random(n_rows) < 0.05] = np.inf
        numbers[rng.random(n_rows) < 0.2] = np.nan
        codes = rng.integers(-1, N_CODES + 1, n_rows).astype(np.int32)
        columns.append(numbers if feature % 2 == 0 else codes)
    return columns


@given(seed=st.integers(0, 10**6))
def test_rows_reach_the_node_that_the_slow_twin_says(seed):
    splits = draw_splits(seed)
    tree = pack(splits)
    columns = draw_rows(seed)
    slowly = [slow.find_node(**splits, columns=columns, row=row) for row in range(80)]
    np.testing.assert_array_equal(tree.find(columns, 80), slowly)


@given(seed=st.integers(0, 10**6))
def test_splits_follow_from_the_packed_nodes(seed):
    splits = draw_splits(seed)
    tree = pack(splits)
    for name in ("feature", "kind", "threshold"):
        np.testing.assert_array_equal(getattr(tree, name), splits[name])
    again, number = tree.cut(np.ones(tree.n_nodes, dtype=bool))
    np.testing.assert_array_equal(number, np.arange(tree.n_nodes))
    np.testing.assert_array_equal(again.trees.node_bytes, tree.trees.node_bytes)
    np.testing.assert_array_equal(again.owner, tree.owner)


def test_leaves_have_the_weight_of_the_node_where_rows_stop():
    splits = draw_splits(3)
    tree = pack(splits)
    leaf = tree.trees.is_leaf
    assert tree.owner[0] == 0
    assert (~tree.is_leaf[tree.owner[leaf]]).any()
    weight = tree.trees.nodes["threshold"][leaf]
    np.testing.assert_array_equal(weight, tree.counts.totals[tree.owner[leaf]])
    found = tree.find(draw_rows(3), 80)
    counted = tree.recount(found, np.zeros(80, dtype=np.int32))
    np.testing.assert_array_equal(counted.find(draw_rows(3), 80), found)
    weight = counted.trees.nodes["threshold"][leaf]
    np.testing.assert_array_equal(weight, counted.counts.totals[tree.owner[leaf]])


def test_a_search_among_many_codes_is_balanced():
    n_codes = 1000
    parent = np.append(-1, np.zeros(n_codes)).astype(np.int32)
    value = np.arange(-1, n_codes).astype(np.int32)
    counts = dense_count_tree(parent, value, np.ones((n_codes + 1, 1)))
    is_root = np.arange(n_codes + 1) == 0
    tree = pack_splits(
        counts, np.where(is_root, 0, -1).astype(np.int32),
        np.where(is_root, NOMINAL, LEAF).astype(np.uint8), np.full(n_codes + 1, np.nan),
        np.full(n_codes + 1, -1, np.int32), np.zeros(n_codes + 1),
    )  # fmt: skip
    above, node, depth = tree.trees.find_parents(), tree.trees.n_nodes - 1, 0
    while node > 0:
        node, depth = above[node], depth + 1
    assert depth <= 11
    codes = np.arange(-1, n_codes + 2).astype(np.int32)
    expected = np.where((codes < 0) | (codes >= n_codes), 0, codes + 1)
    np.testing.assert_array_equal(tree.find([codes], len(codes)), expected)


def test_missing_numbers_are_asked_for_once_on_a_path():
    parent, value = np.array([-1, 0, 0, 2, 2], np.int32), np.array([-1, 0, 1, 0, 1], np.int32)
    counts = dense_count_tree(parent, value, np.array([[5.0], [1], [4], [2], [2]]))
    feature, kind = np.array([0, -1, 0, -1, -1], np.int32), np.array([1, 0, 1, 0, 0], np.uint8)
    threshold, missing = np.array([1.0, np.nan, 2, np.nan, np.nan]), np.full(5, MISSING, np.int32)
    tree = pack_splits(counts, feature, kind, threshold, missing, np.zeros(5))
    # The side of fewer rows is asked.
    np.testing.assert_array_equal(tree.owner, [0, 0, 2, 1, 0, 3, 4])
    numbers = np.array([np.nan, 1.0, 1.5, 3.0])
    np.testing.assert_array_equal(tree.find([numbers], 4), [0, 1, 3, 4])


def test_trees_of_a_forest_are_those_that_were_joined():
    trees = []
    for seed in range(3):
        splits = draw_splits(seed)
        gain = np.random.default_rng(seed).random(splits["counts"].n_nodes)
        trees.append(pack(splits, gain))
    forest, counted = CountedTrees.join(trees)
    columns = draw_rows(0)
    for t, (tree, again) in enumerate(zip(trees, counted.split(forest), strict=True)):
        np.testing.assert_array_equal(again.owner, tree.owner)
        np.testing.assert_array_equal(again.gain, tree.gain)
        np.testing.assert_array_equal(again.trees.node_bytes, tree.trees.node_bytes)
        start = forest.tree_start[t] + _core.find_forest_leaves(forest, columns, 80, 1)[t]
        found = counted.owner[start] - counted.node_start[t]
        np.testing.assert_array_equal(found, tree.find(columns, 80))
    parent = counted.find_parents()
    assert (parent[counted.node_start[:-1]] == -1).all()
    np.testing.assert_array_equal(counted.owner[counted.first], np.arange(len(parent)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": [NUMERIC, NUMERIC, LEAF]}, "a numeric split must have"),
        ({"kind": [LEAF, LEAF, LEAF]}, "a leaf must have no children"),
        ({"feature": [-1, -1, -1]}, "the feature of a split"),
        ({"threshold": [np.nan] * 3}, "a numeric split must have"),
        ({"kind": [EQUAL, LEAF, LEAF], "missing_value": [1, -1, -1]}, "unknown codes must stop"),
        ({"value": [-1, 0, 2], "threshold": [np.inf] * 3, "missing_value": [0, -1, -1]}, "branch"),
    ],
)
def test_splits_that_make_no_tree_are_refused(changes, message):
    arrays = {
        "value": [-1, 0, 1],
        "feature": [0, -1, -1],
        "kind": [NUMERIC, LEAF, LEAF],
        "threshold": [1.0, np.nan, np.nan],
        "missing_value": [MISSING, -1, -1],
    } | changes
    counts = dense_count_tree(
        np.array([-1, 0, 0], np.int32), np.array(arrays["value"], np.int32), np.ones((3, 1))
    )
    with pytest.raises(ValueError, match=f"^not a decision tree: .*{message}"):
        pack_splits(
            counts, np.array(arrays["feature"], np.int32), np.array(arrays["kind"], np.uint8),
            np.array(arrays["threshold"], np.float64), np.array(arrays["missing_value"], np.int32),
            np.zeros(3),
        )  # fmt: skip
