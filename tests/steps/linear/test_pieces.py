"""Linear models folded into piecewise quadratics."""

import numpy as np
import pytest
from scipy.special import softmax

from priorwise.data.tables import Columns
from priorwise.models.linear.spline import MAX_SPLINED, learn_design
from priorwise.steps.linear.design import LinearDesign
from priorwise.steps.linear.logistic import PiecewiseScore
from reference.linear.piecewise_score import predict_pieces

N_LABELS = np.array([3, 1, 4])
N_CLASSES = 3


def draw_columns(n_numeric: int, n_rows: int, rng: np.random.Generator) -> Columns:
    """Numbers of several kinds: bell-shaped, mostly zero, few values, constant; some missing."""
    kinds = [
        rng.normal(size=n_rows),
        np.where(rng.random(n_rows) < 0.9, 0.0, rng.exponential(size=n_rows)),
        np.where(rng.random(n_rows) < 0.9, 5.0, 5.0 - rng.exponential(size=n_rows)),
        rng.integers(0, 3, n_rows).astype(float),
        np.full(n_rows, 7.0),
        np.where(rng.random(n_rows) < 0.2, np.nan, rng.standard_cauchy(n_rows)),
    ]
    values = np.array([kinds[i % len(kinds)] for i in range(n_numeric)]).reshape(n_numeric, n_rows)
    codes = np.array([rng.integers(-1, n, n_rows) for n in N_LABELS], dtype=np.int32)
    return Columns(codes, values, np.arange(len(codes) + n_numeric) < len(codes))


def fold(
    columns: Columns, rng: np.random.Generator
) -> tuple[LinearDesign, np.ndarray, PiecewiseScore]:
    design = learn_design(columns, N_LABELS)
    n_values = design.apply(columns).value.shape[1]
    weights = rng.normal(size=(N_CLASSES, 1 + design.n_indicators + n_values))
    return design, weights, PiecewiseScore.fold(design, weights)


def predict_by_design(design: LinearDesign, weights: np.ndarray, columns: Columns) -> np.ndarray:
    """Indicators, numbers and splines spelt out, in double precision."""
    index = design.apply(columns).index
    indicators = np.zeros((columns.n_rows, design.n_indicators + 1))
    for column in index.T:
        indicators[np.arange(columns.n_rows), column] += 1.0
    parts = [np.ones((columns.n_rows, 1)), indicators[:, :-1]]
    if len(columns.values):
        parts.append(design.standardise(columns.values).T)
    if design.splines is not None:
        parts.append(design.splines.transform(parts[-1]))
    return softmax(np.concatenate(parts, axis=1) @ weights.T, axis=1)


@pytest.mark.parametrize("n_numeric", [0, 1, 6, MAX_SPLINED + 1])
def test_folded_weights_give_the_probabilities_of_the_design(
    n_numeric: int, rng: np.random.Generator
) -> None:
    columns = draw_columns(n_numeric, 200, rng)
    design, weights, pieces = fold(columns, rng)
    # Other numbers, numbers beyond, and the knots themselves.
    new = draw_columns(n_numeric, 300, rng)
    new.values[:, :40] *= 3.0
    for i, knots in enumerate([] if design.knots is None else design.knots):
        new.values[i, 50 : 50 + len(knots)] = knots * design.scale[i] + design.mean[i]
    expected = predict_by_design(design, weights, new)
    np.testing.assert_allclose(pieces.proba(new), expected, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(
        pieces.proba(columns), predict_by_design(design, weights, columns), rtol=1e-10, atol=1e-14
    )


@pytest.mark.parametrize("n_numeric", [0, 6])
def test_kernel_agrees_with_its_slow_twin(n_numeric: int, rng: np.random.Generator) -> None:
    columns = draw_columns(n_numeric, 100, rng)
    _, _, pieces = fold(columns, rng)
    slow = predict_pieces(pieces, columns.nominal_codes, columns.values)
    np.testing.assert_allclose(pieces.proba(columns), slow, rtol=1e-12)


def test_threads_change_no_bit(rng: np.random.Generator) -> None:
    columns = draw_columns(6, 5_000, rng)
    _, _, pieces = fold(columns, rng)
    np.testing.assert_array_equal(pieces.proba(columns, 1), pieces.proba(columns, 3))


def test_columns_of_another_table_are_refused(rng: np.random.Generator) -> None:
    _, _, pieces = fold(draw_columns(6, 50, rng), rng)
    with pytest.raises(ValueError, match="values needs one entry per numeric feature: 6, got 5"):
        pieces.proba(draw_columns(5, 50, rng))
