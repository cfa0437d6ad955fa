"""Tree and forest classifiers."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.metrics import log_loss

from priorwise import ProbabilityForestClassifier, ProbabilityTreeClassifier
from priorwise.smoothing import HGS, HierarchicalShrinkage, Smoother
from reference.trees import validate


def mixed_frame(n_rows=300, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({
        "height": rng.normal(size=n_rows),
        "colour": rng.choice(["red", "green", "blue"], n_rows),
        "age": rng.normal(size=n_rows).round(1),
    })  # fmt: skip
    y = np.where(frame["height"] + (frame["colour"] == "red") + rng.normal(size=n_rows) > 0.5,
                 "yes", "no")  # fmt: skip
    frame.loc[rng.random(n_rows) < 0.1, "age"] = np.nan
    frame.loc[rng.random(n_rows) < 0.1, "colour"] = None
    return frame, y


@pytest.mark.parametrize("smoothing", sorted(Smoother.by_name))
def test_every_smoother_works_on_a_tree(smoothing):
    X, y = mixed_frame()
    tree = ProbabilityTreeClassifier(smoothing, random_state=0).fit(X, y)
    proba = tree.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    assert tree.score(X, y) > 0.7


def test_the_fitted_tree_counts_the_training_rows():
    X, y = mixed_frame()
    tree = ProbabilityTreeClassifier("laplace", soft_thresholds=None).fit(X, y)
    counts = tree.tree_.counts
    validate(counts)
    np.testing.assert_array_equal(counts.count_rows()[0], np.unique(y, return_counts=True)[1])
    node = tree.apply(X)
    rows = counts.count_rows()[node]
    np.testing.assert_allclose(
        tree.predict_proba(X), (rows + 1) / (rows.sum(axis=1, keepdims=True) + 2)
    )


def test_an_unseen_value_stops_at_the_node_and_gets_its_row():
    X = [["sun"], ["sun"], ["rain"], ["rain"], ["rain"]]
    tree = ProbabilityTreeClassifier("laplace", criterion="gain").fit(X, [0, 0, 1, 1, 1])
    np.testing.assert_allclose(tree.predict_proba([["snow"], [None]]), [[3 / 7, 4 / 7]] * 2)
    assert tree.apply([["snow"], ["rain"]]).tolist() == [0, 1]


@pytest.mark.parametrize("smoothing", ["hdp", "pitman-yor", "m-branch"])
def test_where_inner_nodes_are_priors_a_row_that_stops_has_the_mean_of_the_leaves(smoothing):
    rng = np.random.default_rng(0)
    X = np.c_[rng.normal(size=200), np.zeros(200)]
    y = np.digitize(X[:, 0] + rng.normal(scale=0.3, size=200), [-0.5, 1.5])
    model = ProbabilityTreeClassifier(smoothing, soft_thresholds=None).fit(X, y)
    below = model.predict_proba(X)
    assert len(np.unique(below, axis=0)) > 2
    np.testing.assert_allclose(model.predict_proba([[np.nan, 0.0]])[0], below.mean(axis=0))


def test_missing_is_a_branch_of_its_own():
    X = np.array([[1.0], [1.0], [2.0], [2.0], [np.nan], [np.nan]])
    y = [0, 0, 1, 1, 2, 2]
    tree = ProbabilityTreeClassifier("mle", criterion="gain", soft_thresholds=None).fit(X, y)
    np.testing.assert_array_equal(tree.predict(X), y)


def test_smoothing_is_chosen_on_rows_the_tree_has_not_seen():
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(300, 5)), rng.integers(2, size=300)
    options: dict[str, Any] = {
        "criterion": "gain",
        "mdl_correction": False,
        "soft_thresholds": None,
    }
    for y, strong in ((noise, True), ((X[:, 0] > 0).astype(int), False)):
        tree = ProbabilityTreeClassifier("shrinkage", random_state=0, **options).fit(X, y)
        assert isinstance(tree.smoothing_, HierarchicalShrinkage)
        # Leaves of noise look pure to the rows that grew them; only other rows see through it.
        assert (float(tree.smoothing_.lam) >= 30) == strong


def test_soft_thresholds_are_continuous_and_none_are_steps():
    X, y = load_iris(return_X_y=True)
    grid = np.repeat(X[50:51], 400, axis=0)
    grid[:, 2] = np.linspace(1, 7, 400)
    hard = ProbabilityTreeClassifier("laplace", soft_thresholds=None).fit(X, y)
    soft = ProbabilityTreeClassifier("laplace", soft_thresholds=0.3).fit(X, y)
    jumps = [np.abs(np.diff(tree.predict_proba(grid), axis=0)).max() for tree in (hard, soft)]
    assert jumps[0] > 0.3 > 0.05 > jumps[1]
    assert len(np.unique(hard.predict_proba(grid), axis=0)) <= hard.get_n_leaves()


@pytest.mark.parametrize("pruning", ["reduced-error", "cost-complexity"])
def test_pruning_makes_a_smaller_tree_that_counts_all_rows(pruning):
    X, y = make_classification(400, flip_y=0.3, random_state=0)
    options: dict[str, Any] = {"criterion": "gain", "mdl_correction": False, "random_state": 0}
    full = ProbabilityTreeClassifier("laplace", **options).fit(X, y)
    pruned = ProbabilityTreeClassifier("laplace", pruning=pruning, **options).fit(X, y)
    assert pruned.get_n_leaves() < full.get_n_leaves()
    assert pruned.tree_.counts.totals[0] == 400
    validate(pruned.tree_.counts)


def test_curtailment_answers_with_the_ancestor_that_has_enough_rows():
    X, y = mixed_frame()
    options: dict[str, Any] = {
        "criterion": "gain",
        "nominal_splits": "values",
        "soft_thresholds": None,
    }
    free = ProbabilityTreeClassifier("laplace", **options).fit(X, y)
    held = ProbabilityTreeClassifier("laplace", curtailment=40, **options).fit(X, y)
    counts = free.tree_.counts
    node = free.apply(X)
    while (counts.totals[node] < 40).any():
        node = np.where(counts.totals[node] < 40, counts.parent[node], node)
    np.testing.assert_allclose(held.predict_proba(X), free.node_proba_[node])
    assert held.get_n_leaves() == free.get_n_leaves()


def test_honest_rows_give_the_counts():
    X, y = mixed_frame(600)
    tree = ProbabilityTreeClassifier("laplace", honest=0.5, random_state=0).fit(X, y)
    assert 200 < tree.tree_.counts.totals[0] < 400
    validate(tree.tree_.counts)


def test_expected_cost_decides():
    X, y = mixed_frame()
    tree = ProbabilityTreeClassifier(random_state=0).fit(X, y)
    np.testing.assert_array_equal(tree.predict(X, [[0, 1], [1, 0]]), tree.predict(X))
    costly: list[list[float]] = [[0, 1], [9, 0]]  # a missed "yes" costs nine times a false one
    proba = tree.predict_proba(X)
    np.testing.assert_array_equal(
        tree.predict(X, cost_matrix=costly), np.where(9 * proba[:, 1] > proba[:, 0], "yes", "no")
    )
    forest = ProbabilityForestClassifier(5, random_state=0).fit(X, y)
    assert (forest.predict(X, costly) == "yes").mean() > (forest.predict(X) == "yes").mean()
    with pytest.raises(ValueError, match="cost_matrix must have a row and a column for each of 2"):
        tree.predict(X, cost_matrix=[[0, 1, 2]])
    with pytest.raises(ValueError, match="cost_matrix must be finite"):
        tree.predict(X, cost_matrix=[[0.0, np.inf], [1.0, 0.0]])


@pytest.mark.parametrize("model", [
    ProbabilityTreeClassifier(random_state=0),
    ProbabilityForestClassifier(12, random_state=0),
    ProbabilityForestClassifier(12, splitter="random", random_state=0),
])  # fmt: skip
def test_threads_change_no_bit(model):
    X, y = mixed_frame()
    one = model.set_params(n_jobs=1).fit(X, y).predict_proba(X)
    three = model.set_params(n_jobs=3).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(one, three)


@pytest.mark.parametrize(
    "model", [ProbabilityTreeClassifier(random_state=0), ProbabilityForestClassifier(5)]
)
def test_a_saved_model_predicts_the_same_bits(model):
    X, y = mixed_frame()
    model.fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))


def test_decision_path_lists_the_ancestors_of_the_leaf():
    X, y = mixed_frame()
    tree = ProbabilityTreeClassifier("laplace").fit(X, y)
    path, node = tree.decision_path(X), tree.apply(X)
    assert path.shape == (len(X), tree.tree_.n_nodes)
    np.testing.assert_array_equal(path.sum(axis=1).A1, tree.tree_.counts.level[node] + 1)
    np.testing.assert_array_equal(path[:, 0].toarray().ravel(), 1)
    assert (path[np.arange(len(X)), node] == 1).all()


@pytest.mark.parametrize("soft_thresholds", [None, 0.3])
def test_explanations_add_up_to_the_probabilities(soft_thresholds):
    X, y = mixed_frame()
    tree = ProbabilityTreeClassifier("m-branch", soft_thresholds=soft_thresholds).fit(X, y)
    explanation = tree.explain(X, reference="no")
    proba = tree.predict_proba(X)
    np.testing.assert_allclose(
        explanation.log_odds[:, 1], np.log(proba[:, 1] / proba[:, 0]), atol=1e-9
    )
    np.testing.assert_allclose(explanation.remainder, 0.0, atol=1e-9)
    strength = np.abs(explanation.contributions[:, :, 1]).mean(axis=0)
    # The age says nothing.
    assert strength.argmin() == 2


def test_importances_find_the_features_that_matter():
    X, y = load_breast_cancer(return_X_y=True)
    X = np.column_stack([X[:, :5], np.random.default_rng(0).normal(size=len(X))])
    for model in (ProbabilityTreeClassifier(), ProbabilityForestClassifier(20, random_state=0)):
        shares = model.fit(X, y).feature_importances_
        assert shares.sum() == pytest.approx(1.0)
        assert shares.argmin() == 5


def test_out_of_bag_rows_are_judged_by_trees_that_have_not_seen_them():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.integers(2, size=300)
    forest = ProbabilityForestClassifier(50, smoothing=None, random_state=0).fit(X, y)
    seen, unseen = forest.predict_proba(X), forest.oof_proba_
    assert np.isfinite(unseen).all()
    # Labels are noise: rows are known by heart, and not known at all out of bag.
    assert (seen.argmax(axis=1) == y).mean() > 0.95
    assert abs((unseen.argmax(axis=1) == y).mean() - 0.5) < 0.1


def test_smoothed_forest_has_finite_log_loss_and_is_no_worse():
    X, y = load_breast_cancer(return_X_y=True)
    held = np.arange(len(y)) % 3 == 0
    losses = {}
    for smoothing in (None, "shrinkage"):
        forest = ProbabilityForestClassifier(10, smoothing=smoothing, random_state=0).fit(
            X[~held], y[~held]
        )
        proba = forest.predict_proba(X[held])
        losses[smoothing] = -np.log(np.maximum(proba[np.arange(held.sum()), y[held]], 1e-15)).mean()
    assert losses["shrinkage"] < losses[None]


@pytest.mark.parametrize(("options", "message"), [
    ({"criterion": "gini"}, "criterion must be one of 'cv', 'gain-ratio', .*, got 'gini'"),
    ({"honest": 0.95}, "honest must be a number from 0 to 0.9, got 0.95"),
    ({"pruning": "all"}, "pruning must be one of"),
    ({"soft_thresholds": "yes"}, "soft_thresholds must be one of 'cv', got 'yes'"),
    ({"max_depth": 0}, "max_depth must be a number at least 1, got 0"),
    ({"n_folds": 1}, "n_folds must be a number at least 2, got 1"),
    ({"smoothing": "none"}, "smoothing must be one of"),
])  # fmt: skip
def test_errors_name_the_parameter_the_value_and_the_rule(options, message):
    with pytest.raises(ValueError, match=message):
        ProbabilityTreeClassifier(**options).fit([[0.0], [1.0]], [0, 1])


def test_one_class_constant_features_and_missing_columns_are_no_error():
    for X in ([[1.0], [1.0]], [[np.nan], [np.nan]], [["a"], ["a"]], [[None], [None]]):
        for y in ([0, 1], ["only", "only"]):
            for model in (ProbabilityTreeClassifier(), ProbabilityForestClassifier(3)):
                proba = model.fit(X, y).predict_proba(X)
                np.testing.assert_allclose(proba.sum(axis=1), 1.0)


def test_negative_weights_are_an_error_and_zero_weights_no_rows():
    X, y = mixed_frame(100)
    weight = np.ones(100)
    weight[50:] = 0
    tree = ProbabilityTreeClassifier(random_state=0)
    a = tree.fit(X, y, sample_weight=weight).predict_proba(X)
    b = tree.fit(X[:50], y[:50]).predict_proba(X)
    np.testing.assert_array_equal(a, b)
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        tree.fit(X, y, sample_weight=-weight)
    with pytest.raises(ValueError, match="zero"):
        tree.fit(X, y, sample_weight=0 * weight)


def test_hgs_chooses_its_weights_on_held_out_rows_by_default():
    losses = np.zeros((8, 2))
    for seed, loss in enumerate(losses):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(400, 8))
        y = rng.random(400) < 1 / (1 + np.exp(-X[:, 0] - X[:, 1]))
        for i, smoother in enumerate((HGS(), HGS("optimised"))):
            tree = ProbabilityTreeClassifier(smoother, criterion="gain-ratio", random_state=0)
            tree.fit(X[:200], y[:200])
            assert tree.smoothing_.mode in ("optimised", "depth")
            loss[i] = log_loss(y[200:], tree.predict_proba(X[200:]))
    chosen, optimised = losses.mean(axis=0)
    assert chosen < 0.96 * optimised


def test_published_hgs_is_an_option():
    X, y = load_iris(return_X_y=True)
    smoother: Smoother = HGS("published")
    tree = ProbabilityTreeClassifier(smoother, criterion="gain-ratio", soft_thresholds=None)
    assert tree.fit(X, y).score(X, y) > 0.9
