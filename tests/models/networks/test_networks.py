"""One contract for every network classifier."""

import pickle

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from models.networks.cases import (
    ALL,
    ARITIES,
    FIXED,
    RANDOM,
    as_frame,
    each,
    fit,
    make_codes,
    make_mixed,
)
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


@each(FIXED)
def test_weight_two_is_the_row_twice(model):
    X, y = make_mixed()
    times = np.random.default_rng(1).integers(1, 4, len(y))
    rows = np.repeat(np.arange(len(y)), times)
    weighted = fit(model, X, y, sample_weight=times)
    repeated = fit(model, X.iloc[rows], y[rows])
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-7)


@each(FIXED)
def test_weight_zero_is_absence(model):
    X, y = make_mixed()
    kept = np.random.default_rng(1).random(len(y)) < 0.7
    weighted = fit(model, X, y, sample_weight=kept.astype(float))
    without = fit(model, X[kept], y[kept])
    np.testing.assert_allclose(weighted.predict_proba(X), without.predict_proba(X), rtol=1e-9)


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


CHAIN = Network.from_parents([[], [0], [1, 0], [2], []])


@pytest.mark.parametrize(
    "model",
    [
        NaiveBayesClassifier(),
        TANClassifier(structure=CHAIN),
        KDBClassifier(structure=CHAIN),
        AODEClassifier(),
    ],
    ids=["naive Bayes", "TAN", "kDB", "AODE"],
)
@pytest.mark.parametrize("smoothing", ["hdp", "laplace"])
def test_batches_give_the_model_of_all_rows(model, smoothing):
    codes, y = make_codes()
    X = as_frame(codes)
    model = clone(model).set_params(smoothing=smoothing)
    whole = fit(model, X, y)
    # The first batch lacks values and a class that later ones bring.
    order = np.argsort(codes[:, 2] + 10 * (y == 2), kind="stable")
    stream = clone(model)
    for rows in np.array_split(order, 4):
        stream.partial_fit(X.iloc[rows], y[rows], classes=[0, 1, 2])
    # Which of two equal sums is smoothed first differs with the codes, not on paper.
    np.testing.assert_allclose(stream.predict_proba(X), whole.predict_proba(X), rtol=1e-6)


def test_only_fixed_structures_have_partial_fit():
    assert hasattr(NaiveBayesClassifier(), "partial_fit")
    assert hasattr(KDBClassifier(structure=CHAIN), "partial_fit")
    for model in (TANClassifier(), KDBClassifier(), SelectiveKDBClassifier()):
        assert not hasattr(model, "partial_fit")


@each(ALL)
def test_more_features_than_rows(model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 30))
    y = np.arange(12) % 2
    proba = fit(model, X, y).predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)


@each(ALL)
def test_features_of_one_value_change_nothing(model):
    codes, y = make_codes()
    X = as_frame(codes)
    proba = fit(model, X, y).predict_proba(X)
    X["constant"], X["number"] = "same", 1.0
    fitted = fit(model, X, y)
    if model in RANDOM.values():
        np.testing.assert_allclose(fitted.predict_proba(X).sum(axis=1), 1.0, rtol=1e-12)
    else:
        again = fitted.predict_proba(X)
        if isinstance(model, AODEClassifier | KDFClassifier):
            # They start a network from the constant too.
            assert np.abs(again - proba).max() < 0.5
        else:
            np.testing.assert_allclose(again, proba, rtol=1e-9)


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
def test_a_number_where_training_had_labels_is_not_mistaken_for_one(model):
    codes, y = make_codes()
    fitted = fit(model, as_frame(codes), y)
    with pytest.raises((TypeError, ValueError)):
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
    with pytest.raises(ValueError, match="0"):
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


def test_the_score_of_a_superparent_search_does_not_hide_the_accuracy():
    X, y = make_mixed()
    model = fit(SuperParentClassifier("auc"), X, y)
    assert model.get_params()["search_score"] == "auc"
    assert model.score(X, y) == (model.predict(X) == y).mean()


def test_networks_decide_by_expected_cost() -> None:
    X = [["a"]] * 7 + [["b"]] * 3
    y = ["no"] * 5 + ["yes"] * 2 + ["no", "yes", "yes"]
    model = NaiveBayesClassifier().fit(X, y)
    assert model.predict([["a"]]).tolist() == ["no"]
    # Missing a yes costs twenty times as much as a false alarm.
    assert model.predict([["a"]], cost_matrix=[[0, 1], [20, 0]]).tolist() == ["yes"]
    with pytest.raises(ValueError, match="cost_matrix must have a row and a column for each of 2"):
        model.predict([["a"]], cost_matrix=[[0, 1]])
