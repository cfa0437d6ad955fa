"""Odd tables and wrong arguments."""

import numpy as np
import pandas as pd
import pytest

from priorwise import (
    AODEClassifier,
    KDBClassifier,
    KDFClassifier,
    NaiveBayesClassifier,
    SelectiveKDBClassifier,
    SuperParentClassifier,
    TANClassifier,
)
from priorwise.structure import Network
from reference.network_cases import (
    ALL,
    ARITIES,
    FAMILIES,
    SINGLE,
    as_frame,
    each,
    fit,
    make_codes,
    make_mixed,
)


@each(ALL)
def test_a_row_of_unseen_values_is_answered_near_the_prior(model):
    codes, y = make_codes()
    y[:] = np.where(np.random.default_rng(0).random(len(y)) < 0.7, 0, y)
    fitted = fit(model, as_frame(codes), y)
    proba = fitted.predict_proba(as_frame(np.full((1, len(ARITIES)), 77)))
    np.testing.assert_allclose(proba.sum(), 1.0)
    assert proba.argmax() == np.bincount(y).argmax()


@each(ALL)
def test_more_features_than_rows(model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 30))
    y = np.arange(12) % 2
    proba = fit(model, X, y).predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)


@each(SINGLE)
def test_features_of_one_value_change_nothing(model):
    codes, y = make_codes()
    X = as_frame(codes)
    proba = fit(model, X, y).predict_proba(X)
    X["constant"], X["number"] = "same", 1.0
    np.testing.assert_allclose(fit(model, X, y).predict_proba(X), proba, rtol=1e-9)


@each(FAMILIES)
def test_a_feature_of_one_value_adds_a_network_and_leaves_the_others_as_they_are(model):
    codes, y = make_codes()
    X = as_frame(codes)
    before = fit(model, X, y)
    X["constant"] = "same"
    after = fit(model, X, y)
    assert len(after.estimators_) == len(before.estimators_) + 1
    columns = list(before.encoder_.transform(X[list(before.feature_names_in_)]))
    more = [*columns, np.zeros(len(y), dtype=np.int32)]
    for old, new in zip(before.estimators_, after.estimators_, strict=False):
        np.testing.assert_allclose(new.proba(more), old.proba(columns), rtol=1e-6)


@each(ALL)
def test_a_class_of_one_row_gets_a_small_probability_elsewhere(model):
    codes, y = make_codes()
    y = y % 2
    y[0] = 2
    proba = fit(model, as_frame(codes), y).predict_proba(as_frame(codes))
    assert 0 < proba[1:, 2].mean() < 0.1


@each(ALL)
def test_a_thousand_values_are_no_trouble(model):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1500)
    many = np.column_stack([rng.integers(0, 1000, 1500), y ^ (rng.random(1500) < 0.1)])
    fitted = fit(model, as_frame(many), y)
    assert (fitted.predict(as_frame(many)) == y).mean() > 0.8


def test_more_contexts_than_allowed_are_an_error_that_says_what_to_do():
    codes, y = make_codes()
    with pytest.raises(ValueError, match=r"max_contexts must be at least .* got 5 for \d+"):
        KDBClassifier(max_contexts=5).fit(as_frame(codes), y)


@each(ALL)
def test_columns_in_another_order_are_refused(model):
    X, y = make_mixed()
    fitted = fit(model, X, y)
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict_proba(X[X.columns[::-1]])


@each(ALL)
def test_numbers_are_the_labels_that_their_texts_are(model):
    codes, y = make_codes()
    labels = pd.DataFrame(codes).astype(str).astype("category").add_prefix("f")
    fitted = fit(model, labels, y)
    expected = fitted.predict_proba(labels)
    for numbers in (pd.DataFrame(codes), pd.DataFrame(codes.astype(float)).astype(object)):
        asked = numbers.add_prefix("f")
        np.testing.assert_array_equal(fitted.predict_proba(asked), expected)


@each(ALL)
def test_complex_numbers_are_refused(model):
    codes, y = make_codes()
    fitted = fit(model, as_frame(codes), y)
    with pytest.raises((TypeError, ValueError), match=r"[Cc]omplex"):
        fitted.predict_proba(np.array([[1 + 2j] * len(ARITIES)]))


@each(ALL)
@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.where(np.arange(150) == 3, np.nan, np.arange(150) % 2), "NaN"),
        (np.zeros(150, dtype=int), "at least 2 classes, got 1"),
        (np.linspace(0.0, 1.0, 150), "continuous"),
        (np.arange(149) % 2, "inconsistent"),
    ],
)
def test_bad_labels_are_refused(model, y, message):
    with pytest.raises(ValueError, match=message):
        fit(model, as_frame(make_codes()[0]), y)


@each(ALL)
def test_no_rows_are_refused(model):
    X, y = make_mixed()
    with pytest.raises(ValueError, match=r"0 sample|at least one row, got 0"):
        fit(model, X[:0], y[:0])


@each(ALL)
@pytest.mark.parametrize("weight", [-1.0, np.nan])
def test_bad_weights_are_refused(model, weight):
    X, y = make_mixed()
    weights = np.ones(len(y))
    weights[5] = weight
    with pytest.raises(ValueError, match=r"[Ww]eight"):
        fit(model, X, y, sample_weight=weights)


@each(ALL)
def test_weights_that_are_all_zero_are_refused(model):
    X, y = make_mixed()
    with pytest.raises(ValueError, match=r"zero for every row|at least one non-zero"):
        fit(model, X, y, sample_weight=np.zeros(len(y)))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (KDBClassifier(max_parents=-1), "max_parents must be a number at least 0, got -1"),
        (SuperParentClassifier(search_score="f1"), "search_score must be one of .* got 'f1'"),
        (SuperParentClassifier(evaluation="cv"), "evaluation must be one of .* got 'cv'"),
        (SelectiveKDBClassifier(selection_loss="hinge"), "selection_loss must be .* got 'hinge'"),
        (TANClassifier(smoothing="hpd"), "smoothing must be .* got 'hpd'"),
        (TANClassifier(structure=Network.naive(2)), "structure must have 6 features"),
        (AODEClassifier(min_frequency=-1), "min_frequency must be .* got -1"),
    ],
)
def test_wrong_parameters_are_refused_by_name(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(*make_mixed())


@pytest.mark.parametrize("model", [AODEClassifier(), KDFClassifier()], ids=["AODE", "KDF"])
def test_more_tables_than_allowed_are_refused_before_anything_is_counted(model, monkeypatch):
    def fail(*arguments, **options):
        raise AssertionError("counted")

    monkeypatch.setattr("priorwise.models.networks.table_rows.measure_rows", fail)
    monkeypatch.setattr("priorwise.structure.networks.network_counts.count_trees", fail)
    X = np.random.default_rng(0).normal(size=(20, 600))
    rule = f"max_tables of {type(model).__name__} must be .* got 250000 for 600 features"
    with pytest.raises(ValueError, match=rule):
        fit(model, X, np.arange(20) % 2)


def test_too_many_features_for_pairs_are_refused_by_name(monkeypatch):
    monkeypatch.setattr("priorwise.structure.networks.rows.MAX_PAIR_FEATURES", 5)
    X, y = make_mixed()
    for model in (TANClassifier(), KDBClassifier(), SelectiveKDBClassifier()):
        with pytest.raises(ValueError, match=r"X must have at most 5 features .* got 6"):
            fit(model, X, y)
    fit(NaiveBayesClassifier(), X, y)
