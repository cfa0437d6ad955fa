"""Trees that imitate a forest."""

import numpy as np
import pandas as pd
import pytest

from priorwise import ProbabilityTreeClassifier
from priorwise.common.numeric import draw_seed
from priorwise.models.training_table import TrainingTable
from priorwise.models.trees.imitation import draw_mixed_rows, grow_forest, mean_of_nodes


def noisy_sum(n_rows: int = 150) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows whose class follows the sum of two numbers, and a label that says nothing."""
    generator = np.random.default_rng(3)
    X = pd.DataFrame(generator.normal(size=(n_rows, 2)), columns=["a", "b"])
    X["letter"] = generator.choice(np.array(["x", "y", None], dtype=object), n_rows)
    return X, (X["a"] + X["b"] + 0.3 * generator.normal(size=n_rows) > 0.0).to_numpy()


def test_a_tree_imitates_where_the_forest_is_better() -> None:
    X, y = noisy_sum()
    tree = ProbabilityTreeClassifier(random_state=0).fit(X, y)
    assert tree.teacher_ == "forest"
    own = ProbabilityTreeClassifier(teacher=None, random_state=0).fit(X, y)
    assert own.teacher_ is None
    new, truth = noisy_sum(400)
    errors = [((one.predict_proba(new)[:, 1] - truth) ** 2).mean() for one in (tree, own)]
    assert errors[0] < errors[1]


def test_a_tree_does_not_imitate_a_forest_that_is_worse() -> None:
    X = np.arange(60.0)[:, None]
    assert ProbabilityTreeClassifier(random_state=0).fit(X, X[:, 0] > 20.0).teacher_ is None


@pytest.mark.parametrize(
    "given", [{"smoothing": "laplace"}, {"max_depth": 3}, {"criterion": "gain"}, {"honest": 0.5}]
)
def test_a_tree_of_given_shape_or_smoothing_does_not_imitate(given: dict) -> None:
    X, y = noisy_sum(60)
    assert ProbabilityTreeClassifier(random_state=0, **given).fit(X, y).teacher_ is None


def test_nodes_have_the_forests_probabilities_and_count_training_rows() -> None:
    X, y = noisy_sum(80)
    tree = ProbabilityTreeClassifier(teacher="forest", random_state=0).fit(X, y)
    counts = tree.tree_.counts
    np.testing.assert_array_equal(counts.count_rows()[0], np.bincount(y))
    model = ProbabilityTreeClassifier(teacher="forest", random_state=0)
    table = TrainingTable.read_uncut(model, X, y).as_draws()
    seed = draw_seed(0)
    forest = grow_forest(table, seed)
    columns = draw_mixed_rows(table, 1600, seed)
    proba = forest.predict_columns(columns)
    leaf = tree.tree_.find(columns.in_feature_order(), 1600)
    mean = mean_of_nodes(tree.tree_, leaf, proba)
    np.testing.assert_allclose(mean, tree.node_proba_)
    passing = np.asarray(tree.decision_path(X).sum(axis=0)).ravel()
    np.testing.assert_array_equal(counts.totals, passing)
    np.testing.assert_allclose(mean[0], proba.mean(axis=0))


def test_drawn_rows_begin_with_the_table_and_mix_its_values() -> None:
    X, y = noisy_sum(30)
    table = TrainingTable.read_uncut(ProbabilityTreeClassifier(), X, y)
    columns = draw_mixed_rows(table, 200, 1)
    np.testing.assert_array_equal(columns.values[:, :30], table.columns.values)
    np.testing.assert_array_equal(columns.nominal_codes[:, :30], table.columns.nominal_codes)
    for drawn, given in zip(columns.values, table.columns.values, strict=True):
        assert set(drawn) == set(given)
    pairs = set(map(tuple, columns.values.T))
    assert len(pairs - set(map(tuple, table.columns.values.T))) > 50


def test_a_tree_with_directions_imitates_a_forest_within_them() -> None:
    X, y = noisy_sum()
    tree = ProbabilityTreeClassifier(
        teacher="forest", monotonic_cst={"a": 1, "b": 1}, random_state=0
    ).fit(X, y)
    rows = pd.DataFrame({"a": np.linspace(-3, 3, 50), "b": 0.2, "letter": "x"})
    rising = tree.predict_proba(rows)[:, 1]
    assert (np.diff(rising) >= 0.0).all()
    assert rising[-1] - rising[0] > 0.4
