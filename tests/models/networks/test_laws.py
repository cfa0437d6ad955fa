"""Laws that every network classifier obeys."""

import pickle

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from reference.network_cases import ALL, FIXED, RANDOM, as_frame, each, fit, make_codes, make_mixed


@parametrize_with_checks(
    [type(model)() if name not in RANDOM else model for name, model in ALL.items()]
)
def test_scikit_learn_agrees(estimator, check):
    check(estimator)


@each(ALL)
def test_probabilities_are_positive_and_sum_to_one(model):
    X, y = make_mixed()
    proba = fit(model, X, y).predict_proba(X)
    assert proba.shape == (len(y), 3)
    assert (proba > 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)


@each(ALL)
def test_log_probabilities_and_labels_follow_the_probabilities(model):
    X, y = make_mixed()
    fitted = fit(model, X, y)
    proba = fitted.predict_proba(X)
    np.testing.assert_allclose(np.exp(fitted.predict_log_proba(X)), proba, rtol=1e-12)
    assert (fitted.predict(X) == fitted.classes_[proba.argmax(axis=1)]).all()
    if hasattr(fitted, "predict_joint_log_proba"):
        joint = fitted.predict_joint_log_proba(X)
        np.testing.assert_allclose(
            np.exp(joint - logsumexp(joint, axis=1, keepdims=True)), proba, rtol=1e-9
        )


@each(FIXED)
def test_relabelled_classes_permute_the_answer(model):
    codes, y = make_codes()
    X = as_frame(codes)
    proba = fit(model, X, y).predict_proba(X)
    moved = np.array([2, 0, 1])
    again = fit(model, X, moved[y]).predict_proba(X)
    np.testing.assert_allclose(again[:, moved], proba, rtol=1e-9)


@each(FIXED)
def test_relabelled_values_change_nothing(model):
    codes, y = make_codes()
    proba = fit(model, as_frame(codes), y).predict_proba(as_frame(codes))
    other = np.column_stack([(7 * c + 3) % 11 for c in codes.T])
    again = fit(model, as_frame(other), y).predict_proba(as_frame(other))
    np.testing.assert_allclose(again, proba, rtol=1e-9)


@each(FIXED)
def test_features_in_another_order_change_nothing(model):
    codes, y = make_codes(n_rows=400)
    X = as_frame(codes)
    proba = fit(model, X, y).predict_proba(X)
    moved = X[["f3", "f0", "f4", "f2", "f1"]]
    np.testing.assert_allclose(
        fit(model, moved, y).predict_proba(moved), proba, rtol=1e-9, atol=1e-12
    )


@each(ALL)
def test_the_order_of_the_rows_changes_nothing(model):
    X, y = make_mixed()
    rows = np.random.default_rng(2).permutation(len(y))
    proba = fit(model, X, y).predict_proba(X)
    again = fit(model, X.iloc[rows], y[rows]).predict_proba(X)
    np.testing.assert_allclose(again, proba, rtol=1e-9)


@each(ALL)
def test_weights_of_one_are_no_weights(model):
    X, y = make_mixed()
    proba = fit(model, X, y).predict_proba(X)
    again = fit(model, X, y, sample_weight=np.ones(len(y))).predict_proba(X)
    np.testing.assert_array_equal(again, proba)


@each(ALL)
def test_weight_two_is_the_row_twice(model):
    X, y = make_mixed()
    times = np.random.default_rng(1).choice([1, 2, 3, 25], len(y))
    rows = np.repeat(np.arange(len(y)), times)
    weighted = fit(model, X, y, sample_weight=times)
    repeated = fit(model, X.iloc[rows], y[rows])
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-7)


@each(ALL)
def test_weight_zero_is_absence(model):
    X, y = make_mixed()
    kept = np.random.default_rng(1).random(len(y)) < 0.7
    weighted = fit(model, X, y, sample_weight=kept.astype(float))
    without = fit(model, X[kept], y[kept])
    np.testing.assert_allclose(weighted.predict_proba(X), without.predict_proba(X), rtol=1e-9)


@each(ALL)
@pytest.mark.filterwarnings("ignore:sample_weight has a sum:UserWarning")
@pytest.mark.parametrize("weights", ["huge", "tiny", "mixed", "one row"])
def test_extreme_weights_give_finite_probabilities_that_sum_to_one(model, weights):
    X, y = make_mixed()
    rng = np.random.default_rng(3)
    weight = {
        "huge": rng.uniform(1e12, 5e13, len(y)),
        "tiny": rng.uniform(1e-300, 1e-299, len(y)),
        "mixed": 10.0 ** rng.uniform(-300, 13, len(y)),
        "one row": np.where(np.arange(len(y)) == 7, 1e15, 1e-9),
    }[weights]
    proba = fit(model, X, y, sample_weight=weight).predict_proba(X)
    assert np.isfinite(proba).all()
    assert (proba >= 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)


@each(ALL)
def test_a_fit_that_raises_leaves_the_model_as_it_was(model):
    X, y = make_mixed()
    fitted = fit(model, X, y)
    before, proba = set(vars(fitted)), fitted.predict_proba(X)
    with pytest.raises(ValueError, match="max_contexts"):
        fitted.set_params(max_contexts=2).fit(X[["f0", "number"]].assign(other="x"), y)
    assert set(vars(fitted)) == before
    np.testing.assert_array_equal(fitted.predict_proba(X), proba)


@each(ALL)
def test_a_second_fit_forgets_the_first(model):
    X, y = make_mixed()
    renamed = X.set_axis([f"new {name}" for name in X.columns], axis=1)
    once = fit(model, X.to_numpy(), y)
    twice = fit(model, renamed, y).fit(X.to_numpy(), y)
    assert set(vars(twice)) == set(vars(once))
    np.testing.assert_array_equal(
        twice.predict_proba(X.to_numpy()), once.predict_proba(X.to_numpy())
    )


@each(ALL)
def test_threads_change_no_bit(model):
    X, y = make_mixed(n_rows=90)
    one = fit(model, X, y).predict_proba(X)
    three = fit(clone(model).set_params(n_jobs=3), X, y).predict_proba(X)
    np.testing.assert_array_equal(one, three)


@each(ALL)
def test_a_pickled_model_predicts_the_same_bits(model):
    X, y = make_mixed(n_rows=90)
    fitted = fit(model, X, y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
