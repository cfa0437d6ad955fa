"""Wilson's intervals of probabilities, and the noise and the draws that rows share."""

from __future__ import annotations

import numpy as np
import pytest

from priorwise.data.tables import Columns
from priorwise.steps.intervals import (
    CONTINUITY,
    FOR_NEAR,
    N_BINS,
    N_SHARED,
    SHARED,
    Calibration,
    draw_noise,
)

CALIBRATION = Calibration(0.1, 0.4)


def test_the_ends_are_the_shares_that_are_so_many_deviations_away(rng: np.random.Generator) -> None:
    proba = rng.dirichlet(np.ones(3), 200)
    z, inverse = CALIBRATION.find_deviations(0.9), CALIBRATION.invert_rows(proba)
    for end, sign in zip(CALIBRATION.find_interval(proba, 0.9), (-1.0, 1.0), strict=True):
        moved = np.clip(proba + sign * CONTINUITY * z * inverse, 0.0, 1.0)
        np.testing.assert_allclose(
            (moved - end) ** 2, z**2 * end * (1.0 - end) * inverse, rtol=1e-9, atol=1e-12
        )
    assert (CALIBRATION.find_interval(np.array([[1e-3, 0.999]]), 0.9)[0][0, 0]) == 0.0


def test_intervals_grow_with_the_level_and_the_error() -> None:
    proba = np.array([[0.0, 1.0], [0.02, 0.98], [0.5, 0.5]])
    before = np.zeros_like(proba)
    for error, level in [(0.01, 0.5), (0.01, 0.9), (0.1, 0.9), (0.1, 0.99), (5.0, 0.99)]:
        lower, upper = Calibration(error, 0.4).find_interval(proba, level)
        assert (upper - lower > before).all()
        assert ((lower <= proba) & (proba <= upper)).all()
        np.testing.assert_allclose(lower[:, 0], 1.0 - upper[:, 1], rtol=0, atol=1e-12)
        before = upper - lower


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_error_is_what_a_rival_explains_and_a_share_of_the_difference(
    missing: float, rng: np.random.Generator
) -> None:
    # The model knows the shares, the rival the truth, which is `missing` away from them.
    truth = 0.5 + missing * rng.choice([-1.0, 1.0], 200_000)
    y = (rng.random(len(truth)) < truth).astype(np.int32)
    proba, rival = np.full((len(y), 2), 0.5), np.column_stack([1.0 - truth, truth])
    for n_rows, independence in ((2e5, 1.0), (2e5, 4.0), (1e9, 1.0)):
        measured = Calibration.measure(
            proba, rival, y, np.ones(len(y)), n_rows=n_rows, independence=independence
        )
        # The error of the shares is missing^2 / (0.5 * 0.5), which the rival explains whole.
        explained = 4.0 * missing**2
        shared = SHARED / independence * explained * 2e5 / n_rows
        assert measured.error == pytest.approx(explained + shared, rel=0.03, abs=1e-3)
        if missing:
            share = shared / (explained + shared)
            assert measured.guessed == pytest.approx(share, rel=0.03, abs=1e-3)


def test_the_more_of_the_error_is_guessed_the_wider_the_interval() -> None:
    reach = [Calibration(0.1, guessed=g).find_deviations(0.9) for g in (0.0, 0.5, 1.0)]
    assert reach[0] < reach[1] < reach[2]


def test_models_of_more_rows_are_taken_to_be_less_wrong() -> None:
    assert Calibration.guess(100).error > 2.0 * Calibration.guess(1_000).error
    y, proba = np.zeros(50, dtype=np.int32), np.full((50, 2), 0.5)
    few, many = (
        Calibration.measure(proba, proba, y, np.ones(50), n_rows=n).error for n in (50, 50_000)
    )
    assert few == pytest.approx(100.0 * many)


def test_the_mean_of_draws_is_the_prediction(rng: np.random.Generator) -> None:
    proba = rng.dirichlet(np.ones(3), 5)
    draws = CALIBRATION.draw(proba, rng.standard_normal((40_000, 5, 3)), rng)
    np.testing.assert_allclose(draws.sum(axis=-1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(draws.mean(axis=0), proba, rtol=0, atol=0.01)


def test_noise_of_rows_goes_together_as_far_as_their_features_do() -> None:
    # Rows 0 and 1 are equal, row 2 has three of their four features, row 3 none.
    codes = np.array([[0, 0, 0, 1], [0, 0, 0, 1]], dtype=np.int32)
    values = np.array([[0.0, 0.0, 0.0, 9.0], [0.0, 0.0, np.nan, 9.0]])
    columns = Columns(codes, values, np.array([True, True, False, False]))
    proba = np.array([[0.2, 0.8], [0.2, 0.8], [0.5, 0.5], [0.9, 0.1]])
    noise = np.concatenate(
        [
            draw_noise(columns, proba, Calibration(0.1), 50, np.random.default_rng(i))
            for i in range(80)
        ]
    )
    np.testing.assert_array_equal(noise[:, 0], noise[:, 1])
    correlation = np.corrcoef(noise[..., 0], rowvar=False)
    np.testing.assert_allclose(correlation[0, 2:], [0.75**N_SHARED, 0.0], rtol=0, atol=0.05)
    np.testing.assert_allclose(noise.std(axis=0), 1.0, rtol=0, atol=0.05)


def test_the_mean_of_all_rows_errs_as_a_share_among_the_rows_of_training(
    rng: np.random.Generator,
) -> None:
    values, proba = rng.normal(size=(4, 800)), rng.dirichlet(np.ones(2), 800)
    columns = Columns(np.zeros((0, 800), dtype=np.int32), values, np.zeros(4, dtype=bool))
    calibration = Calibration(0.2, n_rows=400.0)
    noise = draw_noise(columns, proba, calibration, 2_000, rng)
    np.testing.assert_allclose(noise.std(axis=0), 1.0, rtol=0, atol=0.1)
    of_mean = FOR_NEAR / N_BINS / (0.2 * 400.0)
    assert noise.mean(axis=1).var() == pytest.approx(of_mean, rel=0.15)
