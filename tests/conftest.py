"""Fixtures shared by all tests."""

import numpy as np
import pytest
from hypothesis import settings

# The same cases in every run; no time limit on one case, the machine may be busy.
settings.register_profile("fixed", derandomize=True, deadline=None, database=None)
settings.load_profile("fixed")


@pytest.fixture
def rng() -> np.random.Generator:
    """The same stream of random numbers for every test."""
    return np.random.default_rng(20181)
