"""Weights of classes."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.utils.class_weight import compute_sample_weight

from priorwise import (
    KDBClassifier,
    NaiveBayesClassifier,
    PriorwiseClassifier,
    ProbabilityForestClassifier,
    ProbabilityTreeClassifier,
    SplineLogisticClassifier,
)

X, Y = load_breast_cancer(return_X_y=True)
X, Y = X[::3, :4], Y[::3]
MODELS = [
    NaiveBayesClassifier(),
    KDBClassifier(random_state=0),
    ProbabilityTreeClassifier(random_state=0),
    ProbabilityForestClassifier(5, random_state=0),
    SplineLogisticClassifier(random_state=0),
    PriorwiseClassifier("fast", random_state=0),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("class_weight", ["balanced", {0: 3.0}], ids=str)
def test_weights_of_classes_are_weights_of_their_rows(model, class_weight) -> None:
    weight = compute_sample_weight(class_weight, Y)
    expected = model.set_params(class_weight=None).fit(X, Y, weight).predict_proba(X)
    model.set_params(class_weight=class_weight).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-9, atol=1e-12)


def test_balanced_classes_count_weighted_rows() -> None:
    twice = np.where(np.arange(len(Y)) < 50, 2.0, 1.0)
    rows = np.repeat(np.arange(len(Y)), twice.astype(int))
    model = NaiveBayesClassifier(class_weight="balanced")
    expected = model.fit(X[rows], Y[rows]).predict_proba(X)
    np.testing.assert_allclose(model.fit(X, Y, twice).predict_proba(X), expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("class_weight", "rule"),
    [
        ("even", "class_weight must be 'balanced', a dict or None, got 'even'"),
        ({7: 1.0}, r"class_weight must name labels of y, \[0, 1\], got 7"),
        ({0: -1.0}, "class_weight of 0 must be a number at least 0, got -1"),
    ],
)
def test_wrong_weights_are_named(class_weight, rule) -> None:
    with pytest.raises(ValueError, match=rule):
        NaiveBayesClassifier(class_weight=class_weight).fit(X, Y)


def test_methods_that_see_a_part_of_the_rows_refuse_weights_of_classes() -> None:
    model = NaiveBayesClassifier(class_weight="balanced")
    frame = pd.DataFrame(X, columns=list("abcd")).assign(label=Y)
    with pytest.raises(ValueError, match="class_weight must be None for fit_dataset"):
        model.fit_dataset(frame, "label")
    with pytest.raises(ValueError, match="class_weight must be None for partial_fit"):
        model.partial_fit(X, Y)


def test_a_masked_cell_is_missing() -> None:
    mask = np.zeros(X.shape, dtype=bool)
    mask[5:60, 1] = True
    masked = np.ma.masked_array(X, mask=mask)
    filled = np.where(mask, np.nan, X)
    expected = NaiveBayesClassifier().fit(filled, Y)
    model = NaiveBayesClassifier().fit(masked, Y)
    np.testing.assert_array_equal(model.predict_proba(masked), expected.predict_proba(filled))
    labels = np.ma.masked_array([["a"], ["b"], ["x"]] * 5, mask=[[False], [False], [True]] * 5)
    fitted = NaiveBayesClassifier().fit(labels, [0, 1, 1] * 5)
    assert fitted.feature_schema_[0].labels == ("a", "b")
    whole = np.ma.masked_array([[1], [2], [-9]] * 5, mask=[[False], [False], [True]] * 5)
    assert NaiveBayesClassifier().fit(whole, [0, 1, 1] * 5).feature_schema_[0].least == 1.0
