"""What laws assert of probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def assert_valid(proba: NDArray[np.float64]) -> None:
    """Every row is finite, not negative and sums to one."""
    assert np.isfinite(proba).all()
    assert (proba >= 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-9)


def assert_same_quality(
    plain: NDArray[np.float64], other: NDArray[np.float64], y: NDArray[Any]
) -> None:
    """Two models of the same rows differ by their random draws only.

    They are close on average: no draw moves the mean probability of a class by 0.1, that of a
    row by 0.2, or the mean squared error by 0.1.
    """
    assert np.abs(plain - other).mean() < 0.2
    np.testing.assert_allclose(other.mean(axis=0), plain.mean(axis=0), atol=0.1)
    truth = y[:, None] == np.unique(y)
    errors = [((proba - truth) ** 2).sum(axis=1).mean() for proba in (plain, other)]
    assert abs(errors[0] - errors[1]) < 0.1
