"""Networks learnt by queries, in DuckDB and SQLite."""

import sqlite3
from typing import Any

import numpy as np
import pandas as pd
import pytest

from priorwise import (
    AODEClassifier,
    ESKDBClassifier,
    KDBClassifier,
    NaiveBayesClassifier,
    SelectiveKDBClassifier,
    TANClassifier,
)
from priorwise.data import SqlSource
from priorwise.data.sources.sql import sql_source
from priorwise.streaming.runners import sql_codes, sql_survey

duckdb = pytest.importorskip("duckdb")

N_ROWS = 600


@pytest.fixture
def frame(rng):
    """Numbers, texts and booleans with names and labels that have to be quoted, some missing."""
    y = rng.integers(3, size=N_ROWS)
    size = (y * 0.6 + rng.normal(size=N_ROWS)).round(1)
    columns = {
        "size": np.where(rng.random(N_ROWS) < 0.1, np.nan, size),
        "age": rng.integers(20, 60, size=N_ROWS) + 5 * y,
        "flag": rng.random(N_ROWS) < 0.2 + 0.3 * y,
        "many": [f"k{v}" for v in rng.integers(0, 40, size=N_ROWS) + 10 * y],
        "text number": [str(v / 2) for v in rng.integers(0, 9, size=N_ROWS) + y],
    }
    value = y
    for i in range(3):
        value = np.where(rng.random(N_ROWS) < 0.5, value, rng.integers(4, size=N_ROWS))
        words = np.array(["it's", ' "b" ', "?", "c\n"], dtype=object)[value]
        columns[f'say "{i}"'] = np.where(rng.random(N_ROWS) < 0.1, None, words)
    columns["weight"] = rng.integers(0, 4, size=N_ROWS)
    columns["select"] = np.array(["low", "middle", "high"], dtype=object)[y]
    return pd.DataFrame(columns)


def fill_duckdb(frame):
    database = duckdb.connect()
    database.register("frame", frame)
    return database.execute("CREATE TABLE rows AS SELECT * FROM frame")


def fill_sqlite(frame):
    database = sqlite3.connect(":memory:")
    frame.to_sql("rows", database, index=False)
    return database


def assert_same(found, expected, X):
    np.testing.assert_array_equal(found.classes_, expected.classes_)
    np.testing.assert_array_equal(found.class_count_, expected.class_count_)
    np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))


def note_queries(monkeypatch):
    """Return a list that queries are added to from now on."""
    queries = []
    fetch = SqlSource.fetch

    def fetch_and_note(self, query):
        queries.append(query)
        return fetch(self, query)

    monkeypatch.setattr(SqlSource, "fetch", fetch_and_note)
    return queries


MODELS = [
    NaiveBayesClassifier(),
    TANClassifier(missing="ignore"),
    KDBClassifier(3),
    AODEClassifier(missing="impute"),
    SelectiveKDBClassifier(2, smoothing="m-estimate"),
    ESKDBClassifier(n_estimators=2, random_state=0),
]


@pytest.mark.parametrize("fill", [fill_duckdb, fill_sqlite])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_queries_learn_the_model_that_fit_gives_on_the_fetched_rows(
    model, fill, frame, monkeypatch
):
    monkeypatch.setattr(sql_source, "FETCH_ROWS", 100)
    monkeypatch.setattr(sql_codes, "MAX_CASE_LABELS", 20)
    frame = frame.drop(columns="weight")
    # SQLite has no booleans: what is fetched are numbers.
    frame["flag"] = frame["flag"].astype(int if fill is fill_sqlite else bool)
    X, y = frame.drop(columns="select"), frame["select"].to_numpy(dtype=object)
    expected = type(model)(**model.get_params(deep=False)).fit(X, y)
    model.fit_dataset(SqlSource(fill(frame), "rows"), target="select")
    assert_same(model, expected, X)


@pytest.mark.parametrize("fill", [fill_duckdb, fill_sqlite])
@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_a_column_of_weights_is_sample_weight(fill, scale, frame):
    frame["weight"] = frame["weight"] * scale
    X, y = frame.drop(columns=["select", "weight"]), frame["select"].to_numpy(dtype=object)
    X["flag"] = frame["flag"] = frame["flag"].astype(int)
    source = SqlSource(fill(frame), "rows", weight="weight")
    for model in (TANClassifier(), SelectiveKDBClassifier(2)):
        expected = type(model)().fit(X, y, sample_weight=frame["weight"])
        if isinstance(model, SelectiveKDBClassifier):
            with pytest.raises(ValueError, match="weight must be None for a model that needs"):
                model.fit_dataset(source, target="select")
            assert not hasattr(model, "classes_")
        else:
            model.fit_dataset(source, target="select")
            np.testing.assert_allclose(
                model.predict_proba(X), expected.predict_proba(X), rtol=0, atol=1e-12
            )


def test_a_join_is_counted_where_it_is(frame, monkeypatch):
    frame["key"] = np.arange(N_ROWS) % 7
    keys = pd.DataFrame(
        {"key": range(7), "group": list("aabbccc"), "level": [1.5, 2, 2, 3, 4, 4, 9]}
    )
    database = fill_duckdb(frame.drop(columns="weight"))
    database.register("keys", keys)
    joined = frame.drop(columns="weight").merge(keys, on="key").drop(columns="key")
    queries = note_queries(monkeypatch)
    source = SqlSource(
        database, "SELECT rows.* EXCLUDE key, k.* EXCLUDE key FROM rows JOIN keys k USING (key);"
    )
    found = KDBClassifier(2).fit_dataset(source, target="select")
    X = joined.drop(columns="select")
    assert_same(found, KDBClassifier(2).fit(X, joined["select"].to_numpy(dtype=object)), X)
    assert len(queries) == 5, "classes, shares of distinct values, values, pairs and tables"
    left = database.execute("SELECT table_name FROM duckdb_tables() WHERE temporary").fetchall()
    assert left == []


@pytest.mark.parametrize("weight", [None, "weight"])
def test_numbers_that_are_all_different_are_fetched_and_give_the_same_model(
    frame, rng, monkeypatch, weight
):
    frame["exact"] = rng.normal(size=N_ROWS)
    frame.loc[frame.index[::9], "exact"] = np.nan
    X = frame.drop(columns=["select", "weight"])
    if weight is None:
        frame = frame.drop(columns="weight")
    source = SqlSource(fill_duckdb(frame), "rows", weight=weight)
    counted = TANClassifier().fit_dataset(source, target="select")
    queries = note_queries(monkeypatch)
    monkeypatch.setattr(sql_survey, "N_PROBED_ROWS", 100)
    assert_same(TANClassifier().fit_dataset(source, target="select"), counted, X)
    fetched = [query for query in queries if "SELECT y, x" in query and "GROUP BY" not in query]
    assert len(fetched) == 1


def test_numbers_may_be_labels_and_texts_may_be_numbers(frame):
    frame = frame.drop(columns=["weight", "flag"])
    frame["many"] = np.where(frame["many"] > "k3", "30", "no number")
    X, y = frame.drop(columns="select"), frame["select"].to_numpy(dtype=object)
    settings: dict[str, Any] = {
        "categorical_features": ["age", "size"],
        "numeric_features": ["many"],
        "missing_values": ["it's", 4.5],
    }
    for fill in (fill_duckdb, fill_sqlite):
        found = TANClassifier(**settings).fit_dataset(
            SqlSource(fill(frame), "rows"), target="select"
        )
        assert_same(found, TANClassifier(**settings).fit(X, y), X)


@pytest.mark.filterwarnings("ignore:the dates of column")
def test_dates_and_times_are_numbers(rng):
    seconds = rng.integers(0, 10**9, size=300)
    frame = pd.DataFrame({"when": pd.to_datetime(seconds, unit="s"), "label": seconds % 2 == 0})
    frame["label"] ^= seconds > 5 * 10**8
    database = fill_duckdb(frame)
    database.execute(
        'ALTER TABLE rows ADD COLUMN day DATE; UPDATE rows SET day = CAST("when" AS DATE)'
    )
    fetched = database.execute("SELECT * FROM rows").df()
    X = fetched.drop(columns="label")
    found = NaiveBayesClassifier().fit_dataset(SqlSource(database, "rows"), target="label")
    assert_same(found, NaiveBayesClassifier().fit(X, fetched["label"].to_numpy()), X)


def test_a_limit_on_memory_makes_neighbouring_values_one(rng):
    frame = pd.DataFrame({"x": rng.normal(size=5000), "y": rng.integers(2, size=5000)})
    source = SqlSource(fill_duckdb(frame), "rows")
    model = NaiveBayesClassifier().fit_dataset(source, target="y", memory_limit="100KB")
    assert not model.has_exact_cuts_
    assert NaiveBayesClassifier().fit_dataset(source, target="y").has_exact_cuts_


def test_rows_that_change_between_queries_are_an_error(frame, monkeypatch):
    database = fill_sqlite(frame.drop(columns="weight"))
    fetch = SqlSource.fetch

    def delete_rows(self, query):
        yield from fetch(self, query)
        database.execute("DELETE FROM rows WHERE age > 50")

    monkeypatch.setattr(SqlSource, "fetch", delete_rows)
    model = TANClassifier()
    with pytest.raises(ValueError, match="source must hold the same rows in every query"):
        model.fit_dataset(SqlSource(database, "rows"), target="select")
    assert not hasattr(model, "classes_")
