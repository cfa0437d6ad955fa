"""Ends of intervals of beta variates, and noise of draws that rows share."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import betaincinv, expit, ndtr, polygamma

from priorwise.data.tables import Columns
from priorwise.steps.intervals import draw_noise, find_beta_count, find_beta_ends, find_interval


@pytest.mark.parametrize("n_deviations", [0.3, 1.6, 4.0])
def test_beta_ends_are_those_of_the_exact_distribution(
    n_deviations: float, rng: np.random.Generator
) -> None:
    log_odds, variance = 5.0 * rng.normal(size=500), np.exp(np.abs(2.0 * rng.normal(size=500)))
    mean = expit(log_odds)
    count = find_beta_count(mean, variance)
    expected = betaincinv(count * mean, count * expit(-log_odds), ndtr(-n_deviations))
    found = expit(find_beta_ends(log_odds, variance, n_deviations))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)


def test_the_interval_of_an_uncertain_probability_is_that_of_a_beta_distribution() -> None:
    a, b = 0.9, 2.7
    squared = polygamma(1, a) + polygamma(1, b)
    proba, variance = np.array([[0.25, 0.75]]), np.full((1, 2), squared / 2.0)
    lower, upper = find_interval(proba, variance, 1.645)
    expected = betaincinv(a, b, [0.05, 0.95])
    np.testing.assert_allclose([lower[0, 0], upper[0, 0]], expected, rtol=0, atol=0.01)
    np.testing.assert_allclose(upper[0, 1], 1.0 - lower[0, 0], rtol=0, atol=1e-12)


def test_noise_of_rows_goes_together_as_far_as_their_features_do() -> None:
    # Rows 0 and 1 are equal, row 2 has three of their four features, row 3 none.
    codes = np.array([[0, 0, 0, 1], [0, 0, 0, 1]], dtype=np.int32)
    values = np.array([[0.0, 0.0, 0.0, 9.0], [0.0, 0.0, np.nan, 9.0]])
    columns = Columns(codes, values, np.array([True, True, False, False]))
    noise = np.concatenate(
        [draw_noise(columns, 50, 2, np.random.default_rng(i)) for i in range(80)]
    )
    np.testing.assert_array_equal(noise[:, 0], noise[:, 1])
    correlation = np.corrcoef(noise[..., 0], rowvar=False)
    np.testing.assert_allclose(correlation[0, 2:], [0.75**4, 0.0], rtol=0, atol=0.05)
    np.testing.assert_allclose(noise.std(axis=0), 1.0, rtol=0, atol=0.05)
