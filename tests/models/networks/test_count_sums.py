"""The counts of fitted networks add up, are taken away, and fade."""

from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from priorwise import (
    AODEClassifier,
    KDBClassifier,
    NaiveBayesClassifier,
    SelectiveKDBClassifier,
    TANClassifier,
)
from priorwise.structure import Network

CHAIN = Network.from_parents([[], [0], [1, 0]], feature_names=["a", "b", "c"])
MODELS = [
    NaiveBayesClassifier(),
    TANClassifier(structure=CHAIN, smoothing="m-estimate"),
    KDBClassifier(structure=CHAIN, missing="ignore"),
    AODEClassifier(smoothing="laplace"),
]


@pytest.fixture
def months(rng):
    """Two parts of nominal rows; each has labels, and the second a class, of its own."""
    y = np.repeat([0, 1, 2], [60, 60, 20])
    a = np.where(rng.random(140) < 0.6, y, rng.integers(4, size=140))
    frame = pd.DataFrame({"a": a, "b": np.where(rng.random(140) < 0.5, a, 1), "c": y % 2})
    frame = frame.astype(str).map(lambda value: f"v{value}").astype(object)
    frame.loc[[3, 7], "a"], frame.loc[[126, 130], "b"], frame.loc[[1, 135], "c"] = "B", "A", None
    y = y.astype(float)
    return [(frame[:90], y[:90]), (frame[90:], y[90:])]


def assert_same(found, expected, X):
    np.testing.assert_array_equal(found.classes_, expected.classes_)
    np.testing.assert_array_equal(found.class_count_, expected.class_count_)
    for mine, yours in zip(found.encoder_.categories_, expected.encoder_.categories_, strict=True):
        assert mine.labels == yours.labels
        assert mine.counts == yours.counts
    np.testing.assert_allclose(
        found.predict_proba(X), expected.predict_proba(X), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_models_of_parts_add_up_and_a_part_taken_away_was_never_seen(model, months):
    (first, first_y), (second, second_y) = months
    X, y = pd.concat([first, second]), np.concatenate([first_y, second_y])
    parts = [clone(model).fit(*month) for month in months]
    before = parts[1].predict_proba(second)
    joined = deepcopy(parts[0]).merge(parts[1])
    assert_same(joined, clone(model).fit(X, y), X)
    np.testing.assert_array_equal(parts[1].predict_proba(second), before)
    # Every other row, among them all that have a label of their own.
    always = pd.concat([first, second[1::2]]), np.concatenate([first_y, second_y[1::2]])
    rest = second[::2], second_y[::2]
    expected = clone(model).fit(*always)
    assert_same(deepcopy(joined).subtract(clone(model).fit(*rest)), expected, X)
    assert_same(deepcopy(joined).forget(*rest), expected, X)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_counts_that_fade_are_rows_of_less_weight(model, months):
    first, first_y = months[0]
    fit = clone(model).fit(first, first_y)
    expected = clone(model).fit(first, first_y, sample_weight=np.full(len(first_y), 0.5))
    assert_same(fit.decay(0.5), expected, first)


@pytest.mark.filterwarnings("ignore:.* were never seen in training:UserWarning")
def test_a_learnt_structure_counts_on_and_cut_points_are_shared(rng):
    X = rng.normal(size=(300, 4)).round(1)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = (np.nansum(X[:, :2], axis=1) > 0).astype(int)
    for model in (TANClassifier(), SelectiveKDBClassifier(2)):
        model.fit(X[:100], y[:100])
        a = deepcopy(model).partial_fit(X[100:200], y[100:200])
        b = deepcopy(model).partial_fit(X[200:], y[200:])
        whole = deepcopy(a).partial_fit(X[200:], y[200:])
        joined = a.merge(b).subtract(model)
        assert_same(joined, whole, X)
        assert joined.class_count_.sum() == 300


def test_what_does_not_add_up_is_refused_and_changes_nothing(months, rng):
    (first, y), (second, second_y) = months
    model = NaiveBayesClassifier().fit(first, y)
    before = model.predict_proba(first)
    with pytest.raises(TypeError, match="others must be NaiveBayesClassifiers, got AODEClassifier"):
        model.merge(AODEClassifier().fit(first, y))
    with pytest.raises(ValueError, match="other must hold rows that were counted"):
        model.forget(second, np.where(second_y == 2, 1, second_y))
    with pytest.raises(ValueError, match="at least one row must be left"):
        model.subtract(deepcopy(model))
    with pytest.raises(ValueError, match="factor must"):
        model.decay(0)
    with pytest.raises(ValueError, match="keep_counts must be True"):
        model.merge(NaiveBayesClassifier(keep_counts=False).fit(first, y))
    np.testing.assert_array_equal(model.predict_proba(first), before)
    tans = [
        TANClassifier(structure=Network.from_parents(parents)).fit(first.to_numpy(), y)
        for parents in ([[], [0], [0]], [[], [0], [1]])
    ]
    with pytest.raises(ValueError, match="other must have the same structure"):
        tans[0].merge(tans[1])
    numbers = [
        NaiveBayesClassifier().fit(rng.normal(size=(90, 1)) + shift * y[:90, None], y[:90])
        for shift in (3, 5)
    ]
    with pytest.raises(ValueError, match="the same cut points of numbers"):
        numbers[0].merge(numbers[1])
