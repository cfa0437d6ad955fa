"""Tables and queries of a database as sources: what is refused, and how rows are read."""

import sqlite3

import numpy as np
import pytest

from priorwise import NaiveBayesClassifier
from priorwise.data import SourceError, SqlSource, open_source
from priorwise.data.sources.sql.dialect import DIALECTS

duckdb = pytest.importorskip("duckdb")


@pytest.fixture
def database():
    database = sqlite3.connect(":memory:")
    database.execute(
        'CREATE TABLE "my rows" ("a ""b""" REAL, word TEXT, blob BLOB, y INTEGER, w REAL)'
    )
    rows = [(1.5, "it's", b"x", 1, 2), (None, None, b"y", 0, 1), (-0.5, "é\0", b"z", 1, 0)]
    database.executemany('INSERT INTO "my rows" VALUES (?, ?, ?, ?, ?)', rows)
    return database


def test_rows_with_weights_are_counted_but_not_read(database):
    source = SqlSource(database, "my rows", weight="w")
    opened = open_source(source, target="y", features=['a "b"', "word"])
    with pytest.raises(SourceError, match="weight must be None for a model that needs the rows"):
        list(opened.read())


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
        ("my rows", {"weight": "word"}, "weight 'word' must be a column of numbers"),
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
        (
            "SELECT word, y, y - 1 AS w FROM [my rows]",
            "y",
            SourceError,
            "weight 'w' must be finite",
        ),
    ],
)
def test_what_cannot_be_learnt_is_an_error_and_leaves_the_model(
    query, target, error, message, database
):
    model = NaiveBayesClassifier()
    source = SqlSource(database, query, weight="w" if " AS w" in query else None)
    with pytest.raises(error, match=message):
        model.fit_dataset(source, target=target)
    assert not hasattr(model, "classes_")


def open_file():
    """Return an object of a driver that is not known."""
    return type("Connection", (), {"cursor": None})()


def test_a_connection_that_is_none_is_refused():
    with pytest.raises(TypeError, match="connection must be a DB-API or ADBC connection"):
        SqlSource("database.db", "rows")
    with pytest.raises(ValueError, match=r"dialect must be one of \['duckdb', .* got None"):
        SqlSource(open_file(), "rows")


def test_a_checkpoint_is_refused(database, tmp_path):
    source = SqlSource(database, "SELECT word, y FROM [my rows]")
    with pytest.raises(ValueError, match="checkpoint must be None for a SqlSource"):
        NaiveBayesClassifier().fit_dataset(source, target="y", checkpoint=tmp_path)


@pytest.mark.parametrize("name", ["sqlite", "duckdb"])
def test_constants_have_exactly_the_value_they_stand_for(name, rng):
    database = sqlite3.connect(":memory:") if name == "sqlite" else duckdb.connect()
    numbers = rng.normal(size=200) * 10.0 ** rng.integers(-300, 300, size=200)
    values = [*numbers.tolist(), 5e-324, -(2**62), "it's", 'a "b" \\ %s ?', "\0", "é\nü"]
    query = "SELECT " + ", ".join(DIALECTS[name].constant(value) for value in values)
    assert list(database.execute(query).fetchone()) == values
    assert np.isfinite(numbers).all()
