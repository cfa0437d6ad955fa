"""Logistic regression with splines: the kernel's minimum, the path, and what a model knows."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from sklearn.datasets import load_iris

from priorwise import SplineLogisticClassifier, _core
from priorwise.models.linear import spline as linear
from reference.linear.logistic import penalised_loss
from reference.log_odds import against_others


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_kernel_finds_the_minimum_of_the_penalised_loss(
    rng: np.random.Generator, n_classes: int, weighted: bool
) -> None:
    n_rows, n_indicators, n_values = 40, 3, 2
    index = rng.integers(-1, n_indicators, (n_rows, 2)).astype(np.int32)
    value = rng.normal(size=(n_rows, n_values)).astype(np.float32)
    y = rng.integers(0, n_classes, n_rows).astype(np.int32)
    weight = rng.random(n_rows) * 2 if weighted else None
    fold = (np.arange(n_rows) % 2).astype(np.int32)
    weights = np.zeros((2, n_classes, 1 + n_indicators + n_values))
    _core.fit_logistic(index, value, n_indicators, y, weight, fold, 2.0, 1e-6, weights, 2)
    for held in range(2):
        seen = fold != held

        def cost(flat: np.ndarray, seen: np.ndarray = seen) -> float:
            return penalised_loss(
                flat.reshape(n_classes, -1), index[seen], value[seen], y[seen],
                None if weight is None else weight[seen], 2.0,
            )  # fmt: skip

        # The loss is convex, so that the search ends at the same minimum wherever it begins.
        slow = minimize(cost, weights[held].ravel(), method="BFGS", options={"gtol": 1e-7})
        assert cost(weights[held].ravel()) <= slow.fun * (1 + 1e-5)
        assert cost(weights[held].ravel()) >= slow.fun - 1e-4


def test_out_of_fold_probabilities_do_not_know_their_row(rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(200, 10)), rng.integers(0, 2, 200)
    model = SplineLogisticClassifier(random_state=0).fit(X, y)
    own = np.arange(200), y
    assert -np.log(model.oof_proba_[own]).mean() > 0.68


def test_rows_beyond_the_cap_are_out_of_fold_for_all(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linear, "MAX_ROWS", 100)
    X = rng.normal(size=(300, 4))
    y = (X[:, 0] + 0.3 * rng.normal(size=300) > 0).astype(int)
    model = SplineLogisticClassifier(random_state=0).fit(X, y)
    assert model.oof_proba_.shape == (300, 2)
    same = np.isclose(model.oof_proba_, model.predict_proba(X)).all(axis=1)
    assert same.sum() >= 200
    assert (model.predict(X) == y).mean() > 0.85


def test_contributions_add_up_to_the_scores(rng: np.random.Generator) -> None:
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=120),
            "colour": rng.choice(["red", "blue"], 120),
            "gappy": np.where(rng.random(120) < 0.3, np.nan, rng.normal(size=120)),
        }
    )
    y = rng.integers(0, 3, 120)
    model = SplineLogisticClassifier(random_state=0).fit(frame, y)
    explanation = model.explain(frame)
    score = np.log(model.predict_proba(frame))
    np.testing.assert_allclose(explanation.log_odds, against_others(score), rtol=1e-9)
    np.testing.assert_allclose(explanation.remainder, 0.0, atol=1e-5)


def test_unseen_label_adds_nothing_and_far_values_are_cut_off(rng: np.random.Generator) -> None:
    frame = pd.DataFrame({"a": rng.choice(["x", "y"], 80), "b": rng.normal(size=80)})
    model = SplineLogisticClassifier(random_state=0).fit(frame, rng.integers(0, 2, 80))
    explanation = model.explain(pd.DataFrame({"a": ["new"], "b": [0.0]}))
    assert (explanation.contributions[0, 0] == 0.0).all()
    far = pd.DataFrame({"a": ["x", "x"], "b": [1e6, 1e9]})
    np.testing.assert_array_equal(*model.predict_proba(far))


def test_a_bend_is_found_by_splines(rng: np.random.Generator) -> None:
    X = rng.uniform(-1, 1, size=(400, 1))
    y = (np.abs(X[:, 0]) > 0.5).astype(int)
    assert SplineLogisticClassifier(random_state=0).fit(X, y).score(X, y) > 0.95


def test_a_row_has_the_same_bits_whatever_rows_are_beside_it(rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(300, 6)), rng.integers(0, 9, 300)
    X[rng.random(X.shape) < 0.1] = np.nan
    model = SplineLogisticClassifier(random_state=0).fit(X, y)
    together = model.predict_proba(X)
    for rows in (slice(0, 1), slice(17, 18), slice(5, 12), slice(100, 229)):
        assert model.predict_proba(X[rows]).tobytes() == together[rows].tobytes()


def test_a_weight_counts_rows_however_it_is_given(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linear, "MAX_ROWS", 150)
    monkeypatch.setattr(linear, "MANY_ROWS", 150)
    X, y = rng.normal(size=(120, 3)), rng.integers(0, 2, 120)
    weight = rng.integers(0, 4, 120)
    rows = np.repeat(np.arange(120), weight)
    shuffled = rng.permutation(rows)
    weighted = SplineLogisticClassifier(random_state=0).fit(X, y, weight)
    with pytest.warns(UserWarning, match="rows are exact copies"):
        repeated = SplineLogisticClassifier(random_state=0).fit(X[shuffled], y[shuffled])
    np.testing.assert_array_equal(weighted.predict_proba(X), repeated.predict_proba(X))
    np.testing.assert_array_equal(weighted.oof_proba_[shuffled], repeated.oof_proba_)
    assert np.isnan(weighted.oof_proba_[weight == 0]).all()


def test_threads_change_no_bit() -> None:
    X, y = load_iris(return_X_y=True)
    one, two = (SplineLogisticClassifier(n_jobs=n, random_state=0).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
