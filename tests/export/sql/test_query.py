"""Models as SQL, run by databases."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import numpy as np
import pytest

from export.cases import (
    CLASSIFIERS,
    fit,
    list_rows,
    make_fresh_rows,
    make_table,
    predict,
)
from export.sql.databases import as_texts, fill_sqlite, run_duckdb, run_postgres, run_sqlite
from priorwise import NaiveBayesClassifier
from priorwise.export import export_sql


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_sqlite_agrees_with_python(name):
    model, X = fit(name), make_fresh_rows()
    found = run_sqlite(export_sql(model, dialect="sqlite"), X)
    np.testing.assert_allclose(np.array(found), predict(model, X), rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_duckdb_agrees_with_python(name):
    model = fit(name)
    X = as_texts(make_fresh_rows(), model)
    found = run_duckdb(export_sql(model), X)
    np.testing.assert_allclose(np.array(found), predict(model, X), rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_postgres_agrees_with_python(name, postgres):
    model = fit(name)
    # PostgreSQL takes seconds for the joins of large models, so it is given a twelfth of the rows.
    X = as_texts(make_fresh_rows(), model).iloc[::12]
    found = run_postgres(export_sql(model, dialect="postgres"), X, postgres)
    np.testing.assert_allclose(np.array(found, float), predict(model, X), rtol=0, atol=1e-9)


def test_the_result_has_the_columns_to_keep_and_the_classes(tmp_path):
    model, X = fit("naive Bayes"), make_fresh_rows()
    query = export_sql(model, tmp_path / "query.sql", dialect="sqlite", table="main.rows",
                       keep=["letter"])  # fmt: skip
    assert (tmp_path / "query.sql").read_text(encoding="utf-8") == query
    with closing(sqlite3.connect(":memory:")) as connection:
        fill_sqlite(connection, X)
        result = connection.execute(query)
        names = [column[0] for column in result.description]
        letters = [row[0] for row in result]
    assert names == ["letter", "p(high)", "p(low)", "p(middle)"]
    assert letters == [row["letter"] for row in list_rows(X)]


def test_models_that_refuse_values_are_refused():
    X, y = make_table(50, 0)
    model = NaiveBayesClassifier(unseen="error").fit(X[["letter"]], y)
    with pytest.raises(ValueError, match="unseen must be 'backoff' to export a model to SQL"):
        export_sql(model)


def test_other_dialects_are_refused():
    with pytest.raises(ValueError, match="dialect"):
        export_sql(fit("naive Bayes"), dialect="oracle")
