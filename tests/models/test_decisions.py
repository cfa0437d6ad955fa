"""Decisions from probabilities: against brute force, and what they promise."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import TunedThresholdClassifierCV

from priorwise import (
    KDBClassifier,
    NaiveBayesClassifier,
    PriorwiseClassifier,
    ProbabilityForestClassifier,
)
from priorwise.models.decisions import ALL_CLASSES, find_threshold, summarise_scores

LABELS = np.array(["low", "middle", "top"])


def make_rows(n_rows: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Three classes that two columns tell apart in part."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, n_rows, p=[0.6, 0.3, 0.1])
    number, code = rng.normal(size=n_rows) + y, (y + rng.integers(0, 3, n_rows)) % 4
    return pd.DataFrame({"x": number, "c": np.array(list("abcd"))[code]}), LABELS[y]


@pytest.fixture(scope="module")
def model() -> KDBClassifier:
    return KDBClassifier().fit(*make_rows(500))


def slow_cost(proba: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """Expected cost of each class, by two loops."""
    return np.array([sum(p * cost[i, j] for i, p in enumerate(proba)) for j in range(3)])


@pytest.mark.parametrize("by_row", [False, True])
@pytest.mark.parametrize("limit", [None, 0.4, np.inf])
def test_the_class_of_the_least_expected_cost_is_predicted(
    model: KDBClassifier, by_row: bool, limit: float | None, rng: np.random.Generator
) -> None:
    X, _ = make_rows(60, seed=1)
    cost = (
        rng.random((60, 3, 3))
        if by_row
        else np.array([[0.0, 2.0, 1.0], [1.0, 0.1, 3.0], [5, 2, 0]])
    )
    labels = model.predict(X, cost, reject_above=limit)
    for row, proba in enumerate(model.predict_proba(X)):
        costs = slow_cost(proba, cost[row] if by_row else cost)
        rejected = limit is not None and costs.min() > limit
        assert labels[row] == (None if rejected else LABELS[costs.argmin()])
    if limit == 0.4:
        assert 0 < sum(label is None for label in labels) < 60


def test_without_costs_the_chance_of_an_error_decides_on_rejection(model: KDBClassifier) -> None:
    X, _ = make_rows(100, seed=1)
    labels, surest = model.predict(X, reject_above=0.3), model.predict_proba(X).max(axis=1)
    assert [label is None for label in labels] == (1.0 - surest > 0.3).tolist()
    assert (labels == model.predict(X))[surest >= 0.7].all()


@pytest.mark.parametrize("classifier", [KDBClassifier(), PriorwiseClassifier("fast")], ids=repr)
def test_another_prior_is_bayes_rule_with_the_shares_of_training(classifier) -> None:
    X, y = make_rows(300)
    model, (few, _) = classifier.fit(X, y), make_rows(40, seed=1)
    prior = {"top": 0.5, "low": 0.3, "middle": 0.2}
    shares = pd.Series(y).value_counts(normalize=True)
    joint = model.predict_proba(few) * [prior[label] / shares[label] for label in LABELS]
    changed = model.predict_proba(few, class_prior=prior)
    np.testing.assert_allclose(changed, joint / joint.sum(axis=1, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(
        model.predict_proba(few, class_prior=shares[LABELS].to_numpy()),
        model.predict_proba(few),
        rtol=1e-12,
    )
    assert (model.predict(few, class_prior=prior) == LABELS[changed.argmax(axis=1)]).all()


def test_naive_bayes_with_another_prior_is_naive_bayes_of_weighted_classes() -> None:
    # With unsmoothed tables the features of a class do not depend on how many rows it has.
    X, y = make_rows(400)
    X = X[["c"]]
    weight = {"low": 0.5, "middle": 1.5, "top": 4.0}
    plain = NaiveBayesClassifier(smoothing="mle").fit(X, y)
    heavy = NaiveBayesClassifier(smoothing="mle", class_weight=weight).fit(X, y)
    prior = heavy.class_count_ / heavy.class_count_.sum()
    np.testing.assert_allclose(
        plain.predict_proba(X, class_prior=prior), heavy.predict_proba(X), rtol=1e-9
    )


def test_batches_add_up_their_class_counts() -> None:
    X, y = make_rows(200)
    model = NaiveBayesClassifier()
    for part in (slice(0, 120), slice(120, 200)):
        model.partial_fit(X[part], y[part], classes=LABELS)
    assert model.class_count_.tolist() == [np.sum(y == label) for label in LABELS]
    streamed = NaiveBayesClassifier().fit_dataset(X.assign(y=y), target="y")
    assert streamed.class_count_.tolist() == model.class_count_.tolist()


@pytest.mark.parametrize(
    "wrong",
    [{"low": 1.0}, [0.5, 0.5], [0.5, 0.5, 0.5], [-0.5, 1.0, 0.5], [np.nan, 0.5, 0.5]],
    ids=repr,
)
def test_a_wrong_prior_is_refused_by_name(model: KDBClassifier, wrong: object) -> None:
    with pytest.raises(ValueError, match="class_prior must"):
        model.predict_proba(make_rows(3)[0], class_prior=wrong)


@pytest.mark.parametrize("wrong", [np.nan, "much", True, [0.5]], ids=repr)
def test_a_wrong_limit_is_refused_by_name(model: KDBClassifier, wrong: Any) -> None:
    with pytest.raises(ValueError, match="reject_above must be a number"):
        model.predict(make_rows(3)[0], reject_above=wrong)


def test_costs_of_another_number_of_rows_are_refused(model: KDBClassifier) -> None:
    with pytest.raises(ValueError, match="or so for each of 3 rows"):
        model.predict(make_rows(3)[0], np.zeros((4, 3, 3)))


def test_a_threshold_can_be_tuned_on_top() -> None:
    X, y = make_rows(300)
    tuned = TunedThresholdClassifierCV(NaiveBayesClassifier(), scoring="balanced_accuracy")
    is_top = y == "top"
    assert (
        tuned.fit(X, is_top).predict(X).sum()
        > NaiveBayesClassifier().fit(X, is_top).predict(X).sum()
    )


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.3])
def test_sets_contain_the_class_of_as_many_rows_as_asked(alpha: float) -> None:
    X, y = make_rows(3_000)
    new, truth = make_rows(4_000, seed=1)
    model = ProbabilityForestClassifier(n_estimators=50, random_state=0).fit(X, y)
    sets = model.prediction_set(new, alpha)
    covered = sets[np.arange(len(truth)), np.searchsorted(LABELS, truth)].mean()
    assert covered == pytest.approx(1.0 - alpha, abs=0.02)  # three standard deviations


def test_sets_of_a_model_that_is_wrong_still_contain_the_class() -> None:
    # The model has learnt from labels that were shuffled; only calibration knows better.
    X, y = make_rows(2_000)
    model = NaiveBayesClassifier().fit(X, np.random.default_rng(0).permutation(y))
    new, truth = make_rows(4_000, seed=1)
    sets = model.calibrate_sets(X, y).prediction_set(new, 0.1)
    covered = sets[np.arange(len(truth)), np.searchsorted(LABELS, truth)].mean()
    assert covered == pytest.approx(0.9, abs=0.025)


def test_rows_of_equal_probabilities_have_sets_of_their_own() -> None:
    X = np.arange(600.0)[:, None]
    y = X[:, 0] >= 300.0
    model = NaiveBayesClassifier().fit(X, y).calibrate_sets(X, y)
    assert len(np.unique(model.predict_proba(X), axis=0)) == 2
    covered = model.prediction_set(X + 0.25, 0.3)[np.arange(600), y.astype(int)].mean()
    assert covered == pytest.approx(0.7, abs=0.06)


def test_another_model_misses_other_rows() -> None:
    X = np.arange(600.0)[:, None]
    y = X[:, 0] >= 300.0
    model = NaiveBayesClassifier().fit(X, y)
    missed = []
    for step in (2, 3):
        other = copy(model).calibrate_sets(X[::step], y[::step])
        missed.append(~other.prediction_set(X + 0.25, 0.3)[np.arange(600), y.astype(int)])
    by_chance = missed[0].mean() * missed[1].mean()
    assert (missed[0] & missed[1]).mean() == pytest.approx(by_chance, abs=0.05)


def test_sets_grow_with_the_share_asked_for_and_a_row_keeps_its_set() -> None:
    X, y = make_rows(600)
    model = ProbabilityForestClassifier(n_estimators=20, random_state=0).fit(X, y)
    small, large = model.prediction_set(X, 0.3), model.prediction_set(X, 0.05)
    assert (small <= large).all()
    assert small.sum() < large.sum()
    np.testing.assert_array_equal(model.prediction_set(X[5:9], 0.3), small[5:9])


def test_a_model_without_rows_it_has_not_seen_says_what_to_do(model: KDBClassifier) -> None:
    with pytest.raises(ValueError, match=r"call calibrate_sets\(X, y\) with such rows first"):
        model.prediction_set(make_rows(3)[0])


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, "x"])
def test_a_wrong_share_is_refused_by_name(model: KDBClassifier, alpha: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="alpha must be"):
        model.prediction_set(make_rows(3)[0], alpha)


def test_few_rows_give_sets_of_all_classes_where_nothing_else_is_sure() -> None:
    X, y = make_rows(30)
    model = NaiveBayesClassifier().fit(X, y)
    model.calibrate_sets(X[:5], y[:5])
    assert model.prediction_set(X, 0.05).all()


@pytest.mark.parametrize("n_rows", [20, 500, 30_000])
def test_thresholds_of_certain_rows_are_the_shares_that_are_asked_for(n_rows: int) -> None:
    # With probability one of the true class the score of a row is u, so a share t is below t.
    proba = np.tile([1.0, 0.0], (n_rows, 1))
    summary = summarise_scores(proba, np.zeros(n_rows, dtype=np.int32), np.ones(n_rows))
    for alpha in (0.1, 0.2, 0.5):
        expected = (1.0 - alpha) * (n_rows + 1) / n_rows
        assert find_threshold(summary, alpha, ALL_CLASSES) == pytest.approx(expected, abs=1e-3)


def test_sets_by_class_hold_the_rare_class_as_often_as_they_say(rng: np.random.Generator) -> None:
    def draw(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
        y = (rng.random(n_rows) < 0.08).astype(int)
        return np.column_stack([rng.normal(size=n_rows) + 1.2 * y, rng.normal(size=n_rows)]), y

    model = NaiveBayesClassifier().fit(*draw(500)).calibrate_sets(*draw(8_000))
    X, y = draw(20_000)
    for by_class in (False, True):
        sets = model.prediction_set(X, 0.1, by_class=by_class)
        held = [sets[y == k, k].mean() for k in range(2)]
        if by_class:
            np.testing.assert_allclose(held, 0.9, rtol=0, atol=0.03)
        else:
            assert held[1] < 0.6
            assert sets[np.arange(len(y)), y].mean() == pytest.approx(0.9, abs=0.02)


def test_a_class_of_few_rows_is_in_all_sets_by_class() -> None:
    X, y = make_rows(300)
    y = np.where(np.arange(300) < 5, "rare", np.where(np.asarray(y) == np.asarray(y)[0], "a", "b"))
    model = NaiveBayesClassifier().fit(X, y)
    sets = model.calibrate_sets(X, y).prediction_set(X, 0.1, by_class=True)
    assert sets[:, model.classes_.tolist().index("rare")].all()
