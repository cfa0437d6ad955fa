"""The design of linear models at extremes of scale."""

from typing import Any

import numpy as np
import pytest

from priorwise import KernelLogisticClassifier, SplineLogisticClassifier
from priorwise.data.survey.numbers import exact_mean
from priorwise.data.tables import Columns
from priorwise.models.linear.spline import learn_design, learn_knots
from priorwise.steps.linear.design import DEGREE, Logarithms, QuadraticSplines

NO_LABELS = np.zeros(0, dtype=np.int64)


def columns_of(*features: np.ndarray) -> Columns:
    values = np.ascontiguousarray(features, dtype=np.float64)
    return Columns(
        np.zeros((0, values.shape[1]), dtype=np.int32), values, np.zeros(len(values), dtype=bool)
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("exponent", [-1000, -700, -530, 0, 500, 1000])
def test_a_power_of_two_scales_mean_and_deviation_and_nothing_else(
    exponent: int, weighted: bool, rng: np.random.Generator
) -> None:
    x = rng.normal(size=80) + 3.0
    x[::7] = np.nan
    weight = rng.uniform(0.5, 4.0, 80) if weighted else None
    plain = learn_design(columns_of(x), NO_LABELS, weight)
    unit = 2.0**exponent
    scaled = learn_design(columns_of(x * unit), NO_LABELS, weight)
    assert scaled.mean[0] == plain.mean[0] * unit
    assert scaled.scale[0] == plain.scale[0] * unit
    np.testing.assert_array_equal(
        scaled.apply(columns_of(x * unit)).value, plain.apply(columns_of(x)).value
    )


def test_mean_and_deviation_are_those_of_the_known_values(rng: np.random.Generator) -> None:
    x = rng.normal(size=80)
    x[::5] = np.nan
    weight = rng.integers(1, 4, 80).astype(np.float64)
    design = learn_design(columns_of(x, np.full(80, 7.0)), NO_LABELS, weight)
    repeated = np.repeat(x, weight.astype(int))
    np.testing.assert_allclose(design.mean, [float(np.nanmean(repeated)), 7.0], rtol=1e-12)
    np.testing.assert_allclose(design.scale, [float(np.nanstd(repeated)), 1.0], rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1e-200, 1e-170, 1e-160, 1.0, 1e200, 1e307])
@pytest.mark.parametrize("model", [SplineLogisticClassifier(), KernelLogisticClassifier()], ids=str)
def test_logistic_members_learn_at_any_scale(
    model: Any, scale: float, rng: np.random.Generator
) -> None:
    y = np.arange(80) % 2
    X = scale * (rng.normal(size=(80, 2)) + 3.0 * y[:, None])
    proba = model.set_params(random_state=0).fit(X, y).predict_proba(X)
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    assert (proba.argmax(axis=1) == y).mean() > 0.9


def test_the_mean_of_the_largest_numbers_is_finite() -> None:
    assert exact_mean(np.array([1.5e308, 1.7e308]), np.array([3, 1])) == pytest.approx(1.55e308)
    assert exact_mean(np.array([1.0, 4.0]), np.array([2, 1])) == 2.0


def learn_logs(values: np.ndarray, weight: np.ndarray | None = None) -> Logarithms:
    design = learn_design(columns_of(*values), NO_LABELS, weight, takes_logs=True)
    assert design.logs is not None
    return design.logs


def test_logarithms_are_taken_of_skewed_numbers_alone(rng: np.random.Generator) -> None:
    z = rng.normal(size=2_000)
    values = np.stack([z, np.exp(z), np.exp(z) - 5.0, -np.exp(z), rng.uniform(1.0, 9.0, 2_000)])
    logs = learn_logs(values)
    assert logs.sign.tolist() == [0.0, 1.0, 1.0, -1.0, 0.0]
    read = logs.apply(values)
    np.testing.assert_array_equal(read[[0, 4]], values[[0, 4]])
    np.testing.assert_allclose(read[1], z, rtol=1e-12, atol=1e-12)
    for logged, plain in zip(read, values, strict=True):
        np.testing.assert_array_equal(np.argsort(logged), np.argsort(plain))
    low = logs.apply(values.min(axis=1, keepdims=True) - 10.0)
    np.testing.assert_array_equal(low[1:3], read[1:3].min(axis=1, keepdims=True))


def test_weights_of_logarithms_count_rows(rng: np.random.Generator) -> None:
    values = np.exp(rng.normal(size=(3, 60)))
    values[:, ::7] = np.nan
    values[2] -= 4.0
    weight = rng.integers(0, 4, 60).astype(np.float64)
    weighted = learn_logs(values, weight)
    repeated = learn_logs(np.repeat(values, weight.astype(int), axis=1))
    np.testing.assert_array_equal(weighted.sign, repeated.sign)
    np.testing.assert_array_equal(weighted.least, repeated.least)
    np.testing.assert_allclose(weighted.shift, repeated.shift, rtol=1e-12)


@pytest.mark.parametrize("size", [5e-324, 1e-300, 1e300, 1.7e308])
def test_logarithms_of_extreme_numbers_are_finite(size: float, rng: np.random.Generator) -> None:
    skewed = size * rng.random((2, 50)) ** 9
    skewed[1] -= size / 2
    design = learn_design(columns_of(*skewed), NO_LABELS, takes_logs=True)
    rows = columns_of(*np.tile([-size, 0.0, size, np.nan], (2, 1)))
    assert np.isfinite(design.apply(rows).value).all()


def test_a_table_without_known_numbers_has_no_logarithms() -> None:
    logs = learn_logs(np.array([[np.nan, np.nan], [3.0, 3.0]]))
    assert logs.sign.tolist() == [0.0, 0.0]


def test_splines_with_rising_weights_rise_wherever_knots_lie(rng: np.random.Generator) -> None:
    n_columns, n_rows = 3_000, 30
    few = rng.integers(0, rng.integers(1, 6, (n_columns, 1)), (n_columns, n_rows)).astype(float)
    capped = np.clip(rng.normal(size=few.shape), -rng.exponential(size=(n_columns, 1)), 0.5)
    values = np.where(rng.random((n_columns, 1)) < 0.5, few, capped)
    weight = rng.exponential(size=n_rows) if rng.random() < 0.5 else None
    splines = QuadraticSplines(learn_knots(values, weight))
    low, high = splines.knots[:, DEGREE], splines.knots[:, -1 - DEGREE]
    grid = np.sort(
        np.concatenate([values.T, low + np.linspace(-0.2, 1.2, 60)[:, None] * (high - low)]), axis=0
    )
    basis = splines.transform(grid).reshape(len(grid), n_columns, -1)
    np.testing.assert_allclose(basis.sum(axis=2), np.tile(low < high, (len(grid), 1)), atol=1e-12)
    weights = np.cumsum(rng.exponential(size=(n_columns, splines.n_splines)), axis=1)
    assert np.diff((basis * weights).sum(axis=2), axis=0).min() > -1e-12
