"""A call that raises leaves the model as it was."""

from __future__ import annotations

import pickle
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from contract.rows.tables import mixed, numbers
from contract.settings import Setting, TargetLast, each_setting
from priorwise.smoothing import Smoother


class Broken(Smoother):
    """A smoother that fails when the counts are there."""

    def smooth(self, tree: Any, seed: int = 0) -> Any:
        raise ArithmeticError("the smoother failed")


def bad_weight(y: Any, value: float) -> Any:
    return np.where(np.arange(len(y)) == 5, value, 1.0)


BAD_CALLS = {
    "X with infinity": lambda m, X, y: m.fit(X.assign(age=np.inf), y),
    "X of another length": lambda m, X, y: m.fit(X[:-1], y),
    "X without rows": lambda m, X, y: m.fit(X[:0], y[:0]),
    "X without columns": lambda m, X, y: m.fit(X[[]], y),
    "X of lists": lambda m, X, y: m.fit(X.assign(age=[[1]] * len(y)), y),
    "y with NaN": lambda m, X, y: m.fit(X, np.where(y == "no", np.nan, 1.0)),
    "y of numbers": lambda m, X, y: m.fit(X, np.linspace(0, 1, len(y))),
    "y of two columns": lambda m, X, y: m.fit(X, np.column_stack([y, y])),
    "no y": lambda m, X, y: m.fit(X, None),
    "weight below zero": lambda m, X, y: m.fit(X, y, sample_weight=bad_weight(y, -1.0)),
    "weight NaN": lambda m, X, y: m.fit(X, y, sample_weight=bad_weight(y, np.nan)),
    "weight infinite": lambda m, X, y: m.fit(X, y, sample_weight=bad_weight(y, np.inf)),
    "weight too large": lambda m, X, y: m.fit(X, y, sample_weight=bad_weight(y, 1e300)),
    "weights all zero": lambda m, X, y: m.fit(X, y, sample_weight=np.zeros(len(y))),
    "weight of another length": lambda m, X, y: m.fit(X, y, sample_weight=np.ones(len(y) - 1)),
    "weight of text": lambda m, X, y: m.fit(X, y, sample_weight=["heavy"] * len(y)),
    "prediction with infinity": lambda m, X, y: m.predict_proba(X.assign(age=np.inf)),
    "prediction of other columns": lambda m, X, y: m.predict_proba(X[X.columns[::-1]]),
    "prediction of fewer columns": lambda m, X, y: m.predict_proba(X[X.columns[:2]]),
    "prediction of more columns": lambda m, X, y: m.predict_proba(X.assign(more=1.0)),
    "prediction of no rows": lambda m, X, y: m.predict_proba(X[:0]),
    "prediction of text for numbers": lambda m, X, y: m.predict_proba(X.assign(age="old")),
    "prediction of a vector": lambda m, X, y: m.predict_proba(np.arange(4.0)),
    "prediction of nothing": lambda m, X, y: m.predict_proba(None),
}

# Numbers are labels to a conditional table, and it looks columns up by name.
TABLE_TAKES = {
    "X with infinity", "X without columns", "y of numbers", "prediction with infinity",
    "prediction of other columns",
    "prediction of more columns", "prediction of text for numbers",
}  # fmt: skip


@each_setting(smoothers=False)
def test_a_failed_call_changes_nothing(setting: Setting) -> None:
    X, y = mixed()
    before, model = setting.proba, deepcopy(setting.fitted)  # a first prediction fills caches
    state = pickle.dumps(model)
    for name, call in BAD_CALLS.items():
        if isinstance(model, TargetLast) and name in TABLE_TAKES:
            continue
        try:
            call(model, X, y)
        except (ValueError, TypeError):
            assert pickle.dumps(model) == state, f"{name} changed the model"
            np.testing.assert_array_equal(model.predict_proba(X), before)
        else:
            pytest.fail(f"{name} was accepted")


BAD_PARAMETERS: dict[str, Any] = {
    "random_state": "a seed",
    "missing": "drop",
    "unseen": "guess",
    "categorical_features": ["no such column"],
    "smoothing": Broken(),
    "discretizer": "scissors",
    "n_jobs": "many",
    "max_depth": 0,
    "n_estimators": -1,
    "n_folds": 0,
    "effort": "enormous",
}


@each_setting(smoothers=False)
def test_a_fit_with_a_bad_parameter_changes_nothing(setting: Setting) -> None:
    X, _ = mixed()
    other, labels = numbers()
    before, model = setting.proba, deepcopy(setting.fitted)  # a first prediction fills caches
    given = model.get_params(deep=False)
    names = BAD_PARAMETERS.keys() & given.keys()
    if given.get("recipe") == "weighted":
        names -= {"smoothing"}  # the weights of this recipe smooth by themselves
    for name in names:
        fitted = _fitted_state(model)
        model.set_params(**{name: BAD_PARAMETERS[name]})
        with pytest.raises((ValueError, TypeError, ArithmeticError)):
            model.fit(other, labels)
        model.set_params(**{name: given[name]})
        assert _fitted_state(model) == fitted, f"{name} changed the model"
        np.testing.assert_array_equal(model.predict_proba(X), before)


def _fitted_state(model: Any) -> bytes:
    return pickle.dumps({k: v for k, v in vars(model).items() if k not in model.get_params()})


@each_setting(smoothers=False)
def test_errors_of_a_model_that_is_not_fitted_say_so(setting: Setting) -> None:
    X, y = mixed()
    model = clone(setting.model)
    with pytest.raises((NotFittedError, AttributeError)):
        model.predict_proba(X)
    with pytest.raises(ValueError, match="sample_weight"):
        model.fit(X, y, sample_weight=np.zeros(len(y)))
    with pytest.raises((NotFittedError, AttributeError)):
        model.predict_proba(X)
    assert vars(model).keys() == vars(clone(setting.model)).keys()
