"""Trees by the rules of C4.5 Release 8."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from priorwise import ProbabilityTreeClassifier, _core
from priorwise.structure.trees import C45, DecisionTree
from reference import decision_trees as slow
from structure.trees.j48_sets import make_sets, read_trees

SETS = make_sets()
RULES = C45(release8=True)


def list_branches(tree: DecisionTree, columns: list, node: int = 0, depth: int = 0) -> list[str]:
    """The lines of a tree as `read_trees` has them."""
    first, feature = tree.counts.child_start, int(tree.feature[node])
    lines = []
    for child in range(first[node], first[node + 1]):
        branch = int(tree.counts.value[child])
        if columns[feature].dtype == np.int32:
            test = f"= {branch}"
        else:
            test = f"{'>' if branch else '<='} {tree.threshold[node]:.6g}"
        size = f" {tree.counts.totals[child]:g}" if tree.feature[child] < 0 else ""
        lines.append(f"{depth} {feature} {test}{size}")
        if not size:
            lines += list_branches(tree, columns, child, depth + 1)
    return lines


@pytest.mark.parametrize("name", SETS)
def test_trees_are_those_of_j48(name: str) -> None:
    columns, y = SETS[name]
    tree, _ = RULES.grow(_core.SortedColumns(columns, len(y), 1), y, int(y.max()) + 1)
    grown, expected = list_branches(tree, columns), read_trees()[name]
    assert len(grown) == len(expected)
    for line, other in zip(grown, expected, strict=True):
        words, others = line.split(), other.split()
        # Weka writes thresholds with six decimals.
        assert float(words.pop(3)) == pytest.approx(float(others.pop(3)), rel=1e-5, abs=1e-6)
        assert words == others


def assert_same(tree: DecisionTree, nested: dict, node: int = 0) -> None:
    assert tree.feature[node] == nested["feature"]
    np.testing.assert_allclose(tree.counts.count_rows()[node], nested["counts"])
    np.testing.assert_equal(tree.threshold[node], nested["threshold"])
    first = tree.counts.child_start
    children = range(first[node], first[node + 1])
    assert [int(tree.counts.value[child]) for child in children] == list(nested["children"])
    for child, below in zip(children, nested["children"].values(), strict=True):
        assert_same(tree, below, child)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=settings().max_examples // 3)
def test_trees_are_those_of_the_slow_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(5, 60))
    columns: list[np.ndarray] = [
        rng.integers(0, 12, n_rows) / 4,
        rng.normal(size=n_rows),
        rng.integers(0, 3, n_rows).astype(np.int32),
        rng.integers(0, n_rows // 2 + 1, n_rows).astype(np.int32),
        1.0 + rng.integers(0, 3, n_rows) * 6e-6,
    ]
    y = ((columns[0] > 1.5) ^ (columns[2] == 1) ^ (rng.random(n_rows) < 0.2)).astype(np.int32)
    table = _core.SortedColumns(columns, n_rows, 1)
    tree, _ = RULES.grow(table, y, 2)
    assert_same(tree, slow.grow_release8(columns, y, 2))
    declared = rng.integers(0, n_rows, len(columns)).astype(np.int32)
    tree, _ = RULES.grow(table, y, 2, n_values=declared)
    assert_same(tree, slow.grow_release8(columns, y, 2, n_values=declared.tolist()))


def test_many_values_are_those_declared() -> None:
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 40)
    follow = [np.where(rng.random(40) < share, y, 1 - y) for share in (0.9, 0.8)]
    codes = [2 * rng.integers(0, 4, 40) + follow[0], follow[1], rng.integers(0, 2, 40)]
    columns = [one.astype(np.int32) for one in codes]
    options: Any = {"criterion": "release-8", "nominal_splits": "values", "declared": "count"}
    model, first_splits = ProbabilityTreeClassifier("laplace", **options), []
    for n_values in ([8, 2, 2], [40, 2, 2]):
        X = pd.DataFrame(
            {
                f"f{i}": pd.Categorical.from_codes(one, [f"v{k:02}" for k in range(n)])
                for i, (one, n) in enumerate(zip(columns, n_values, strict=True))
            }
        )
        assert_same(model.fit(X, y).tree_, slow.grow_release8(columns, y, 2, n_values=n_values))
        first_splits.append(int(model.tree_.feature[0]))
    # The average gain is that of the features without many values.
    assert first_splits == [0, 1]


def test_the_classifier_grows_these_trees() -> None:
    columns, y = SETS["wine"]
    model = ProbabilityTreeClassifier("laplace", criterion="release-8", soft_thresholds=None)
    tree = model.fit(np.column_stack(columns), y).tree_
    expected, _ = RULES.grow(_core.SortedColumns(columns, len(y), 1), y, 3)
    np.testing.assert_array_equal(tree.feature, expected.feature)
    np.testing.assert_array_equal(tree.threshold, expected.threshold)
    assert model.criterion_ == "release-8"
