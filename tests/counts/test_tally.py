"""Counts of trees over batches."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from priorwise import _core
from priorwise.counts import CountTree, Tally, TreePlan, tally
from reference.tally import count_paths

PLAN = TreePlan(arities=(3, 4, 2, 5), targets=(3, 0, 1, 2), paths=((), (3,), (3, 0), (3, 1, 0)))


@pytest.fixture(params=[0, -1], ids=["complete", "with missing values"])
def columns(request: pytest.FixtureRequest, rng: np.random.Generator) -> list[np.ndarray]:
    # The last column is the class, which no row misses.
    firsts = [request.param] * 3 + [0]
    return [
        rng.integers(first, arity, 200).astype(np.int32)
        for first, arity in zip(firsts, PLAN.arities, strict=True)
    ]


def assert_same_trees(found: list[CountTree], expected: list[CountTree]) -> None:
    for tree, other in zip(found, expected, strict=True):
        for name in ("parent", "value", "level_start", "row_start", "outcome", "counts"):
            np.testing.assert_array_equal(getattr(tree, name), getattr(other, name))


def paths_of(tree: CountTree) -> Counter[tuple[int, ...]]:
    path, outcome, weight = tree.leaf_rows()
    rows = zip(*path, outcome.tolist(), strict=True)
    return Counter({tuple(map(int, row)): int(w) for row, w in zip(rows, weight, strict=True)})


@pytest.mark.parametrize("max_cells", [0, 30, 10**6])
def test_every_tree_counts_what_a_dictionary_counts(
    max_cells: int, columns: list[np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tally, "MAX_TABLE_CELLS", max_cells)
    for i, tree in enumerate(Tally.count(PLAN, columns).trees()):
        path = [columns[c] for c in (*PLAN.paths[i], PLAN.targets[i])]
        assert paths_of(tree) == count_paths(path)


@pytest.mark.parametrize("max_cells", [0, 30, 10**6])
@pytest.mark.parametrize("cuts", [[100], [1, 2, 199], [50, 60, 70, 150]])
def test_batches_merge_to_the_trees_of_all_rows_in_any_order(
    max_cells: int, cuts: list[int], columns: list[np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tally, "MAX_TABLE_CELLS", max_cells)
    whole = Tally.count(PLAN, columns).trees()

    def parts() -> list[Tally]:
        split = [np.split(column, cuts) for column in columns]
        return [Tally.count(PLAN, list(part)) for part in zip(*split, strict=True)]

    chained = parts()[0]
    for part in parts()[1:]:
        chained = chained.merge(part)
    assert_same_trees(chained.trees(), whole)
    backwards = parts()[-1]
    for part in reversed(parts()[:-1]):
        backwards = part.merge(backwards)
    assert_same_trees(backwards.trees(), whole)


def test_the_same_for_any_number_of_threads(columns: list[np.ndarray]) -> None:
    assert_same_trees(
        Tally.count(PLAN, columns, n_jobs=3).trees(), Tally.count(PLAN, columns).trees()
    )


def test_codes_outside_their_arity_are_refused(columns: list[np.ndarray]) -> None:
    columns[1] = columns[1] + np.int32(1)
    with pytest.raises(ValueError, match=r"columns\[1\] must lie in -1\.\.3, got 4"):
        Tally.count(PLAN, columns)


def test_tables_that_share_memory_are_refused_and_stay_as_they_were() -> None:
    codes, arity = np.array([[0, 1, 1]], dtype=np.int32), np.array([2], dtype=np.int32)
    memory = np.zeros(3, dtype=np.int64)
    for tables in ([memory[:2], memory[1:]], [memory[:2], memory[:2]]):
        with pytest.raises(ValueError, match="tables is written to and must not share memory"):
            _core.add_to_tables(codes, arity, [0, 0], [[], []], tables, 1)
    assert (memory == 0).all()
    shared = np.zeros(4, dtype=np.int64)
    columns = [shared.view(np.int32)[:3]]
    with pytest.raises(ValueError, match=r"tables is written to and .* share memory with columns"):
        _core.add_to_tables(columns, arity, [0], [[]], [shared[:2]], 1)


def test_merging_the_rarest_contexts_keeps_all_rows_and_the_levels_above(
    columns: list[np.ndarray],
) -> None:
    whole = Tally.count(PLAN, columns).trees()[3]
    arities = [PLAN.arities[c] for c in PLAN.paths[3]]
    for n_nodes in (whole.n_nodes, 40, 20, 1):
        merged = whole.merge_rarest(n_nodes, arities)
        assert merged.totals[0] == whole.totals[0]
        assert merged.n_nodes <= max(n_nodes, 1 + 5 + 5 + 5)
        np.testing.assert_array_equal(merged.count_rows()[:6], whole.count_rows()[:6])
        # What is left under its own value is as it was; the rest has a value no row has.
        path, _, _ = merged.leaf_rows()
        own = (np.array(path) < np.array(arities)[:, None]).all(axis=0)
        known = paths_of(whole)
        for row, n in paths_of(merged).items():
            if all(v < a for v, a in zip(row, arities, strict=False)):
                assert known[row] == n
        assert own.all() == (n_nodes == whole.n_nodes)


def test_merging_takes_the_contexts_with_the_fewest_rows() -> None:
    values = np.repeat(np.arange(4), [50, 1, 30, 2]).astype(np.int32)
    zeros = np.zeros_like(values)
    tree = CountTree.from_rows([zeros, values], zeros, 1)
    merged = tree.merge_rarest(5, [1, 4])
    assert merged.value.tolist() == [-1, 0, 0, 2, 4]
    assert merged.totals.tolist() == [83, 83, 50, 30, 3]
