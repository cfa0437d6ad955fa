"""Intervals of every classifier contain its probabilities, and draws of them are probabilities."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest

from contract.laws import assert_valid
from contract.rows.tables import mixed
from contract.settings import Setting, each_setting
from contract.test_explanations import odd_rows


@each_setting("ConditionalTable")
def test_intervals_contain_the_probabilities_and_grow_with_the_level(setting: Setting) -> None:
    model, rows = setting.fitted, odd_rows()
    proba = model.predict_proba(rows)
    inner, outer = model.predict_interval(rows, 0.5), model.predict_interval(rows, level=0.95)
    ends = [np.zeros_like(proba), outer[0], inner[0], proba, inner[1], outer[1], np.ones(1)]
    for low, high in pairwise(ends):
        assert (low <= high).all()
    assert (outer[1] > outer[0]).any()


@each_setting("ConditionalTable", smoothers=False)
def test_draws_are_probabilities_that_a_seed_reproduces(setting: Setting) -> None:
    model, rows = setting.fitted, mixed()[0][:20]
    draws = model.sample_proba(rows, 5, random_state=1)
    assert draws.shape == (5, 20, len(model.classes_))
    assert_valid(draws.reshape(100, -1))
    np.testing.assert_array_equal(draws, model.sample_proba(rows, 5, random_state=1))
    assert (draws != model.sample_proba(rows, 5, random_state=2)).any()


@each_setting("ConditionalTable", smoothers=False)
def test_intervals_do_not_depend_on_threads(setting: Setting) -> None:
    model, rows = setting.fit(*mixed()), mixed()[0]
    expected = model.predict_interval(rows)
    model.set_params(n_jobs=2)
    np.testing.assert_array_equal(model.predict_interval(rows), expected)


@pytest.mark.parametrize("level", [0.0, 1.0, "high"])
def test_a_level_outside_zero_and_one_is_refused(level: object) -> None:
    setting = next(iter(each_setting("ConditionalTable").args[1])).values[0]
    with pytest.raises(ValueError, match=f"level must be .*, got {level!r}"):
        setting.fitted.predict_interval(mixed()[0], level)


@each_setting("ConditionalTable", smoothers=False)
def test_stored_models_have_the_same_intervals(setting: Setting) -> None:
    model, rows = setting.fit(*mixed()), mixed()[0]
    stored = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(stored.predict_interval(rows), model.predict_interval(rows))
