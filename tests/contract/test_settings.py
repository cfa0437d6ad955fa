"""The suite covers every public classifier, and what every estimator shows and takes."""

from inspect import signature

import pytest

import priorwise
from contract.settings import SETTINGS, public_classifiers
from priorwise.common.docstrings import is_hook
from priorwise.common.estimator import Estimator

ESTIMATORS = [
    name
    for name in priorwise.__all__
    if isinstance(cls := getattr(priorwise, name), type) and issubclass(cls, Estimator)
]


def test_every_public_classifier_has_a_setting() -> None:
    assert {kind.__name__ for kind in public_classifiers()} == {kind.__name__ for kind in SETTINGS}


def test_every_setting_is_of_its_class() -> None:
    for kind, settings in SETTINGS.items():
        for setting in settings.values():
            assert isinstance(setting.model, kind) or kind.__name__ == "ConditionalTable"


@pytest.mark.parametrize("name", ESTIMATORS)
def test_completion_shows_what_users_call_and_set(name: str) -> None:
    cls = getattr(priorwise, name)
    model = object.__new__(cls)
    shown = [one for one in dir(model) if not one.startswith("_")]
    assert not [one for one in shown if is_hook(cls, one)]
    internal = {"learnt", "kinds", "reductions", "min_classes", "missing_choices", "n_threads"}
    assert not internal & set(shown)
    assert {"save", "summary", "fit", "get_params"} <= {*shown}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_public_classes_take_at_most_two_parameters_by_place(name: str) -> None:
    parameters = signature(getattr(priorwise, name)).parameters.values()
    by_place = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
    assert len(by_place) <= 2
