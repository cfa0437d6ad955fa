"""Rows of nodes that are computed from the outcomes of training rows, against dense ones."""

from __future__ import annotations

import numpy as np
import pytest

import priorwise
from priorwise import ProbabilityForestClassifier, _core
from priorwise.structure.trees import RandomSplits, expand_rows

N_CLASSES = 120


def grow(counts="grown", n_trees=5, n_rows=400):
    rng = np.random.default_rng(2)
    outcome = rng.integers(N_CLASSES, size=n_rows).astype(np.int32)
    columns = [rng.normal(size=n_rows) + outcome / 9.0, (outcome % 7).astype(np.int32)]
    seeds = np.arange(n_trees, dtype=np.uint64)
    forest, rows = RandomSplits(2).grow_forest(
        columns, outcome, N_CLASSES, seeds, share=0.632, counts=counts
    )
    return columns, forest, rows


@pytest.mark.parametrize("counts", ["all", "grown"])
@pytest.mark.parametrize("strength", [0.1, 3.0])
def test_sparse_rows_are_the_dense_ones_of_the_same_counts(counts, strength):
    _, forest, rows = grow(counts)
    sparse = rows.smooth(forest, strength)
    assert isinstance(sparse, _core.SparseNodeRows)
    dense = _core.smooth_forest(
        forest, rows.leaf, rows.out, rows.outcome, N_CLASSES, None, counts == "all", strength, 1
    )
    np.testing.assert_allclose(expand_rows(sparse), dense, rtol=2e-7)


@pytest.mark.parametrize("n_rows", [1, 16, 17, 400])
def test_any_number_of_rows_has_the_bits_of_dense_rows(n_rows):
    columns, forest, rows = grow()
    sparse, columns = rows.smooth(forest, 2.0), [column[:n_rows] for column in columns]
    dense = expand_rows(sparse)
    np.testing.assert_array_equal(
        _core.average_forest(forest, columns, n_rows, sparse, 1),
        _core.average_forest(forest, columns, n_rows, dense, 1),
    )
    np.testing.assert_array_equal(
        _core.contribute_forest(forest, columns, n_rows, sparse, 1),
        _core.contribute_forest(forest, columns, n_rows, dense, 1),
    )


def test_a_forest_of_many_classes_is_saved_and_loaded(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(300) % 100
    X = rng.normal(size=(300, 3)) + y[:, None] / 9.0
    model = ProbabilityForestClassifier(5, splitter="random", random_state=0).fit(X, y)
    assert isinstance(model.step_.rows, _core.SparseNodeRows)
    model.save(tmp_path / "forest")
    loaded = priorwise.load(tmp_path / "forest")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_few_classes_have_dense_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.integers(5, size=200)
    model = ProbabilityForestClassifier(5, splitter="random", random_state=0).fit(X, y)
    assert isinstance(model.step_.rows, np.ndarray)


def test_rows_of_other_trees_are_refused():
    columns, forest, rows = grow()
    _, other, _ = grow(n_trees=4)
    with pytest.raises(ValueError, match="node_rows must be those of trees"):
        _core.average_forest(other, columns, 400, rows.smooth(forest, 2.0), 1)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("below", lambda a: a[:-1], "below needs one number per node"),
        ("below", lambda a: a + 1, "the training rows of its children"),
        ("outcome", lambda a: a + np.uint16(N_CLASSES), "outcome must be less than width"),
        ("outcome", lambda a: a[:-1], "outcome needs one entry per training row"),
        ("kept_node", lambda a: a[::-1].copy(), "kept_node must rise"),
        ("kept_node", lambda a: np.append(a[:-1], 2**40), "kept_node must be nodes"),
        ("kept_row", lambda a: a[:-1], "width numbers per kept node"),
        ("kept_row", lambda a: a * np.float32(1.1), "probabilities that sum to one"),
        ("kept_row", lambda a: np.append(a[:-1], np.float32(np.inf)), "probabilities that sum"),
    ],
)
def test_rows_that_do_not_fit_the_trees_are_refused(name, change, message):
    _, forest, rows = grow()
    sparse = rows.smooth(forest, 2.0)
    names = ("trees", "width", "strength", "below", "outcome", "kept_node", "kept_row")
    parts = {part: getattr(sparse, part) for part in names}
    with pytest.raises(ValueError, match=message):
        _core.SparseNodeRows(**{**parts, name: change(parts[name])})
