"""Forests of random splits: counts of all rows, shrunk towards the parent."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

from priorwise import ProbabilityForestClassifier
from priorwise.smoothing import ParentEstimate
from reference.log_odds import against_others


def forest(n_estimators=20, **options):
    return ProbabilityForestClassifier(n_estimators, splitter="random", random_state=0, **options)


def log_loss(proba, y):
    return -np.log(proba[np.arange(len(y)), y]).mean()


def mixed_rows(n_rows=200, seed=0):
    rng = np.random.default_rng(seed)
    X = np.empty((n_rows, 3), dtype=object)
    X[:, 0] = np.where(rng.random(n_rows) < 0.05, np.nan, rng.normal(size=n_rows))
    X[:, 1] = rng.choice(["red", "green", "blue"], n_rows)
    X[:, 2] = rng.integers(1000, size=n_rows).astype(float)
    y = ((X[:, 1] == "red") + rng.normal(size=n_rows) > 0.7).astype(int)
    return X, y


@pytest.mark.parametrize("options", [
    {},
    {"counts": "all"},
    {"smoothing": "laplace"},
    {"bootstrap": False},
])  # fmt: skip
def test_two_rows_are_a_row_of_weight_two(options):
    X, y = mixed_rows()
    # Rows without their continuous number are draws, however often they are there.
    X[:, 0] = np.where(X[:, 0] == X[:, 0], X[:, 0], 0.0)
    model = forest(**options).fit(X, y, sample_weight=np.full(200, 2.0))
    with pytest.warns(UserWarning, match="rows are exact copies"):
        twice = forest(**options).fit(np.vstack([X, X]), np.append(y, y))
    np.testing.assert_array_equal(model.predict_proba(X), twice.predict_proba(X))
    if "bootstrap" not in options:
        np.testing.assert_array_equal(np.vstack([model.oof_proba_] * 2), twice.oof_proba_)
    assert model.smoothing_.get_params() == twice.smoothing_.get_params()


def test_all_rows_count_or_those_that_grew_the_tree():
    X, y = load_iris(return_X_y=True)
    every, grown = forest(counts="all").fit(X, y), forest().fit(X, y)
    np.testing.assert_array_equal(
        [tree.counts.totals[0] for tree in every.estimators_], np.full(20, 150.0)
    )
    shares = np.array([tree.counts.totals[0] for tree in grown.estimators_]) / 150
    assert 0.6 < shares.mean() < 0.8
    assert shares.max() < 1


def test_out_of_bag_rows_of_noise_are_not_known_though_they_count():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.integers(2, size=300)
    model = forest(100, smoothing=ParentEstimate(0.03), counts="all").fit(X, y)
    assert (model.predict_proba(X).argmax(axis=1) == y).mean() > 0.95
    assert abs((model.oof_proba_.argmax(axis=1) == y).mean() - 0.5) < 0.12
    np.testing.assert_allclose(model.oof_proba_.sum(axis=1), 1.0, rtol=1e-6)


@pytest.mark.parametrize("counts", ["all", "grown"])
def test_equal_rows_are_judged_by_what_the_others_say(counts):
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(400, 2)).astype(float)
    y = (rng.random(400) < 0.3 + 0.4 * X[:, 0]).astype(int)
    model = forest(200, counts=counts).fit(X, y)
    # Eight kinds of rows: each is left out of trees, and tells of the frequencies all the same.
    np.testing.assert_allclose(model.oof_proba_, model.predict_proba(X), atol=0.1)


def test_strength_follows_the_noise():
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(300, 5)), rng.integers(2, size=300)
    assert forest().fit(X, noise).smoothing_.m >= 8
    assert forest().fit(X, (X[:, 0] > 0).astype(int)).smoothing_.m <= 0.25
    assert forest(bootstrap=False).fit(X, noise).smoothing_.m >= 8


@pytest.mark.parametrize("bootstrap", [True, False])
def test_nodes_of_few_rows_are_split_if_the_classes_are_no_noise(bootstrap):
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(5000, 3)), rng.integers(2, size=5000)
    model = forest(5, bootstrap=bootstrap).fit(X, noise)
    assert model.min_weight_ >= 64.0
    weights = np.concatenate([tree.counts.totals[~tree.is_leaf] for tree in model.estimators_])
    assert weights.min() >= model.min_weight_
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    certain = forest(5, bootstrap=bootstrap).fit(X, (X[:, 0] > X[:, 1]).astype(int))
    assert certain.min_weight_ <= 8.0


@pytest.mark.parametrize("counts", ["all", "grown"])
def test_out_of_bag_loss_is_near_that_of_new_rows(counts):
    X, y = load_breast_cancer(return_X_y=True)
    promised, found = [], []
    for seed in range(8):
        held = np.random.default_rng(seed).random(len(y)) < 0.5
        model = forest(100, counts=counts).fit(X[~held], y[~held])
        promised.append(log_loss(model.oof_proba_, y[~held]))
        found.append(log_loss(model.predict_proba(X[held]), y[held]))
    assert np.mean(promised) == pytest.approx(np.mean(found), abs=0.03)


@pytest.mark.parametrize("options", [
    {"splitter": "random"},
    {"splitter": "random", "smoothing": "m-branch"},
    {"splitter": "best"},
])  # fmt: skip
def test_contributions_add_up_to_the_probabilities(options):
    X, y = mixed_rows()
    X[:3, 1] = None
    model = ProbabilityForestClassifier(15, random_state=0, **options).fit(X[20:], y[20:])
    explanation = model.explain(X)
    contributions = explanation.contributions
    assert contributions.shape == (200, 3, 2)
    log_p = np.log(model.predict_proba(X))
    np.testing.assert_allclose(explanation.log_odds, against_others(log_p), atol=1e-12)
    np.testing.assert_allclose(explanation.remainder, 0.0, atol=1e-9)
    # The colour decides; the third column says nothing.
    assert np.abs(contributions[:, 1]).mean() > np.abs(contributions[:, 2]).mean()


def test_trees_and_their_probabilities_make_up_the_forest():
    X, y = load_iris(return_X_y=True)
    model = forest().fit(X, y)
    answers = [
        proba[tree.find(list(X.T), len(X))].astype(np.float64)
        for tree, proba in zip(model.estimators_, model.node_proba_, strict=True)
    ]
    np.testing.assert_allclose(model.predict_proba(X), np.mean(answers, axis=0), atol=1e-7)


def test_an_unseen_value_goes_with_the_rest():
    X = [["sun"]] * 8 + [["rain"]] * 8
    model = forest(50, bootstrap=False, smoothing=ParentEstimate(0.03)).fit(X, [0] * 8 + [1] * 8)
    # Half of the trees ask for sun and half for rain: the rest is the other.
    assert 0.25 < model.predict_proba([["snow"]])[0, 0] < 0.75


def test_a_saved_forest_predicts_the_same_bits():
    X, y = mixed_rows()
    model = forest().fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))


def test_the_order_of_rows_does_not_matter():
    X, y = mixed_rows()
    order = np.random.default_rng(1).permutation(200)
    a, b = forest().fit(X, y), forest().fit(X[order], y[order])
    np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(X))
    np.testing.assert_array_equal(a.oof_proba_[order], b.oof_proba_)


@pytest.mark.parametrize(("options", "message"), [
    ({"counts": "some"}, "counts must be one of 'grown', 'all', got 'some'"),
    ({"max_samples": 1.0}, "max_samples must be a number above 0 and below 1, got 1.0"),
    ({"n_random_splits": 2**31 - 1}, "n_random_splits must be .* at most 1000, got 2147483647"),
    ({"counts": "all", "smoothing": "laplace"}, "got 'all' with 'random' and 'laplace'"),
    ({"max_features": "most"}, "max_features must be one of 'auto', 'sqrt', 'log2', got 'most'"),
])  # fmt: skip
def test_errors_name_the_parameter_the_value_and_the_rule(options, message):
    with pytest.raises(ValueError, match=message):
        forest(**options).fit([[0.0], [1.0]], [0, 1])
