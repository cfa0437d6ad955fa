"""The failure budget of the statistical tests.

Seeds are fixed, so a test that passes goes on passing. The budget is for whoever changes a seed,
or anything that moves the stream of random numbers: if all is right, the chance that any
statistical test fails must stay below 1 in 1,000. Every test spends at most ALPHA = 1e-5: a test
of many comparisons divides it among them (Bonferroni). The hook below counts the tests, so the
sum cannot grow beyond the budget unseen. Controls, which must be rejected, use the same limits;
their power was seen to be near one, and they spend as much again.
"""

from pathlib import Path

import pytest

BUDGET = 1e-3
ALPHA = 1e-5


@pytest.fixture
def alpha() -> float:
    """How often a test may fail although all is right."""
    return ALPHA


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    n_tests = sum(here in item.path.parents for item in items)
    if n_tests * ALPHA > BUDGET:
        raise pytest.UsageError(f"{n_tests} statistical tests spend more than {BUDGET}")
