"""Models learnt from the rows of DuckDB, SQLite and PostgreSQL."""

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
from priorwise.data import SourceError, SqlSource
from priorwise.data.sources.sql_source import SqlPart

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
def test_the_model_is_that_of_fit_on_the_fetched_rows(model, fill, frame):
    # SQLite has no booleans: what is fetched are numbers.
    frame["flag"] = frame["flag"].astype(int if fill is fill_sqlite else bool)
    X, y = frame.drop(columns="select"), frame["select"].to_numpy(dtype=object)
    expected = type(model)(**model.get_params(deep=False)).fit(X, y)
    source = SqlSource(fill(frame), "rows")
    model.set_params(n_jobs=2).fit_dataset(source, target="select", batch_rows=100)
    assert_same(model, expected, X)


def test_the_rows_of_a_join_are_read(frame):
    frame["key"] = np.arange(N_ROWS) % 7
    keys = pd.DataFrame(
        {"key": range(7), "group": list("aabbccc"), "level": [1.5, 2, 2, 3, 4, 4, 9]}
    )
    database = fill_duckdb(frame)
    database.register("keys", keys)
    joined = frame.merge(keys, on="key").drop(columns="key")
    source = SqlSource(
        database, "SELECT rows.* EXCLUDE key, k.* EXCLUDE key FROM rows JOIN keys k USING (key);"
    )
    found = KDBClassifier(2).fit_dataset(source, target="select")
    X = joined.drop(columns="select")
    assert_same(found, KDBClassifier(2).fit(X, joined["select"].to_numpy(dtype=object)), X)


def test_numbers_may_be_labels_and_texts_may_be_numbers(frame):
    frame = frame.drop(columns="flag")
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


def test_rows_that_change_between_passes_are_an_error(frame, monkeypatch):
    database = fill_sqlite(frame)
    read = SqlPart.read

    def read_and_delete(self, *args):
        yield from read(self, *args)
        database.execute("DELETE FROM rows WHERE age > 50")

    monkeypatch.setattr(SqlPart, "read", read_and_delete)
    model = TANClassifier()
    with pytest.raises(ValueError, match="source must hold the same rows in every pass"):
        model.fit_dataset(SqlSource(database, "rows"), target="select")
    assert not hasattr(model, "classes_")


def test_interrupted_work_is_resumed_if_the_rows_are_the_same(frame, tmp_path, monkeypatch):
    database = fill_sqlite(frame)
    options: dict[str, Any] = {"target": "select", "batch_rows": 100, "checkpoint": tmp_path / "c"}
    X, read, n_reads = frame.drop(columns="select"), SqlPart.read, []

    def read_or_stop(self, *args):
        n_reads.append(1)
        if len(n_reads) == 3:  # the first finds out what rows there are
            raise KeyboardInterrupt
        return read(self, *args)

    monkeypatch.setattr(SqlPart, "read", read_or_stop)
    with pytest.raises(KeyboardInterrupt):
        TANClassifier().fit_dataset(SqlSource(database, "rows"), **options)
    monkeypatch.setattr(SqlPart, "read", read)
    found = TANClassifier().fit_dataset(SqlSource(database, "rows"), **options)
    expected = TANClassifier().fit_dataset(SqlSource(database, "rows"), target="select")
    assert_same(found, expected, X)


def connect_psycopg(folder):
    psycopg = pytest.importorskip("psycopg")
    return psycopg.connect(host=str(folder), user="tester", dbname="postgres", autocommit=True)


def connect_adbc(folder):
    driver = pytest.importorskip("adbc_driver_postgresql.dbapi")
    return driver.connect(f"postgresql:///postgres?host={folder}&user=tester")


def connect_psycopg2(folder):
    psycopg2 = pytest.importorskip("psycopg2")
    return psycopg2.connect(host=str(folder), user="tester", dbname="postgres")


@pytest.mark.parametrize("connect", [connect_psycopg, connect_psycopg2, connect_adbc])
def test_rows_of_postgresql_are_read_by_their_types(connect, postgres):
    pytest.importorskip("pyarrow")
    columns = (
        "i::bigint AS whole, (i / 4.0)::numeric AS price, i % 2 = 0 AS flag, "
        "make_interval(secs => i) AS during, TIMESTAMP '2020-01-01' + make_interval(days => i) AS "
        'moment, json_build_array(i) AS list, \'é\' || i AS "the ""word""", '
        "NULLIF(i, 1)::real AS some"
    )
    connection = connect(postgres)
    query = f"SELECT {columns} FROM generate_series(0, 2) AS t(i)"
    source = SqlSource(connection, query)
    tables = [table for table, _ in SqlPart(source).read(list(source.types), 2, 0, None)]
    assert [table.num_rows for table in tables] == [2, 1]
    whole, price, flag, during, when, lists, words, some = (
        [value for table in tables for value in table.column(i).to_pylist()] for i in range(8)
    )
    assert (whole, price, flag) == ([0, 1, 2], [0.0, 0.25, 0.5], [True, False, True])
    assert (during, some) == ([0.0, 1.0, 2.0], [0.0, None, 2.0])
    assert [moment.day for moment in when] == [1, 2, 3]
    assert (lists, words) == (["[0]", "[1]", "[2]"], ["é0", "é1", "é2"])
    model = NaiveBayesClassifier().fit_dataset(source, target="flag", features=["whole", "price"])
    assert model.class_count_.tolist() == [1, 2]
    with pytest.raises(SourceError, match="this is not a table or query that postgresql can read"):
        SqlSource(connection, "no table")
    connection.close()
