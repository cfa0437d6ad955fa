"""Quadratic splines against those of SciPy and scikit-learn."""

import numpy as np
import pytest
from scipy.interpolate import BSpline
from sklearn.preprocessing import SplineTransformer

from priorwise.models.linear.spline import learn_knots
from priorwise.steps.linear.design import DEGREE, N_KNOTS, QuadraticSplines


def draw_values(rng: np.random.Generator) -> np.ndarray:
    """Numbers of several kinds: bell-shaped, mostly one value, few values and constant."""
    mostly = rng.random((2, 200)) < 0.9
    return np.stack(
        [
            rng.normal(size=200),
            np.where(mostly[0], 0.0, rng.exponential(size=200)),
            np.where(mostly[1], 5.0, 5.0 - rng.exponential(size=200)),
            rng.integers(0, 3, 200).astype(float),
            np.full(200, 7.0),
        ]
    )


def test_knots_and_splines_are_those_of_scikit_learn(rng: np.random.Generator) -> None:
    values = draw_values(rng)
    theirs = SplineTransformer(N_KNOTS, DEGREE, knots="quantile", extrapolation="constant")
    # At a last knot that coincides with others theirs are zero, and ours what they are before it.
    expected = theirs.fit(values.T).transform(
        np.minimum(values, np.nextafter(values.max(axis=1, keepdims=True), -np.inf)).T
    )
    ours = QuadraticSplines(learn_knots(values, None))
    np.testing.assert_allclose(ours.knots, [s.t for s in theirs.bsplines_], rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(ours.transform(values.T), expected, rtol=0.0, atol=1e-12)


def test_splines_are_constant_beyond_the_outer_knots(rng: np.random.Generator) -> None:
    values = draw_values(rng)
    splines = QuadraticSplines(learn_knots(values, None))
    ends = np.stack([values.min(axis=1), values.max(axis=1)])
    beyond = ends + [[-3.0], [3.0]]
    np.testing.assert_array_equal(splines.transform(beyond), splines.transform(ends))


def test_weights_of_knots_count_rows(rng: np.random.Generator) -> None:
    values = draw_values(rng)
    weight = rng.integers(1, 4, 200).astype(np.float64)
    weighted = QuadraticSplines(learn_knots(values, weight))
    order = rng.permutation(int(weight.sum()))
    repeated = np.repeat(values, weight.astype(int), axis=1)[:, order]
    alone = QuadraticSplines(learn_knots(repeated, np.ones(len(order))))
    np.testing.assert_array_equal(weighted.knots, alone.knots)


def test_expansions_at_knots_are_the_derivatives_of_splines(rng: np.random.Generator) -> None:
    ours = QuadraticSplines(learn_knots(draw_values(rng), None))
    for own, knots, terms in zip(ours.knots, *ours.expand(), strict=True):
        spline = BSpline.construct_fast(own, np.eye(ours.n_splines), DEGREE, extrapolate=False)
        for order, divisor in enumerate([1.0, 1.0, 2.0]):
            expected = spline(knots, nu=order) / divisor
            inner = knots < knots[-1]
            np.testing.assert_allclose(terms[inner, order], expected[inner], rtol=1e-9, atol=1e-12)
        last = np.nan_to_num(spline(np.nextafter(knots[-1], -np.inf)))
        np.testing.assert_allclose(terms[-1, 0], last, rtol=0.0, atol=1e-12)
        assert not terms[-1, 1:].any()


@pytest.mark.parametrize("gap", [1e-12, 1e-200])
def test_knots_that_nearly_coincide_are_made_one(gap: float) -> None:
    # Symmetric, so that tiny values keep their distance.
    half = np.concatenate([np.arange(1.0, 80.0) * gap, np.ones(20)])
    values = np.concatenate([half, -half])[None]
    splines = QuadraticSplines(learn_knots(values, None))
    gaps = np.diff(splines.knots[0, DEGREE:-DEGREE])
    assert ((gaps == 0.0) | (gaps >= 2.0**-30)).all()
    assert np.isfinite(splines.expand()[1]).all()
    assert np.isfinite(splines.transform(values.T)).all()
