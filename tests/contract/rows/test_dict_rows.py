"""Rows as dicts are rows of a frame, and y may be the name of a column."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import priorwise
from contract.rows.tables import mixed
from contract.settings import BY_NAME, Setting, each_setting
from priorwise import ConditionalTable, LogLinearPool, NaiveBayesClassifier
from priorwise.data import FrameEncoder


def as_rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows as dicts, each with its keys in another order."""
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return [
        {str(key): row[key] for key in np.random.default_rng(i).permutation(list(row))}
        for i, row in enumerate(rows)
    ]


METHODS = ("predict", "predict_proba", "predict_log_proba", "sample_proba", "predict_interval")


@each_setting("ConditionalTable", smoothers=False)
def test_dicts_are_predicted_as_the_rows_of_a_frame(setting: Setting) -> None:
    X, _ = mixed()
    rows = as_rows(X)
    np.testing.assert_array_equal(setting.fitted.predict_proba(rows), setting.proba)
    for i in range(5):
        one = setting.fitted.predict_proba(rows[i])
        np.testing.assert_array_equal(one, setting.fitted.predict_proba(X.iloc[i : i + 1]))


@each_setting("ConditionalTable", smoothers=False)
def test_a_model_learns_from_dicts_and_from_a_column_of_a_frame(setting: Setting) -> None:
    X, y = mixed()
    table = X.assign(target=y)
    first = [str(name) for name in X]
    rows = [{key: row[key] for key in [*first, "target"]} for row in as_rows(table)]
    for given in (table, pl.from_pandas(table), rows):
        model = setting.fit(given, "target")
        assert model.feature_names_in_.tolist() == first
        assert model.target_name_ == "target"
        np.testing.assert_array_equal(model.predict_proba(X), setting.proba)
    # A column of the classes may be among those of new rows.
    np.testing.assert_array_equal(model.predict_proba(table), setting.proba)
    np.testing.assert_array_equal(model.predict_proba(rows), setting.proba)
    assert not hasattr(model.fit(X, y), "target_name_")


@pytest.mark.parametrize("name", ["KDB", "Priorwise"])
def test_every_method_takes_dicts(name: str) -> None:
    X, y = mixed()
    model = BY_NAME[name].fitted
    rows = as_rows(X)[:6]
    for method in METHODS:
        seed = {"random_state": 0} if method == "sample_proba" else {}
        own = getattr(model, method)(rows, **seed)
        np.testing.assert_array_equal(own, getattr(model, method)(X[:6], **seed))
    assert str(model.explain(rows)) == str(model.explain(X[:6]))
    assert str(model.check(rows)) == str(model.check(X[:6]))
    model = NaiveBayesClassifier().fit(X, y).calibrate_sets(as_rows(X), y)
    assert (model.prediction_set(rows) == model.prediction_set(X[:6])).all()


def test_counts_of_dicts_are_those_of_frames() -> None:
    X, y = mixed()
    table = X.assign(target=y)
    half = len(X) // 2
    plain = NaiveBayesClassifier().partial_fit(X[:half], y[:half], np.unique(y))
    named = NaiveBayesClassifier().partial_fit(table[:half], "target", np.unique(y))
    plain.partial_fit(X[half:], y[half:])
    named.partial_fit(as_rows(table)[half:], "target")
    np.testing.assert_array_equal(named.predict_proba(table), plain.predict_proba(X))
    plain.forget(X[:5], y[:5])
    named.forget(as_rows(table)[:5], "target")
    np.testing.assert_array_equal(named.predict_proba(table), plain.predict_proba(X))


def test_rows_with_other_columns_are_refused_by_name() -> None:
    X, y = mixed()
    model, row = NaiveBayesClassifier().fit(X, y), as_rows(X)[0]
    first, second, *_ = map(str, X)
    without = {key: value for key, value in row.items() if key != second}
    wrong = {
        f"column '{second}' is missing in row 0": without,
        f"column '{second}' is missing in row 1": [row, without],
        "must have the columns .*, got 'other' in row 0": {**row, "other": 1},
        f"a single value for each column, got list for '{first}'": {**row, first: [row[first]]},
        f"got ndarray for '{first}'": {**row, first: np.array([1.0, 2.0])},
    }
    for message, rows in wrong.items():
        with pytest.raises(ValueError, match=message):
            model.predict_proba(rows)
    with pytest.raises(ValueError, match=f"column '{second}' is missing in row 1"):
        NaiveBayesClassifier().fit([row, without], ["a", "b"])
    with pytest.raises(TypeError, match=r"must hold dicts only.* got 3 in row 1"):
        model.predict_proba([row, 3])
    with pytest.raises(ValueError, match="X must be an array, as in training"):
        NaiveBayesClassifier().fit([[0.0], [1.0]], [0, 1]).predict({"x0": 1.0})


def test_a_target_that_is_no_column_is_refused_by_name() -> None:
    X, y = mixed()
    for given in (X, X.to_numpy(), as_rows(X)):
        with pytest.raises(ValueError, match="name of a column of X, got 'targte'"):
            NaiveBayesClassifier().fit(given, "targte")
    with pytest.raises(ValueError, match="did you mean 'target'"):
        NaiveBayesClassifier().fit(X.assign(target=y), "targte")


def test_a_check_takes_dicts_and_the_name_of_the_target() -> None:
    X, y = mixed()
    table = X.assign(target=y, copy=y)
    plain = str(priorwise.check(table.drop(columns="target"), y))
    assert "copy" in plain
    assert str(priorwise.check(table, "target")) == plain
    rows = [{name: row[name] for name in table} for row in as_rows(table)]
    assert [f.column for f in priorwise.check(rows, "target")] == [
        f.column for f in priorwise.check(table, "target")
    ]


def test_members_of_other_libraries_get_a_frame() -> None:
    X, y = mixed()
    other = make_pipeline(FrameEncoder(), LogisticRegression())
    members = [("bayes", NaiveBayesClassifier()), ("other", other)]
    pool = LogLinearPool(members, random_state=0)
    proba = pool.fit(X, y).predict_proba(X)
    rows = [{str(key): row[key] for key in X} for row in as_rows(X)]
    np.testing.assert_array_equal(pool.predict_proba(rows), proba)
    np.testing.assert_allclose(pool.fit(rows, y).predict_proba(X), proba)


def test_tables_take_dicts() -> None:
    X, y = mixed()
    given = [str(name) for name in X][-2:]
    table = X.astype(str).assign(target=y)
    plain = ConditionalTable("laplace").fit(table, target="target", given=given)
    named = ConditionalTable("laplace").fit(as_rows(table), target="target", given=given)
    np.testing.assert_array_equal(named.predict_proba(as_rows(table)), plain.predict_proba(table))
    row = as_rows(table)[0]
    np.testing.assert_array_equal(named.predict_proba(row), plain.predict_proba(table[:1]))
