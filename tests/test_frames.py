"""How many Python functions stand between a public method and a kernel."""

import numpy as np
import pytest

from contract.rows.tables import mixed
from contract.settings import BY_NAME, Setting
from kernel_calls import KernelCall, kernel_calls
from priorwise import ESKDBClassifier

MAX_PREDICT = 4
MAX_FIT = 6

every_setting = pytest.mark.parametrize("setting", BY_NAME.values(), ids=BY_NAME)


def begins_a_count(place: int, name: str) -> bool:
    """Whether the functions from here on have a limit of their own.

    They are those of a member, or of rows that answer a request.
    """
    asked = name.startswith("priorwise.steps.") and name.endswith((".predict", ".explain"))
    learns = name.endswith((".fit_table", ".TableRows._learn", ".TableRows.answer"))
    return place == 0 or learns or (asked and place > 1)


def assert_shallow(calls: list[KernelCall], limit: int) -> None:
    """Check the functions of every classifier on the way to a kernel.

    Those of a pool end where a member learns or its step is asked. Constructors are no kernels.
    """
    assert calls
    for call in calls:
        if call.name.endswith(".__init__"):
            continue
        starts = [i for i, name in enumerate(call.stack) if begins_a_count(i, name)]
        for start, end in zip(starts, [*starts[1:], len(call.stack)], strict=True):
            part = call.stack[start:end]
            assert len(part) <= limit, f"{call.name} is reached through {part}"


@every_setting
def test_predictions_reach_kernels_through_few_functions(setting: Setting) -> None:
    X, y = mixed()
    model = setting.fit(X, y)
    with kernel_calls() as calls:
        model.predict_proba(X)
    assert_shallow(calls, MAX_PREDICT)


@every_setting
def test_fits_reach_kernels_through_few_functions(setting: Setting) -> None:
    X, y = mixed()
    with kernel_calls() as calls:
        setting.fit(X, y)
    assert_shallow(calls, MAX_FIT)


def test_a_choice_of_bins_reaches_kernels_through_few_functions() -> None:
    X = np.random.default_rng(0).normal(size=(1300, 3))
    with kernel_calls() as calls:
        model = ESKDBClassifier(2, max_parents=1, random_state=0).fit(X, X[:, 0] > X[:, 1])
    assert any("sum_losses" in name for call in calls for name in call.stack), model.max_bins_
    assert_shallow(calls, MAX_FIT)
