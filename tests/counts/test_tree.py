"""Count trees against dictionaries of contexts, and the laws of counting."""

import copy
import pickle
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from priorwise import _core
from priorwise.counts import CountTree, count_trees
from reference.trees import as_dict_tree, as_table, contexts_of, count_rows, validate


@dataclass
class Rows:
    path: list[np.ndarray]
    outcome: np.ndarray
    n_outcomes: int
    weight: np.ndarray | None

    @property
    def n_rows(self) -> int:
        return len(self.outcome)

    def take(self, index: np.ndarray) -> "Rows":
        return Rows(
            [column[index] for column in self.path],
            self.outcome[index],
            self.n_outcomes,
            None if self.weight is None else self.weight[index],
        )

    def count(self) -> CountTree:
        return CountTree.from_rows(self.path, self.outcome, self.n_outcomes, weight=self.weight)


@st.composite
def coded_rows(
    draw: st.DrawFn, min_rows: int = 0, weighted: bool | None = None, missing: bool = True
) -> Rows:
    """Depth 0..4; few outcomes (dense) or many (sparse); weights, zeros among them, or none.

    With `missing`, every fifth code may be -1.
    """
    n_rows = draw(st.integers(min_rows, 40))
    depth = draw(st.integers(0, 4))
    n_outcomes = draw(st.sampled_from([1, 2, 5, 64, 65, 300]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    path = [rng.integers(0, draw(st.sampled_from([1, 2, 3, 1000])), n_rows) for _ in range(depth)]
    outcome = np.minimum(rng.geometric(0.2, n_rows) - 1, n_outcomes - 1)
    if missing and draw(st.booleans()):
        *path, outcome = (np.where(rng.random(n_rows) < 0.2, -1, c) for c in [*path, outcome])
    if weighted is None:
        weighted = draw(st.booleans())
    # Eighths add up exactly, so laws hold to the bit.
    weight = rng.integers(0, 24, n_rows) / 8.0 if weighted else None
    return Rows(path, outcome, n_outcomes, weight)


ARRAYS = ("parent", "value", "level_start", "row_start", "outcome", "parent_cell", "counts")


def assert_same_tree(one: CountTree, other: CountTree) -> None:
    assert one.n_outcomes == other.n_outcomes
    for name in (*ARRAYS, "child_start", "totals"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@given(coded_rows())
def test_counting_agrees_with_a_dictionary_of_contexts(rows: Rows) -> None:
    tree = rows.count()
    twin = count_rows(rows.path, rows.outcome, rows.n_outcomes, rows.weight)
    table = as_table(tree, tree.counts)
    assert contexts_of(tree) == twin.contexts
    for context in twin.contexts:
        np.testing.assert_array_equal(table[context], twin.counts[context])
    np.testing.assert_array_equal(tree.totals, [twin.counts[c].sum() for c in twin.contexts])
    np.testing.assert_array_equal(tree.level, [len(c) for c in twin.contexts])
    assert tree.depth == len(rows.path)
    assert tree.is_dense or rows.n_outcomes > 4
    np.testing.assert_array_equal(tree.count_rows(), [table[c] for c in twin.contexts])


@given(coded_rows(), st.randoms(use_true_random=False))
def test_order_of_rows_changes_nothing(rows: Rows, random: object) -> None:
    order = np.arange(rows.n_rows)
    random.shuffle(order)  # type: ignore[attr-defined]
    assert_same_tree(rows.take(order).count(), rows.count())


@given(coded_rows(min_rows=1, weighted=True))
def test_a_row_twice_is_a_row_of_weight_two(rows: Rows) -> None:
    twice = rows.take(np.append(np.arange(rows.n_rows), 0))
    assert rows.weight is not None
    weight = rows.weight.copy()
    weight[0] *= 2
    assert_same_tree(twice.count(), replace(rows, weight=weight).count())


@given(coded_rows(weighted=True))
def test_rows_of_weight_zero_leave_no_trace(rows: Rows) -> None:
    assert rows.weight is not None
    assert_same_tree(rows.take(np.flatnonzero(rows.weight)).count(), rows.count())


@given(coded_rows(min_rows=3), st.integers(0, 2**32))
def test_merging_is_counting_all_rows_in_any_grouping(rows: Rows, seed: int) -> None:
    part = np.random.default_rng(seed).integers(0, 3, rows.n_rows)
    a, b, c = (rows.take(np.flatnonzero(part == i)).count() for i in range(3))
    assert_same_tree(a.merge(b).merge(c), rows.count())
    assert_same_tree(a.merge(b.merge(c)), rows.count())
    assert_same_tree(a.merge(b), b.merge(a))


@given(coded_rows())
def test_counting_the_leaves_again_gives_the_same_tree(rows: Rows) -> None:
    tree = rows.count()
    path, outcome, weight = tree.leaf_rows()
    assert_same_tree(CountTree.from_rows(path, outcome, rows.n_outcomes, weight=weight), tree)


@given(coded_rows(), st.integers(0, 2**32), st.integers(0, 4))
def test_find_backs_off_to_the_longest_known_prefix(rows: Rows, seed: int, length: int) -> None:
    tree = rows.count()
    twin = as_dict_tree(tree)
    rng = np.random.default_rng(seed)
    known = [rng.choice(np.append(column, [-1, 7, 5000]), 30) for column in rows.path]
    queries = known[:length]
    contexts = contexts_of(tree)
    expected = [twin.find([column[r] for column in queries]) for r in range(30)]
    found = tree.find(queries, n_rows=30)
    assert [contexts[node] for node in found] == expected
    np.testing.assert_array_equal(tree.find(queries, n_rows=30, n_jobs=3), found)


def test_find_gives_the_same_nodes_for_any_number_of_threads(rng: np.random.Generator) -> None:
    path = [rng.integers(0, 30, 100_000) for _ in range(3)]
    tree = CountTree.from_rows([c[:5000] for c in path], path[0][:5000] % 4, 4)
    alone = tree.find(path)
    for n_jobs in (2, 3, 8):
        np.testing.assert_array_equal(tree.find(path, n_jobs=n_jobs), alone)


def test_trees_are_the_same_for_any_number_of_threads(rng: np.random.Generator) -> None:
    columns = [rng.integers(0, 5, 2000).astype(np.int32) for _ in range(6)]
    weight = rng.random(2000)
    targets, paths = [0, 1, 2, 3], [[], [0], [5, 1], [2, 1, 0]]
    alone = count_trees(columns, [5] * 6, targets, paths, weight=weight)
    for n_jobs in (2, 3, 16):
        jointly = count_trees(columns, [5] * 6, targets, paths, weight=weight, n_jobs=n_jobs)
        for one, other in zip(alone, jointly, strict=True):
            assert_same_tree(one, other)


def test_trees_over_shared_columns_are_trees_of_their_own(rng: np.random.Generator) -> None:
    columns = [rng.integers(0, 4, 300).astype(np.int32) for _ in range(3)]
    for columns_path, tree in zip(
        ([], [2], [2, 1]),
        count_trees(columns, [4, 4, 4], [0, 0, 0], [[], [2], [2, 1]]),
        strict=True,
    ):
        own = CountTree.from_rows([columns[c] for c in columns_path], columns[0], 4)
        assert_same_tree(tree, own)


def test_deep_paths_of_many_values_need_memory_for_rows_only(rng: np.random.Generator) -> None:
    # A dense table would have 100,000^8 contexts, and 5,000 outcomes each.
    n_rows, depth = 2000, 8
    path = [rng.integers(0, 100_000, n_rows) for _ in range(depth)]
    tree = CountTree.from_rows(path, rng.integers(0, 5000, n_rows), 5000)
    validate(tree)
    assert tree.n_nodes <= n_rows * depth + 1
    assert tree.n_cells <= n_rows * (depth + 1)
    n_bytes = sum(getattr(tree, name).nbytes for name in ARRAYS)
    assert n_bytes <= 60 * n_rows * (depth + 1)


def test_a_tree_without_rows_is_a_root() -> None:
    for n_outcomes in (3, 100):
        tree = CountTree.from_rows([[], []], [], n_outcomes)
        validate(tree)
        assert (tree.n_nodes, tree.depth, tree.totals[0]) == (1, 2, 0.0)
        assert_same_tree(tree.merge(tree), tree)


def sparse_tree() -> CountTree:
    return CountTree.from_rows([[0, 0, 1]], [5, 70, 5], 100)


def test_unlisted_outcomes_share_the_rest_of_a_sparse_row() -> None:
    tree = sparse_tree()
    cells = np.array([0.6, 0.3, 0.5, 0.25, 0.9])
    assert tree.outcome.tolist() == [5, 70, 5, 70, 5]
    root, first, second = tree.rows(cells, rest="parent")
    assert (root[5], root[70]) == (0.6, 0.3)
    np.testing.assert_allclose(np.delete(root, [5, 70]), 0.1 / 98)
    np.testing.assert_allclose(np.delete(first, [5, 70]), 0.25 / 98)
    np.testing.assert_allclose(second[70], 0.1 * 0.3 / 0.4)
    assert second[0] == pytest.approx(0.1 * root[0] / 0.4)
    _, _, even = tree.rows(cells, rest="uniform")
    np.testing.assert_allclose(np.delete(even, 5), 0.1 / 99)
    np.testing.assert_array_equal(tree.rows(cells, [2, 0], rest="parent"), [second, root])
    assert tree.rows(cells, rest=None)[2].sum() == 0.9
    # One row leaves the next node nothing, the other something.
    draws = np.array([cells, [0.0, 1.0, 0.5, 0.0, 0.9]])
    alone = [tree.rows(one, rest="parent") for one in draws]
    np.testing.assert_array_equal(tree.rows(draws, rest="parent"), alone)


BAD_TREES = {
    "node 0 must be the root": lambda t: rebuilt(t, parent=changed(t.parent, 0, 0)),
    "only node 0 may be a root": lambda t: rebuilt(t, parent=changed(t.parent, 2, -1)),
    "a parent must precede": lambda t: rebuilt(t, parent=changed(t.parent, 1, 3)),
    "one level down": lambda t: rebuilt(t, parent=changed(t.parent, 3, 0)),
    "siblings must be contiguous": lambda t: rebuilt(
        t, parent=np.array([-1, 0, 0, 2, 1, 2], np.int32)
    ),
    "sorted by value": lambda t: rebuilt(t, value=t.value[[0, 2, 1, 3, 4, 5]]),
    "own a row of cells": lambda t: rebuilt(t, row_start=t.row_start[:-1]),
    "must not overlap": lambda t: rebuilt(t, row_start=changed(t.row_start, 2, 1)),
    "sorted by outcome": lambda t: rebuilt(t, outcome=changed(t.outcome, 3, 0)),
    "outcomes must exist": lambda t: rebuilt(t, outcome=changed(t.outcome, 3, 9)),
    "cells of the root have no parent": lambda t: rebuilt(
        t, parent_cell=changed(t.parent_cell, 0, 1)
    ),
    "parent cells must be the parent's": lambda t: rebuilt(
        t, parent_cell=changed(t.parent_cell, -1, 1)
    ),
    "must count one outcome": lambda t: rebuilt(
        t, parent_cell=changed(t.parent_cell, 2, t.parent_cell[3])
    ),
    "counts must not be negative": lambda t: rebuilt(t, counts=changed(t.counts, -1, -1.0)),
    "the sum of its children": lambda t: rebuilt(t, counts=changed(t.counts, 0, 9.0)),
}


def rebuilt(tree: CountTree, **changes: np.ndarray) -> CountTree:
    arrays = {name: getattr(tree, name) for name in ARRAYS} | changes
    return CountTree(**arrays, n_outcomes=tree.n_outcomes)


def changed(array: np.ndarray, place: int, value: float) -> np.ndarray:
    array = array.copy()
    array[place] = value
    return array


@pytest.mark.parametrize("rule", BAD_TREES)
def test_arrays_that_are_no_tree_are_refused(rule: str) -> None:
    tree = CountTree.from_rows([[0, 1, 1, 1], [0, 0, 1, 1]], [0, 1, 0, 1], 2)
    validate(tree)
    with pytest.raises(ValueError, match="not a tree of counts: .*" + rule):
        validate(BAD_TREES[rule](tree))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0]], [2], 2), r"columns\[1\] must lie in -1\.\.1, got 2"),
        (([[0]], [-2], 2), r"columns\[1\] must lie in .*, got -2"),
        (([[-2]], [0], 2), r"columns\[0\] must lie in .*, got -2"),
        (([[0, 1]], [0], 2), "columns differ in length"),
    ],
)
def test_rows_that_cannot_be_counted_are_an_error(arguments: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CountTree.from_rows(*arguments)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([-1.0], "weight must be finite and not negative"),
        ([np.nan], "weight must be finite and not negative"),
        ([np.inf], "weight must be finite and not negative"),
        ([1.0, 1.0], "weight needs one entry per row: 1, got 2"),
    ],
)
def test_weights_that_cannot_be_counted_are_an_error(weight: list, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CountTree.from_rows([[0]], [0], 2, weight=weight)


def test_columns_and_paths_that_do_not_fit_are_an_error() -> None:
    column = np.zeros(3, dtype=np.int32)
    with pytest.raises(ValueError, match=r"paths must lie in 0\.\.0, got 4"):
        count_trees([column], [1], [0], [[4]])
    with pytest.raises(ValueError, match=r"targets must lie in 0\.\.0, got -1"):
        count_trees([column], [1], [-1], [[]])
    with pytest.raises(ValueError, match="paths needs one entry per target"):
        count_trees([column], [1], [0], [[], []])
    with pytest.raises(ValueError, match="arity needs one entry per column"):
        count_trees([column], [1, 1], [0], [[]])
    with pytest.raises(ValueError, match="columns is empty"):
        count_trees([], [], [], [])


def test_trees_of_other_shape_do_not_merge() -> None:
    tree = CountTree.from_rows([[0]], [0], 2)
    for other in (CountTree.from_rows([], [0], 2), CountTree.from_rows([[0]], [0], 3)):
        with pytest.raises(ValueError, match="other must have depth 1 and 2 outcomes"):
            tree.merge(other)


def test_a_path_deeper_than_the_tree_is_an_error() -> None:
    with pytest.raises(ValueError, match="path must have at most 1 levels, got 2"):
        CountTree.from_rows([[0]], [0], 2).find([[0], [0]])


@given(coded_rows())
def test_a_tree_survives_pickling_and_copying(rows: Rows) -> None:
    tree = rows.count()
    for other in (pickle.loads(pickle.dumps(tree)), copy.copy(tree), copy.deepcopy(tree)):
        assert type(other) is CountTree
        assert_same_tree(other, tree)


def test_a_damaged_pickle_is_refused() -> None:
    tree = CountTree.from_rows([[0, 1]], [0, 1], 2)
    make, arguments = tree.__reduce__()
    parent = changed(arguments[0], 2, 7)
    with pytest.raises(ValueError, match="a parent must precede its children"):
        make(parent, *arguments[1:])


@pytest.mark.parametrize("largest", [2.0**53, 2.0**54, 1e308])
def test_a_tree_counts_at_most_two_to_the_53(largest: float) -> None:
    tree = CountTree.from_rows([[0, 1]], [0, 1], 2)
    counts = [0.0, largest, *tree.counts[2:]]
    if largest <= 2.0**53:
        assert tree.with_counts(counts).totals[0] == largest
        return
    with pytest.raises(ValueError, match=r"counts of a node must have a sum of at most 2\*\*53"):
        tree.with_counts(counts)


class Shrinking:
    """A number that makes the list it is in shorter when it is read."""

    def __init__(self, numbers: list[Any]) -> None:
        self.numbers = numbers

    def __index__(self) -> int:
        self.numbers.clear()
        return 0


def test_a_list_that_changes_while_it_is_read_is_no_trouble() -> None:
    codes, arity = np.zeros((1, 3), dtype=np.int32), np.ones(1, dtype=np.int32)
    targets: list[Any] = []
    targets += [Shrinking(targets), *range(100)]
    with pytest.raises((TypeError, ValueError), match=r"targets|paths"):
        _core.fill_count_trees(CountTree, codes, arity, targets, [[]] * 101, None, 64, 0.0, 1)


def test_arrays_of_a_tree_may_be_read_and_not_written() -> None:
    tree = CountTree.from_rows([[0, 1]], [0, 1], 2)
    for name in ARRAYS:
        with pytest.raises(ValueError, match="read-only"):
            getattr(tree, name)[0] = 5


def test_arrays_keep_their_tree_alive() -> None:
    counts = CountTree.from_rows([[0, 1]], [0, 1], 2).counts
    np.testing.assert_array_equal(counts, [1.0, 1.0, 1.0, 0.0, 0.0, 1.0])
