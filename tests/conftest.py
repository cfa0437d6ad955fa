"""Fixtures shared by all tests."""

import numpy as np
import pytest


@pytest.fixture
def rng() -> np.random.Generator:
    """The same stream of random numbers for every test."""
    return np.random.default_rng(20181)
