"""Tables and queries of a database as sources: what is refused, and how rows are read."""

import sqlite3

import numpy as np
import pytest

from priorwise import NaiveBayesClassifier
from priorwise.data import SourceError, SqlSource, open_source

duckdb = pytest.importorskip("duckdb")


@pytest.fixture
def database():
    database = sqlite3.connect(":memory:")
    database.execute('CREATE TABLE "my rows" ("a ""b""" REAL, word TEXT, blob BLOB, y INTEGER)')
    rows = [(1.5, "it's", b"x", 1), (None, None, b"y", 0), (-0.5, "é\0", b"z", 1)]
    database.executemany('INSERT INTO "my rows" VALUES (?, ?, ?, ?)', rows)
    return database


def test_rows_are_read_sorted(database):
    source = SqlSource(database, "my rows")
    opened = open_source(source, target="y", features=['a "b"', "word"], batch_rows=2)
    batches = list(opened.read())
    assert [batch.X.column(0).to_pylist() for batch in batches] == [[None, -0.5], [1.5]]
    assert [np.asarray(batch.y).tolist() for batch in batches] == [[0, 1], [1]]
    assert "sqlite: my rows, rows 0..1" in batches[0].place


@pytest.mark.parametrize(
    ("query", "settings", "message"),
    [
        ("no rows", {}, "sqlite: no rows: this is not a table or query that sqlite can read"),
        ("SELECT nothing FROM", {}, "this is not a table or query that sqlite can read"),
        (
            "my rows",
            {"dialect": "duckdb"},
            "dialect must be 'sqlite' for a connection of type sqlite3.Connection",
        ),
        ("my rows", {"dialect": "oracle"}, "dialect must be 'sqlite' .* got 'oracle'"),
        ("  ", {}, "query must be a table or a query, got '  '"),
    ],
)
def test_what_is_no_source_is_refused(query, settings, message, database):
    with pytest.raises(ValueError, match=message):
        SqlSource(database, query, **settings)


@pytest.mark.parametrize(
    ("query", "target", "error", "message"),
    [
        ("SELECT word, y FROM [my rows]", "label", SourceError, "target 'label' is missing"),
        ("SELECT y, word FROM [my rows]", "word", SourceError, "'word' must not be missing, but"),
        ("my rows", "y", TypeError, "column 'blob' has type BLOB; use numbers, dates"),
        ("SELECT word, y FROM [my rows] WHERE y = 1", "y", ValueError, "at least 2 classes, got 1"),
        ("SELECT word, y FROM [my rows] WHERE y > 1", "y", ValueError, "at least one row, got 0"),
        ("SELECT 9e999 AS x, y FROM [my rows]", "y", ValueError, "contains infinity"),
    ],
)
def test_what_cannot_be_learnt_is_an_error_and_leaves_the_model(
    query, target, error, message, database
):
    model = NaiveBayesClassifier()
    with pytest.raises(error, match=message):
        model.fit_dataset(SqlSource(database, query), target=target)
    assert not hasattr(model, "classes_")


def open_file():
    """Return an object of a driver that is not known."""
    return type("Connection", (), {"cursor": None})()


def test_a_connection_that_is_none_is_refused():
    with pytest.raises(TypeError, match="connection must be a DB-API or ADBC connection"):
        SqlSource("database.db", "rows")
    with pytest.raises(ValueError, match=r"dialect must be one of \['duckdb', .* got None"):
        SqlSource(open_file(), "rows")


def test_types_of_duckdb_are_read_as_numbers_and_labels():
    database = duckdb.connect()
    database.execute(
        "CREATE TABLE rows AS SELECT i::HUGEINT AS huge, (i / 4)::DECIMAL(9, 2) AS price, "
        "TIME '00:00:01' + to_seconds(i) AS at, to_seconds(2 * i) AS during, "
        "('k' || i % 2)::ENUM ('k0', 'k1') AS word, i % 2 = 0 AS y FROM range(3) t(i)"
    )
    (batch,) = open_source(SqlSource(database, "rows"), target="y").read()
    assert [batch.X.column(i).to_pylist() for i in range(5)] == [
        [0.0, 1.0, 2.0],
        [0.0, 0.25, 0.5],
        [1.0, 2.0, 3.0],
        [0.0, 2.0, 4.0],
        ["k0", "k1", "k0"],
    ]
    assert np.asarray(batch.y).tolist() == [True, False, True]
