"""The log-linear pool: its weights, its rows, its members."""

from typing import Any

import narwhals as nw
import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from priorwise import LogLinearPool, NaiveBayesClassifier, SplineLogisticClassifier
from priorwise.models.pool.weights import PoolWeights, ScoreLine, ScoreReport, stack_logs
from priorwise.models.training_table import TrainingTable


def pooled_probabilities(monkeypatch: pytest.MonkeyPatch) -> list[NDArray[np.float64]]:
    """Return a list that a later fit of a pool fills with what its members say out of fold."""
    given: list[NDArray[np.float64]] = []
    fit = PoolWeights.fit_and_judge

    def note(probabilities: list[NDArray[np.float64]], *options: Any, **signs: Any) -> Any:
        given[:] = probabilities
        return fit(probabilities, *options, **signs)

    monkeypatch.setattr(PoolWeights, "fit_and_judge", note)
    return given


def opinion(rng: np.random.Generator, y: np.ndarray, knowledge: float) -> np.ndarray:
    score = rng.normal(size=(len(y), 3))
    score[np.arange(len(y)), y] += knowledge
    return np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)


def fit_weights(probabilities: list[NDArray[np.float64]], y: np.ndarray) -> PoolWeights:
    logs, rows = stack_logs(probabilities)
    return PoolWeights.fit(logs, y[rows])


def test_a_member_that_knows_nothing_gets_no_weight(rng: np.random.Generator) -> None:
    y = rng.integers(0, 3, 3000).astype(np.int32)
    found = fit_weights([opinion(rng, y, 2.0), opinion(rng, y, 0.0)], y)
    assert found.weight[0] > 0.8
    assert abs(found.weight[1]) < 0.1


def test_two_independent_witnesses_are_multiplied(rng: np.random.Generator) -> None:
    # Of scores with unit noise the likelihood ratio is twice-knowledge scaled: both weigh alike.
    y = rng.integers(0, 3, 5000).astype(np.int32)
    found = fit_weights([opinion(rng, y, 1.0), opinion(rng, y, 1.0)], y)
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
    found = fit_weights([gappy], y)
    alone = fit_weights([proba[100:]], y[100:])
    np.testing.assert_array_equal(found.weight, alone.weight)
    nothing = fit_weights([np.full((5, 3), np.nan)], y[:5])
    np.testing.assert_array_equal(nothing.weight, [1.0])


def test_members_with_out_of_fold_probabilities_are_fitted_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = load_iris(return_X_y=True)
    line = SplineLogisticClassifier(random_state=0)
    pool = LogLinearPool([("line", line), ("tree", DecisionTreeClassifier(random_state=0))])
    given = pooled_probabilities(monkeypatch)
    order = TrainingTable.read_uncut(line, X, y).as_draws()
    pool.fit(X, y)
    line_proba, tree_proba = map(order.to_given_rows, given)
    np.testing.assert_array_equal(line_proba.astype(np.float32), line.fit(X, y).oof_proba_)
    assert not hasattr(pool.estimators_["line"], "oof_proba_")
    assert set(np.unique(tree_proba)) == {0.0, 1.0}
    assert (tree_proba.argmax(axis=1) == y).mean() < 1.0


def test_out_of_fold_probabilities_of_a_pool_are_pooled_from_those_of_its_members(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = load_iris(return_X_y=True)
    given = pooled_probabilities(monkeypatch)
    members = [("line", SplineLogisticClassifier()), ("tree", DecisionTreeClassifier())]
    pool = LogLinearPool(members, random_state=0).fit(X, y)
    weights = PoolWeights(np.array(list(pool.pool_weights_.values())), pool.intercept_)
    order = TrainingTable.read_uncut(pool, X, y).as_draws()
    pooled = order.to_given_rows(weights.pool(given))
    # Each fold is pooled by weights of the other folds, which are nearly those of all.
    assert 0.0 < np.abs(pool.oof_proba_ - pooled).mean() < 0.02
    lines = pool.score_report().lines
    assert [line.name for line in lines] == ["line", "tree", "pool"]
    for backend in (None, "polars"):
        frame = nw.from_native(pool.score_report().to_frame(backend), eager_only=True)
        assert frame["name"].to_list() == ["line", "tree", "pool"]
        assert frame["log_loss"].to_list() == [line.log_loss for line in lines]
        assert frame["pool_weight"].drop_nulls().to_list() == [*pool.pool_weights_.values()]


def test_fitted_classifiers_can_be_pooled(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = pooled_probabilities(monkeypatch)
    X, y = load_iris(return_X_y=True)
    seen = np.arange(150) % 2 == 0
    good = SplineLogisticClassifier(random_state=0).fit(X[seen], y[seen])
    bad = LogisticRegression().fit(X[seen], rng.permutation(y[seen]))
    coef = good.coef_
    frozen = [("good", FrozenEstimator(good)), ("bad", FrozenEstimator(bad))]
    pool = LogLinearPool(frozen, random_state=0).fit(X[~seen], y[~seen])
    assert pool.estimators_["good"].coef_ is coef
    order = TrainingTable.read_uncut(pool, X[~seen], y[~seen]).as_draws()
    good_proba = order.to_given_rows(given[0])
    np.testing.assert_array_equal(good_proba, good.predict_proba(X[~seen]))
    assert pool.pool_weights_["good"] > pool.pool_weights_["bad"]


def test_bad_parameters_are_named() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="estimators must not be empty"):
        LogLinearPool([]).fit(X, y)
    twice = [("a", NaiveBayesClassifier()), ("a", NaiveBayesClassifier())]
    with pytest.raises(ValueError, match="different names"):
        LogLinearPool(twice).fit(X, y)
    with pytest.raises(ValueError, match="none of them 'boosting'"):
        LogLinearPool([("boosting", NaiveBayesClassifier())]).fit(X, y)
    with pytest.raises(ValueError, match="penalty"):
        LogLinearPool(twice[:1], penalty=-1.0).fit(X, y)
    with pytest.raises(ValueError, match="n_folds"):
        LogLinearPool(twice[:1], n_folds=1).fit(X, y)


def test_parameters_of_members_can_be_set() -> None:
    pool = LogLinearPool([("bayes", NaiveBayesClassifier())])
    pool.set_params(bayes__smoothing="laplace")
    assert pool.get_params()["bayes__smoothing"] == "laplace"


def test_a_report_says_what_judges_boosting_that_has_the_higher_log_loss() -> None:
    def report(boosted: float) -> str:
        lines = [ScoreLine(name, 0.1, loss, 0.1, None, 1.0, 0.0, 0.0, 0.0)
                 for name, loss in (("pool", 0.5), ("boosting", boosted))]  # fmt: skip
        return repr(ScoreReport(tuple(lines), 600))

    assert "boosting is kept" in report(0.51)
    assert "boosting is kept" not in report(0.49)
