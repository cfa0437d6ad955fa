from importlib.metadata import version

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB

from priorwise.evaluation import (
    HIGHER_IS_BETTER,
    SCORERS,
    SCORES,
    brier,
    conditional_log_likelihood,
    cross_entropy,
    hand_till_auc,
    kl_divergence,
    probability_scorer,
    rmse,
    zero_one_loss,
)

ALL = sorted(SCORES)


def draw_predictions(seed, n_rows=60, n_classes=4, decimals=None):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.ones(n_classes), size=n_rows)
    if decimals is not None:  # make ties
        proba = np.round(proba, decimals)
        proba[:, -1] = 1 - proba[:, :-1].sum(axis=1)
        proba = np.clip(proba, 0, None) / np.clip(proba, 0, None).sum(axis=1, keepdims=True)
    return rng.integers(n_classes, size=n_rows), proba, rng.integers(0, 4, size=n_rows)


def slow_rmse(y, proba):
    total = 0.0
    for i, row in enumerate(proba):
        for k, p in enumerate(row):
            total += (p - (1.0 if y[i] == k else 0.0)) ** 2
    return (total / (len(proba) * len(proba[0]))) ** 0.5


def slow_hand_till(y, proba):
    areas = []
    n_classes = proba.shape[1]
    for i in range(n_classes):
        for j in range(i + 1, n_classes):
            halves = []
            for own, other in ((i, j), (j, i)):
                wins = [
                    1.0 if a > b else 0.5 if a == b else 0.0
                    for a in proba[y == own, own]
                    for b in proba[y == other, own]
                ]
                halves.append(float(np.mean(wins)) if wins else np.nan)
            areas.append(np.mean(halves))
    return np.nanmean(areas)


def test_rmse_divides_by_rows_and_classes():
    y, proba, _ = draw_predictions(0)
    assert rmse(y, proba) == pytest.approx(slow_rmse(y, proba), abs=1e-12)
    assert rmse([0, 1, 2], np.eye(3)[[1, 2, 0]]) == pytest.approx(np.sqrt(2 / 3))


@pytest.mark.skipif(version("scikit-learn") < "1.8", reason="needs scikit-learn 1.8")
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_brier_is_that_of_scikit_learn(n_classes):
    y, proba, weight = draw_predictions(n_classes, n_classes=n_classes)
    labels = np.arange(n_classes)
    shown = proba[:, 1] if n_classes == 2 else proba
    expected = brier_score_loss(y, shown, sample_weight=weight, labels=labels)
    assert brier(y, proba, sample_weight=weight, labels=labels) == pytest.approx(expected)


def test_rmse_is_the_root_of_brier_over_classes():
    y, proba, _ = draw_predictions(1)
    assert rmse(y, proba) == pytest.approx(np.sqrt(brier(y, proba) / 4))


@settings(max_examples=settings().max_examples * 3 // 10)
@given(st.integers(0, 10**6), st.sampled_from([None, 1]))
def test_hand_till_agrees_with_counting_every_pair_of_rows(seed, decimals):
    y, proba, _ = draw_predictions(seed, decimals=decimals)
    y[:4] = range(4)
    assert hand_till_auc(y, proba) == pytest.approx(slow_hand_till(y, proba), abs=1e-12)


def test_hand_till_agrees_with_scikit_learn():
    y, proba, _ = draw_predictions(2)
    expected = roc_auc_score(y, proba, multi_class="ovo", average="macro")
    assert hand_till_auc(y, proba) == pytest.approx(expected)
    binary = proba[:, :2] / proba[:, :2].sum(axis=1, keepdims=True)
    y = y % 2
    assert hand_till_auc(y, binary) == pytest.approx(roc_auc_score(y, binary[:, 1]))


def test_hand_till_leaves_out_pairs_without_rows():
    y, proba, _ = draw_predictions(3)
    keep = y != 2
    pairs = [(0, 1), (0, 3), (1, 3)]
    areas = []
    for i, j in pairs:
        rows = (y == i) | (y == j)
        areas.append(
            (roc_auc_score(y[rows] == i, proba[rows, i]))
            + (roc_auc_score(y[rows] == j, proba[rows, j]))
        )
    expected = np.mean(areas) / 2
    assert hand_till_auc(y[keep], proba[keep], labels=range(4)) == pytest.approx(expected)
    assert np.isnan(hand_till_auc([1, 1], [[0.5, 0.5], [0.1, 0.9]], labels=[0, 1]))


def test_cross_entropy_is_log_loss_and_cll_is_its_sum():
    y, proba, _ = draw_predictions(4)
    assert cross_entropy(y, proba) == pytest.approx(log_loss(y, proba))
    bits = conditional_log_likelihood(y, proba)
    assert bits == pytest.approx(-60 * cross_entropy(y, proba, base="bits"))
    nats = conditional_log_likelihood(y, proba, base="nats")
    assert nats == pytest.approx(bits * np.log(2))


def test_a_true_class_of_probability_zero_costs_infinity():
    proba = [[1.0, 0.0], [0.5, 0.5]]
    assert cross_entropy([1, 0], proba) == np.inf
    assert kl_divergence([1, 0], proba) == np.inf
    assert conditional_log_likelihood([1, 0], proba) == -np.inf
    assert np.isfinite(cross_entropy([1, 0], proba, labels=[0, 1], sample_weight=[0, 1]))


def test_divergence_is_cross_entropy_less_entropy():
    rng = np.random.default_rng(5)
    truth, proba = rng.dirichlet(np.ones(3), size=20), rng.dirichlet(np.ones(3), size=20)
    entropy = cross_entropy(truth, truth)
    assert kl_divergence(truth, proba) == pytest.approx(cross_entropy(truth, proba) - entropy)
    assert kl_divergence(truth, truth) == 0
    y, proba, _ = draw_predictions(6)
    assert kl_divergence(y, proba) == pytest.approx(cross_entropy(y, proba))


def test_error_counts_rows_whose_top_class_is_wrong():
    y, proba, _ = draw_predictions(7)
    assert zero_one_loss(y, proba) == np.mean(proba.argmax(axis=1) != y)


@pytest.mark.parametrize("name", ALL)
def test_weight_two_equals_a_row_twice_and_weight_zero_none(name):
    y, proba, weight = draw_predictions(8, decimals=2)
    weight[:8] = [1, 2, 3, 1, 1, 2, 2, 1]
    y[:8] = [0, 1, 2, 3, 0, 1, 2, 3]
    weighted = SCORES[name](y, proba, sample_weight=weight)
    repeated = SCORES[name](np.repeat(y, weight), np.repeat(proba, weight, axis=0))
    assert weighted == pytest.approx(repeated)


@pytest.mark.parametrize("name", ALL)
def test_renaming_the_classes_changes_nothing(name):
    y, proba, _ = draw_predictions(9)
    order = [2, 0, 3, 1]
    names = np.array(["w", "x", "y", "z"])
    renamed = SCORES[name](names[y], proba[:, order], labels=names[order])
    assert renamed == pytest.approx(SCORES[name](y, proba))


@pytest.mark.parametrize("name", ALL)
def test_every_scorer_works_in_cross_val_score(name):
    for load in (load_iris, load_breast_cancer):
        X, y = load(return_X_y=True)
        scores = cross_val_score(GaussianNB(), X, y, cv=3, scoring=SCORERS[name])
        model = GaussianNB().fit(X[::2], y[::2])
        sign = 1 if name in HIGHER_IS_BETTER else -1
        expected = sign * SCORES[name](y[1::2], model.predict_proba(X[1::2]))
        assert SCORERS[name](model, X[1::2], y[1::2]) == pytest.approx(expected)
        assert np.isfinite(scores).all()


def test_a_scorer_handles_folds_that_lack_a_class():
    X, y = load_iris(return_X_y=True)
    model = GaussianNB().fit(X, y)
    some = y != 1
    score = SCORERS["brier"](model, X[some], y[some])
    assert score == pytest.approx(-brier(y[some], model.predict_proba(X[some]), labels=[0, 1, 2]))
    partial = GaussianNB().fit(X[some], y[some])
    padded = np.insert(partial.predict_proba(X), 1, 0.0, axis=1)
    assert SCORERS["brier"](partial, X, y) == pytest.approx(-brier(y, padded))


def test_a_scorer_passes_weights_and_options_on():
    X, y = load_iris(return_X_y=True)
    model, weight = GaussianNB().fit(X, y), np.arange(150)
    expected = -cross_entropy(y, model.predict_proba(X), sample_weight=weight, base="bits")
    scorer = probability_scorer("cross_entropy", base="bits")
    assert scorer(model, X, y, sample_weight=weight) == pytest.approx(expected)


GOOD = [[0.5, 0.5], [0.1, 0.9]]


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y_true": [0, 1], "proba": [[0.5, 0.6], [0.1, 0.9]]}, "row 0 sums to 1.1"),
        ({"y_true": [0, 1], "proba": [[0.5, 0.5], [np.nan, 0.9]]}, "finite.*row 1"),
        ({"y_true": [0, 1], "proba": [[1.2, -0.2], [0.1, 0.9]]}, r"\[0, 1\]"),
        ({"y_true": [0, 1, 1], "proba": GOOD}, r"one row per row of y_true \(3\), got 2"),
        ({"y_true": [], "proba": np.zeros((0, 2))}, "at least one row"),
        ({"y_true": [0, 0], "proba": [[1.0], [1.0]]}, "at least two columns"),
        ({"y_true": [0, 0], "proba": np.zeros((2, 2, 2))}, "one or two dimensions"),
        ({"y_true": [0, 0], "proba": GOOD}, "pass labels"),
        ({"y_true": [0, 2], "proba": GOOD, "labels": [0, 1]}, "label 2"),
        ({"y_true": [0, 1], "proba": GOOD, "labels": [0, 0]}, "distinct"),
        ({"y_true": [0, 1], "proba": GOOD, "labels": [0, 1, 2]}, "2 columns"),
        ({"y_true": [0.0, np.nan], "proba": GOOD}, "missing"),
        (
            {"y_true": [0, 1], "proba": GOOD, "sample_weight": [1, -1]},
            "got -1.0 in row 1",
        ),
        ({"y_true": [0, 1], "proba": GOOD, "sample_weight": [1]}, r"shape \(2,\)"),
        ({"y_true": [0, 1], "proba": GOOD, "sample_weight": [0, 0]}, "not be zero for every row"),
        ({"y_true": [0, 1], "proba": GOOD, "sample_weight": [1, np.inf]}, "finite"),
    ],
)
def test_a_wrong_argument_is_named(name, arguments, message):
    with pytest.raises(ValueError, match=message):
        SCORES[name](**arguments)


def test_units_and_score_names_are_checked():
    with pytest.raises(ValueError, match="base must be one of 'nats', 'bits', got 'hartleys'"):
        cross_entropy([0, 1], GOOD, base="hartleys")
    with pytest.raises(ValueError, match="name must be one of"):
        probability_scorer("accuracy")
    with pytest.raises(ValueError, match="same shape"):
        kl_divergence([[0.5, 0.25, 0.25]], [[0.5, 0.5]])
