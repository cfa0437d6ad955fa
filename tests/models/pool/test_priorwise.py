"""The pool of networks, forest and linear model."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

from priorwise import PriorwiseClassifier
from priorwise.evaluation import cross_entropy
from priorwise.models.pool.weights import PoolWeights
from priorwise.models.training_table import TrainingTable
from reference.log_odds import against_others


def mixed_table(rng: np.random.Generator, n_rows: int) -> tuple[pd.DataFrame, np.ndarray]:
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=n_rows),
            "gappy": np.where(rng.random(n_rows) < 0.2, np.nan, rng.normal(size=n_rows)),
            "colour": rng.choice(["red", "green", "blue"], n_rows),
            "noise": rng.choice(list("abcdefgh"), n_rows),
        }
    )
    score = frame["number"] + (frame["colour"] == "red") * frame["gappy"].fillna(1.0)
    return frame, np.where(score + 0.5 * rng.normal(size=n_rows) > 0, "yes", "no")


def test_pool_is_better_than_its_members_on_rows_none_has_seen(rng: np.random.Generator) -> None:
    X, y = mixed_table(rng, 1200)
    model = PriorwiseClassifier("fast", random_state=0).fit(X[:600], y[:600])
    loss = {
        name: cross_entropy(y[600:], member.predict_proba(X[600:]), labels=model.classes_)
        for name, member in model.estimators_.items()
    }
    pooled = cross_entropy(y[600:], model.predict_proba(X[600:]), labels=model.classes_)
    assert pooled < 1.01 * min(loss.values())
    assert pooled < np.mean(list(loss.values()))


@pytest.mark.parametrize("effort", ["fast", "balanced"])
def test_threads_and_pickles_change_no_bit(effort: str) -> None:
    X, y = load_iris(return_X_y=True)
    one, two = (PriorwiseClassifier(effort, n_jobs=n, random_state=3).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    again = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(one.predict_proba(X), again.predict_proba(X))


def hidden_rule(rng: np.random.Generator, n_rows: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Stairs along one feature of eight, turned over by another: little that a member sees."""
    X = rng.normal(size=(n_rows, 8))
    y = (np.floor(3.0 * X[:, 0]) % 2 == 0) ^ (X[:, 1] > 1.0)
    return pd.DataFrame(X).add_prefix("x"), y.astype(int)


def without_booster(effort: str) -> PriorwiseClassifier:
    """A pool whose members do not see the hidden rule, so that boosting has to find it."""
    listed = PriorwiseClassifier.default_estimators(effort, n_rows=700, n_features=8)
    members = [(name, member) for name, member in listed if name != "booster"]
    return PriorwiseClassifier(effort, estimators=members, random_state=0)


@pytest.mark.parametrize("effort", ["fast", "balanced"])
def test_explanation_adds_up_to_the_prediction(effort: str, rng: np.random.Generator) -> None:
    X, y = hidden_rule(rng, 700)
    model = without_booster(effort).fit(X, y)
    assert model.boosting_ is not None
    explained = model.explain(X[:200])
    log_p = np.log(model.predict_proba(X[:200]))
    np.testing.assert_allclose(explained.log_odds, against_others(log_p), atol=1e-9)
    frame = explained.to_frame(members=True)
    assert len(frame) == 200 * (1 + 8) * 2
    parts = {*model.estimators_, "boosting"}
    assert {"networks", "forest", "kernel", "gaussian"} < parts
    assert {"row", "feature", "class", "contribution"} | parts <= set(frame.columns)


def test_a_second_fit_does_not_measure_importances_of_the_first(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = hidden_rule(rng, 60)
    model = PriorwiseClassifier("fast", random_state=0).fit(X, y)
    monkeypatch.setattr(PriorwiseClassifier, "explain_columns", None)
    model.fit(X, y)
    monkeypatch.undo()
    assert model.feature_importances_.shape == (X.shape[1],)


def test_the_feature_that_matters_is_the_one_explained(rng: np.random.Generator) -> None:
    X = rng.normal(size=(400, 3))
    y = (X[:, 1] > 0).astype(int)
    model = PriorwiseClassifier("fast", random_state=0).fit(X, y)
    strength = np.abs(model.explain(X[:50]).contributions).mean(axis=(0, 2))
    assert strength.argmax() == 1
    assert strength[1] > 5 * max(strength[0], strength[2])


@pytest.mark.parametrize("effort", ["fast", "balanced"])
def test_boosting_mends_what_the_pool_misses(effort: str, rng: np.random.Generator) -> None:
    X, y = hidden_rule(rng, 1400)
    model = without_booster(effort).fit(X[:700], y[:700])
    assert model.boosting_ is not None
    mended = cross_entropy(y[700:], model.predict_proba(X[700:]))
    model.step_ = model.step_.base
    assert mended < cross_entropy(y[700:], model.predict_proba(X[700:]))


def test_report_has_a_line_for_each_member_and_the_pool() -> None:
    X, y = load_iris(return_X_y=True)
    model = PriorwiseClassifier("fast", random_state=0).fit(X, y)
    report = model.score_report()
    names = [line.name for line in report.lines]
    assert names == ["forest", "gaussian", "kernel", "networks", "pool"]
    assert report.n_rows == len(np.unique(np.column_stack([X, y]), axis=0)) + 1
    assert all(0.0 < line.rmse < 0.4 for line in report.lines)
    assert "out of fold, 150 rows" in str(report)


@pytest.mark.parametrize("effort", ["fast", "balanced"])
def test_boosting_is_in_the_out_of_fold_probabilities_and_the_last_line_of_the_report(
    effort: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = hidden_rule(rng, 1400)
    given: list[np.ndarray] = []
    judge = PoolWeights.fit_and_judge

    def note(*options: Any, **signs: Any) -> tuple[PoolWeights, np.ndarray]:
        weights, pooled = judge(*options, **signs)
        given.append(pooled)
        return weights, pooled

    monkeypatch.setattr(PoolWeights, "fit_and_judge", note)
    model = without_booster(effort).fit(X[:700], y[:700])
    assert model.boosting_ is not None
    table = TrainingTable.read_uncut(model, X[:700], y[:700]).as_draws()
    pooled = table.to_given_rows(given[0]).astype(np.float32)
    boosted = (model.oof_proba_ != pooled).any(axis=1)
    # Of five folds as many are held out as there are boosters.
    assert boosted.sum() == {"fast": 280, "balanced": 700}[effort]
    *_, pool, boosting = model.score_report().lines
    assert (pool.name, boosting.name) == ("pool", "boosting")
    assert model.score_report().n_rows == boosted.sum()
    expected = cross_entropy(y[:700][boosted], model.oof_proba_[boosted])
    assert boosting.log_loss == pytest.approx(expected, rel=1e-6)
    assert boosting.log_loss < pool.log_loss
    # An honest estimate: about what new rows get.
    unseen = cross_entropy(y[700:], model.predict_proba(X[700:]))
    assert boosting.log_loss == pytest.approx(unseen, rel=0.25)


def test_a_time_limit_still_gives_a_pooled_model(rng: np.random.Generator) -> None:
    X, y = mixed_table(rng, 2000)
    hurried = PriorwiseClassifier(max_seconds=1e-9, random_state=0).fit(X, y)
    assert list(hurried.estimators_) == ["forest"]
    np.testing.assert_allclose(hurried.predict_proba(X).sum(axis=1), 1.0)
    assert hurried.explain(X[:3]).log_odds.shape == (3, 2)
    whole = PriorwiseClassifier(max_seconds=600, random_state=0).fit(X[:100], y[:100])
    assert list(whole.estimators_) == ["forest", "linear", "gaussian", "kernel", "networks"]


@pytest.mark.parametrize("n_rows", [2, 3, 5, 9, 24])
def test_few_rows_give_a_plain_model(n_rows: int, rng: np.random.Generator) -> None:
    X, _ = mixed_table(rng, n_rows)
    y = np.arange(n_rows) % 2
    model = PriorwiseClassifier("fast", random_state=0).fit(X, y)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert np.isfinite(proba).all()


def test_classes_of_one_row_and_many_classes_break_nothing(rng: np.random.Generator) -> None:
    X = rng.normal(size=(230, 4))
    y = np.concatenate([np.arange(100), np.zeros(130, dtype=int)])
    model = PriorwiseClassifier("fast", random_state=0).fit(X, y)
    assert model.predict_proba(X).shape == (230, 100)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_unseen_labels_missing_values_and_weights(rng: np.random.Generator) -> None:
    X, y = mixed_table(rng, 200)
    weight = rng.integers(0, 3, 200).astype(float)
    model = PriorwiseClassifier("fast", random_state=0).fit(X, y, sample_weight=weight)
    strange = pd.DataFrame(
        {"number": [np.nan], "gappy": [1e9], "colour": ["violet"], "noise": [None]}
    )
    assert np.isfinite(model.predict_proba(strange)).all()
    with pytest.raises(ValueError, match="colour"):
        PriorwiseClassifier("fast", unseen="error").fit(X, y).predict_proba(strange)


def test_bad_parameters_are_named() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(ValueError, match=r"effort must be one of .*got 'huge'"):
        PriorwiseClassifier("huge").fit(X, y)
    with pytest.raises(ValueError, match="max_seconds"):
        PriorwiseClassifier(max_seconds=-1.0).fit(X, y)
    with pytest.raises(ValueError, match="sample_weight"):
        PriorwiseClassifier().fit(X, y, sample_weight=-np.ones(len(y)))


def test_importances_are_shares_of_the_contributions(rng: np.random.Generator) -> None:
    X = rng.normal(size=(150, 3))
    y = (X[:, 1] > 0).astype(int)
    model = PriorwiseClassifier("fast", random_state=0).fit(X, y)
    sizes = model.explain_global(X).importance
    np.testing.assert_allclose(model.feature_importances_, sizes / sizes.sum(), rtol=1e-9)
    assert model.feature_importances_.argmax() == 1


def test_the_report_says_why_a_weight_is_negative_and_boosting_missing() -> None:
    X, y = load_iris(return_X_y=True)
    report = PriorwiseClassifier("fast", random_state=0).fit(X, y).score_report()
    negative = [line.name for line in report.lines if (line.pool_weight or 0.0) < 0.0]
    assert negative
    for name in negative:
        assert f"{name} has a negative weight" in str(report)
    assert "no boosting: " in str(report)
