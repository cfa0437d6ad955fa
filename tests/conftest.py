"""Fixtures shared by all tests."""

import os
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from services import driver, postgres
from skip_table import pytest_sessionfinish, pytest_terminal_summary

__all__ = ["driver", "postgres", "pytest_sessionfinish", "pytest_terminal_summary"]

# The same cases in every run; no time limit on one case, the machine may be busy. Tests that are
# slow take a share of `settings().max_examples`.
settings.register_profile("fixed", max_examples=50, derandomize=True, deadline=None, database=None)
# For `make fuzz`: other cases in every run, and more of them.
settings.register_profile(
    "explore",
    max_examples=300,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("fixed")


@pytest.fixture
def rng() -> np.random.Generator:
    """The same stream of random numbers for every test."""
    return np.random.default_rng(20181)


@pytest.fixture(scope="session")
def address_space_limits() -> None:
    """Skip tests that limit the address space of a process where that does not work."""
    if sys.platform != "linux":
        pytest.skip("only Linux obeys RLIMIT_AS")
    if "PRIORWISE_SANITIZER" in os.environ:
        pytest.skip("a sanitizer reserves more address space than the limit")
