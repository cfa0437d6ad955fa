"""Ratios of Stirling numbers, V(n, t) = S(n, t - 1) / S(n, t), against exact arithmetic."""

import resource

import numpy as np
import pytest

from priorwise import _core
from reference.smoothing.stirling import ratio, ratio_row, stirling_row


def relative_errors(n: int, tables: range) -> np.ndarray:
    return np.array([_core.stirling_ratio(n, t) / ratio(n, t) - 1.0 for t in tables])


def test_twin_knows_the_first_numbers() -> None:
    assert stirling_row(4) == [0, 6, 11, 6, 1]
    assert ratio(4, 3) == pytest.approx(11 / 6)


def test_one_table_has_ratio_zero() -> None:
    assert [_core.stirling_ratio(n, 1) for n in (1, 2, 1024, 1025, 10**6)] == [0.0] * 5


@pytest.mark.parametrize("n", [2, 3, 10, 100, 1023, 1024])
def test_ratios_of_the_table_are_exact_to_rounding(n: int) -> None:
    assert np.abs(relative_errors(n, range(2, n + 1))).max() < 1e-13


@pytest.mark.parametrize("n", [1025, 1500])
def test_ratios_just_beyond_the_table_keep_their_promise(n: int) -> None:
    error = np.abs(relative_errors(n, range(2, n + 1)))
    tables = np.arange(2, n + 1)
    assert error[tables <= 24].max() < 1e-10
    assert error[tables > 24].max() < 2e-5
    assert error[tables > 31 * n // 32].max() < 2e-7
    middle = (tables > 24) & (tables < n // 2)
    assert (error[middle] * tables[middle] ** 2).max() < 0.02


@pytest.mark.parametrize("n", [1025, 2000, 5000, 10**6, 3 * 10**9, 10**12, 2**53])
def test_nearly_as_many_tables_as_rows_have_the_right_ratio(n: int) -> None:
    # S(n, n) = 1, S(n, n - 1) = n (n - 1) / 2, S(n, n - 2) = C(n, 3) (3 n - 1) / 4.
    assert _core.stirling_ratio(n, n) == pytest.approx(n * (n - 1) / 2, rel=2e-6)
    exact = (n - 2) * (3 * n - 1) / 12
    assert _core.stirling_ratio(n, n - 1) == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("n", [5000, 10**6, 3 * 10**9, 2**53])
def test_both_ways_to_the_saddle_point_meet(n: int) -> None:
    # The series takes over where fewer than one row in 32 opens no table.
    border = n - n // 32
    ratios = [_core.stirling_ratio(n, border + i * (n // 1000)) for i in range(-2, 3)]
    steps = np.diff(np.log(ratios))
    np.testing.assert_allclose(steps[1:], steps[:-1], rtol=0.1)


@pytest.mark.parametrize("n", [500, 3000, 30_000, 1_000_000])
def test_ratios_of_many_rows_keep_their_promise(n: int) -> None:
    exact = ratio_row(n, 60)
    if n == 500:
        np.testing.assert_allclose(exact, [ratio(n, t) for t in range(1, 61)], rtol=1e-12)
    got = np.array([_core.stirling_ratio(n, t) for t in range(1, 61)])
    error = np.abs(got[1:] / exact[1:] - 1.0)
    assert error[:23].max() < 1e-9
    assert error[23:].max() < 2e-5


def test_memory_does_not_grow_with_rows() -> None:
    _core.stirling_ratio(10**6, 5)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for n in range(500_000, 520_000):
        _core.stirling_ratio(n, 20)
        _core.stirling_ratio(n, 1000)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 4 * 1024  # kilobytes on Linux; a row of the table for each n would need 80 GB


@pytest.mark.parametrize(("n", "t", "name"), [(5, 0, "t"), (5, 6, "t"), (5, -1, "t"), (0, 0, "n")])
def test_tables_out_of_range_are_an_error(n: int, t: int, name: str) -> None:
    with pytest.raises(ValueError, match=rf"{name} must lie in 1\.\.\d+, got"):
        _core.stirling_ratio(n, t)
