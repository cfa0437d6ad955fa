"""Rows to which unsmoothed counts give the probability zero in every class."""

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from priorwise import (
    AODEClassifier,
    ESKDBClassifier,
    KDBClassifier,
    KDFClassifier,
    NaiveBayesClassifier,
    SelectiveKDBClassifier,
    SuperParentClassifier,
    TANClassifier,
)
from priorwise._core import normalise_joint

MODELS: list[Any] = [
    NaiveBayesClassifier("mle"),
    TANClassifier("mle"),
    KDBClassifier(smoothing="mle"),
    SelectiveKDBClassifier(smoothing="mle", selection_loss="log"),
    AODEClassifier(smoothing="mle"),
    KDFClassifier(smoothing="mle"),
    SuperParentClassifier(smoothing="mle"),
    ESKDBClassifier(5, recipe="thesis", smoothing="mle", random_state=0),
    ESKDBClassifier(5, smoothing="mle", random_state=0),
]


def each(models: list[Any]) -> Any:
    return pytest.mark.parametrize("model", models, ids=lambda model: type(model).__name__)


@each(MODELS)
def test_unsmoothed_networks_give_rows_that_sum_to_one(model: Any) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    proba = model.fit(X[::2, :12], y[::2]).predict_proba(X[1::2, :12])
    assert np.isfinite(proba).all()
    assert (proba >= 0.0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)


@each(MODELS[:3] + MODELS[4:7])
def test_an_impossible_row_gets_the_class_prior(model: Any) -> None:
    # Each class has one value of both columns: the mixed row is impossible in either.
    X = np.array([["a", "a"]] * 6 + [["b", "b"]] * 2, dtype=object)
    y = np.repeat([0, 1], [6, 2])
    proba = model.fit(X, y).predict_proba(np.array([["a", "b"], ["a", "a"]], dtype=object))
    np.testing.assert_allclose(proba, [[0.75, 0.25], [1.0, 0.0]], rtol=1e-12)


def test_only_rows_that_are_impossible_in_every_class_get_the_prior() -> None:
    log_prior = np.log([0.5, 0.3, 0.2])
    joint = np.array([[-np.inf] * 3, [-np.inf, -3.0, -np.inf], [-2000.0, -2000.0, -np.inf]])
    expected = [[0.5, 0.3, 0.2], [0.0, 1.0, 0.0], [0.5, 0.5, 0.0]]
    np.testing.assert_allclose(normalise_joint(joint, log_prior), expected, rtol=1e-12)
