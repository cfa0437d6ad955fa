"""How many Python functions stand between a public method and a kernel."""

import pytest

from contract.rows.tables import mixed
from contract.settings import BY_NAME
from kernel_calls import KernelCall, kernel_calls

MAX_PREDICT = 4
MAX_FIT = 6

CLASSIFIERS = [name for name in BY_NAME if " " not in name and name != "ConditionalTable"]
ENSEMBLES = {"ESKDB": 9, "LogLinearPool": 9, "Priorwise": 11}
"""Limits of ensembles: the functions that fit a member come on top of their own."""

FITS = dict.fromkeys([*CLASSIFIERS, "ProbabilityForest random"], MAX_FIT) | ENSEMBLES


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


@pytest.mark.parametrize(("name", "limit"), FITS.items())
def test_fits_reach_kernels_through_few_functions(name: str, limit: int) -> None:
    X, y = mixed()
    with kernel_calls() as calls:
        BY_NAME[name].fit(X, y)
    assert_shallow(calls, limit)
