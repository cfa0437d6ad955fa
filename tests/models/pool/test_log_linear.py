"""The log-linear pool: its weights, its rows, its members."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from priorwise import ESKDBClassifier, LogLinearPool, NaiveBayesClassifier
from priorwise.models.pool.log_linear import PoolWeights


@parametrize_with_checks(
    [LogLinearPool([("bayes", NaiveBayesClassifier()), ("line", NaiveBayesClassifier("mle"))])],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": "folds are dealt by rows"
    },
)
def test_scikit_learn_checks(estimator: LogLinearPool, check) -> None:
    check(estimator)


def opinion(rng: np.random.Generator, y: np.ndarray, knowledge: float) -> np.ndarray:
    score = rng.normal(size=(len(y), 3))
    score[np.arange(len(y)), y] += knowledge
    return np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)


def test_a_member_that_knows_nothing_gets_no_weight(rng: np.random.Generator) -> None:
    y = rng.integers(0, 3, 3000).astype(np.int32)
    found = PoolWeights.fit([opinion(rng, y, 2.0), opinion(rng, y, 0.0)], y)
    assert found.weight[0] > 0.8
    assert abs(found.weight[1]) < 0.1


def test_two_independent_witnesses_are_multiplied(rng: np.random.Generator) -> None:
    # Of scores with unit noise the likelihood ratio is twice-knowledge scaled: both weigh alike.
    y = rng.integers(0, 3, 5000).astype(np.int32)
    found = PoolWeights.fit([opinion(rng, y, 1.0), opinion(rng, y, 1.0)], y)
    assert found.weight.sum() > 1.2
    assert abs(found.weight[0] - found.weight[1]) < 0.15


def test_pooled_rows_sum_to_one_and_one_member_of_weight_one_stays(
    rng: np.random.Generator,
) -> None:
    y = rng.integers(0, 3, 50)
    proba = opinion(rng, y, 1.0)
    same = PoolWeights(np.ones(1), np.zeros(3)).pool([proba])
    np.testing.assert_allclose(same, proba, atol=2e-3)
    both = PoolWeights(np.array([0.7, 0.6]), np.zeros(3)).pool([proba, proba])
    np.testing.assert_allclose(both.sum(axis=1), 1.0)


def test_rows_without_an_opinion_are_left_out(rng: np.random.Generator) -> None:
    y = rng.integers(0, 3, 200).astype(np.int32)
    proba = opinion(rng, y, 1.0)
    gappy = proba.copy()
    gappy[:100] = np.nan
    found = PoolWeights.fit([gappy], y)
    alone = PoolWeights.fit([proba[100:]], y[100:])
    np.testing.assert_array_equal(found.weight, alone.weight)
    nothing = PoolWeights.fit([np.full((5, 3), np.nan)], y[:5])
    np.testing.assert_array_equal(nothing.weight, [1.0])


def test_members_with_out_of_fold_probabilities_are_fitted_once() -> None:
    X, y = load_iris(return_X_y=True)
    networks = ESKDBClassifier(5, max_parents=1, random_state=0)
    pool = LogLinearPool([("networks", networks), ("tree", DecisionTreeClassifier(random_state=0))])
    pool.fit(X, y)
    np.testing.assert_array_equal(pool.oof_probabilities_[0], pool.estimators_[0].oof_proba_)
    assert set(np.unique(pool.oof_probabilities_[1])) == {0.0, 1.0}
    assert (pool.oof_probabilities_[1].argmax(axis=1) == y).mean() < 1.0


def test_fitted_classifiers_can_be_pooled(rng: np.random.Generator) -> None:
    X, y = load_iris(return_X_y=True)
    members = [
        ("a", LogisticRegression(max_iter=500).fit(X, y)),
        ("b", NaiveBayesClassifier().fit(X, y)),
    ]
    held_out = [opinion(rng, y, 1.0), opinion(rng, y, 0.0)]
    pool = LogLinearPool.of_fitted(members, held_out, y)
    assert pool.pool_weights_[0] > pool.pool_weights_[1]
    assert pool.predict(X).shape == y.shape
    with pytest.raises(ValueError, match=r"oof_probabilities\[1\] must have a row"):
        LogLinearPool.of_fitted(members, [held_out[0], held_out[1][:10]], y)
    with pytest.raises(ValueError, match="one array for each of 2 estimators, got 1"):
        LogLinearPool.of_fitted(members, held_out[:1], y)


def test_bad_parameters_are_named() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="estimators must not be empty"):
        LogLinearPool([]).fit(X, y)
    twice = [("a", NaiveBayesClassifier()), ("a", NaiveBayesClassifier())]
    with pytest.raises(ValueError, match="different names"):
        LogLinearPool(twice).fit(X, y)
    with pytest.raises(ValueError, match="penalty"):
        LogLinearPool(twice[:1], penalty=-1.0).fit(X, y)


def test_parameters_of_members_can_be_set() -> None:
    pool = LogLinearPool([("bayes", NaiveBayesClassifier())])
    pool.set_params(bayes__smoothing="laplace")
    assert pool.get_params()["bayes__smoothing"] == "laplace"
