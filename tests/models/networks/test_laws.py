"""Laws of network classifiers that are not among those of all classifiers (tests/contract)."""

import numpy as np
import pytest
from scipy.special import logsumexp

from reference.network_cases import ALL, each, fit, make_mixed


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


# Others leave rows out: of two rows one, of a row of weight two all.
@each({name: ALL[name] for name in ("naive Bayes", "TAN", "kDB", "AODE", "KDF")})
def test_weight_two_is_the_row_twice(model):
    X, y = make_mixed()
    times = np.random.default_rng(1).choice([1, 2, 3, 25], len(y))
    rows = np.repeat(np.arange(len(y)), times)
    weighted = fit(model, X, y, sample_weight=times)
    repeated = fit(model, X.iloc[rows], y[rows])
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-7)


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
