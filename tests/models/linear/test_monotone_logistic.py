"""Logistic regression with monotone features."""

from __future__ import annotations

import numpy as np

from priorwise.models.linear.fold_logistic import FoldLogistic
from priorwise.models.linear.monotone_logistic import MonotoneFoldLogistic
from priorwise.steps.linear.design import Design


def make_rows(rng: np.random.Generator) -> tuple[Design, np.ndarray, np.ndarray, np.ndarray]:
    """Return a design of two indicators and three values, classes, weights and folds."""
    index = rng.integers(-1, 2, (200, 1)).astype(np.int32)
    value = rng.normal(size=(200, 3)).astype(np.float32)
    y = (value[:, 0] - value[:, 1] + index[:, 0] + rng.normal(size=200) > 0).astype(np.int32)
    return Design(index, value), y, rng.uniform(0.5, 2.0, 200), (np.arange(200) % 5).astype("i4")


def test_without_directions_the_weights_are_those_of_the_kernel(rng: np.random.Generator) -> None:
    design, y, weight, fold = make_rows(rng)
    rows = design, 2, 2, y, weight, fold, 1
    found = [np.zeros((5, 2, 6)) for _ in range(2)]
    FoldLogistic(*rows)._fit(1.0, found[0], fold, 1e-8)
    MonotoneFoldLogistic(*rows, np.zeros(3, dtype=np.int64))._fit(1.0, found[1], fold, 1e-8)
    np.testing.assert_allclose(found[1], found[0], atol=1e-3)


def test_a_weight_against_its_direction_is_zero_and_the_others_are_best(
    rng: np.random.Generator,
) -> None:
    design, y, weight, fold = make_rows(rng)
    monotone = MonotoneFoldLogistic(design, 2, 2, y, weight, fold, 1, np.array([1, 1, 0]))
    found, expected = np.zeros((5, 2, 6)), np.zeros((5, 2, 5))
    monotone._fit(1.0, found, fold, 1e-8)
    assert (found[:, 1, 4] == 0.0).all()
    assert (found[:, 1, 3] > 0.0).all()
    others = Design(design.index, np.ascontiguousarray(design.value[:, [0, 2]]))
    FoldLogistic(others, 2, 2, y, weight, fold, 1)._fit(1.0, expected, fold, 1e-8)
    np.testing.assert_allclose(np.delete(found, 4, axis=2), expected, atol=1e-3)


def test_weights_of_splines_rise_from_one_to_the_next(rng: np.random.Generator) -> None:
    design, y, weight, fold = make_rows(rng)
    monotone = MonotoneFoldLogistic(design, 2, 2, y, weight, fold, 1, np.ones(3, dtype=int), 2)
    found = np.zeros((5, 2, 6))
    monotone._fit(1.0, found, fold, 1e-8)
    assert (found[:, 1, 3] > 0.0).all()
    assert (np.diff(found[:, 1, 4:], axis=1) >= 0.0).all()
    np.testing.assert_array_equal(found[:, 0], -found[:, 1])
