"""How many Python functions stand between a public method and a kernel."""

from typing import Any

import pytest

from contract.rows.tables import mixed
from contract.settings import BY_NAME
from kernel_calls import KernelCall, kernel_calls

MAX_PREDICT = 4
MAX_FIT = 6

TOO_DEEP_FIT = {"ProbabilityForest random"}
"""Entry points of `fit` that still need more functions than `MAX_FIT`."""

CLASSIFIERS = [name for name in BY_NAME if " " not in name and name != "ConditionalTable"]
FITS = [
    "ProbabilityTree fixed", "ProbabilityForest random", "SplineLogistic", "KernelLogistic", "KDB",
]  # fmt: skip


def cases(names: list[str], too_deep: set[str]) -> Any:
    pending = pytest.mark.xfail(strict=True, reason="too many functions on the way")
    marked = [pytest.param(name, marks=[pending] if name in too_deep else []) for name in names]
    return pytest.mark.parametrize("name", marked)


def assert_shallow(calls: list[KernelCall], limit: int) -> None:
    assert calls
    deepest = max(calls, key=lambda call: len(call.stack))
    assert len(deepest.stack) <= limit, f"{deepest.name} is reached through {deepest.stack}"


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_predictions_reach_kernels_through_few_functions(name: str) -> None:
    X, y = mixed()
    model = BY_NAME[name].fit(X, y)
    with kernel_calls() as calls:
        model.predict_proba(X)
    assert_shallow(calls, MAX_PREDICT)


@cases(FITS, TOO_DEEP_FIT)
def test_fits_reach_kernels_through_few_functions(name: str) -> None:
    X, y = mixed()
    with kernel_calls() as calls:
        BY_NAME[name].fit(X, y)
    assert_shallow(calls, MAX_FIT)
