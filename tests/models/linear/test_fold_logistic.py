"""Logistic regression without each fold: no fold has a part in the weights that predict it."""

from __future__ import annotations

import numpy as np
import pytest

from priorwise.counts.draws import deal_into_folds
from priorwise.models.linear.fold_logistic import (
    FoldLogistic,
    PrincipalAxes,
    WeightPath,
    count_folds,
)
from priorwise.steps.linear.design import Design
from reference.linear.logistic import log_probabilities


@pytest.mark.parametrize("tolerance", [1e-3, 3e-4])
@pytest.mark.parametrize("n_rows", [150, 400, 2_500], ids=["5 folds", "10 folds", "1 searched"])
def test_labels_of_a_fold_have_no_part_in_its_weights(
    rng: np.random.Generator, n_rows: int, tolerance: float
) -> None:
    value = rng.normal(size=(n_rows, 3)).astype(np.float32)
    y = (value[:, 0] + rng.normal(size=n_rows) > 0).astype(np.int32)
    n_folds = count_folds("auto", n_rows, 2)
    fold = deal_into_folds(y, n_folds, rng).astype(np.int32)
    design = Design(np.empty((n_rows, 0), dtype=np.int32), value)

    def fit(labels: np.ndarray) -> np.ndarray:
        regression = FoldLogistic(design, 0, 2, labels, None, fold, 1)
        return regression.finish(regression.search((0.1,)), n_folds, tolerance)

    weights = fit(y)
    assert len(weights) == fold.max() + 1
    for held in range(len(weights)):
        other = np.where(fold == held, 1 - y, y).astype(np.int32)
        np.testing.assert_array_equal(fit(other)[held], weights[held])


@pytest.mark.parametrize("weighted", [False, True])
def test_a_turn_to_principal_axes_does_not_change_the_minimum(
    rng: np.random.Generator, weighted: bool
) -> None:
    value = rng.normal(size=(200, 4)).astype(np.float32)
    value[:, 3] = 3.0 + value[:, 0] + 0.1 * value[:, 3]  # much correlated, and not around zero
    y = rng.integers(3, size=200).astype(np.int32)
    weight = rng.integers(1, 4, size=200).astype(np.float64) if weighted else None
    index = rng.integers(-1, 2, size=(200, 1)).astype(np.int32)
    fold = (np.arange(200) % 5).astype(np.int32)
    plain = Design(index, value)
    axes = PrincipalAxes.find(value, weight)
    np.testing.assert_allclose(axes.axes.T @ axes.axes, np.eye(4), atol=1e-12)

    def fit(design: Design) -> np.ndarray:
        regression = FoldLogistic(design, 2, 3, y, weight, fold, 1)
        return regression.finish(regression.search((0.3,)), 5, 1e-9)

    turned = axes.turn_back(fit(axes.turn(plain)), 2)
    predict = FoldLogistic(plain, 2, 3, y, weight, fold, 1).predict
    np.testing.assert_allclose(predict(turned, fold), predict(fit(plain), fold), atol=2e-3)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n_values", [0, 3, 21])
def test_each_row_is_predicted_by_the_weights_of_its_fold(
    rng: np.random.Generator, n_classes: int, n_values: int
) -> None:
    n_rows, n_indicators = 50, 4
    index = rng.integers(-1, n_indicators, size=(n_rows, 2)).astype(np.int32)
    value = rng.normal(size=(n_rows, n_values)).astype(np.float32)
    fold = rng.integers(-1, 4, size=n_rows).astype(np.int32)
    y, weights = np.zeros(n_rows, np.int32), 9.0 * rng.normal(size=(3, n_classes, 5 + n_values))
    proba, others = (
        FoldLogistic(
            Design(index, value), n_indicators, n_classes, y, None, fold, n_threads
        ).predict(weights, fold)
        for n_threads in (1, 2)
    )
    np.testing.assert_array_equal(proba, others)
    assert np.isnan(proba[(fold < 0) | (fold == 3)]).all()
    for held in range(3):
        own = np.flatnonzero(fold == held)
        expected = log_probabilities(weights[held], index[own], value[own])
        np.testing.assert_allclose(np.log(proba[own]), expected, rtol=1e-4, atol=1e-4)


def test_a_path_of_weights_is_extended_evenly_with_the_logarithm_of_the_penalty() -> None:
    path = WeightPath(np.zeros(2))
    assert path.extend_to(10.0).tolist() == [0.0, 0.0]
    path.add(10.0, np.array([1.0, 2.0]))
    assert path.extend_to(1.0).tolist() == [1.0, 2.0]
    path.add(1.0, np.array([2.0, 5.0]))
    np.testing.assert_allclose(path.extend_to(0.1), [3.0, 8.0])
    np.testing.assert_allclose(path.extend_to(100.0), [0.0, -1.0], atol=1e-12)
