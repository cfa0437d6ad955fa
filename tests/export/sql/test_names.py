"""Names of columns, tables and classes in queries."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing

import numpy as np
import pandas as pd
import pytest

from export.sql.databases import DIALECTS, run_sql, run_sqlite
from priorwise import PriorwiseClassifier, ProbabilityTreeClassifier, SplineLogisticClassifier
from priorwise.export import export_sql

OWN_NAMES = [
    *("id", "ID", "feature", "value", "class", "class_", "p", "s", "f0", "F1", "name", "kind"),
    *("label", "number", "mean", "t", "r", "x", "pw_x", "PW_ROW", "node", "weight", "select"),
    *("rows", 'a "quoted" name', "p(1)", "two\nlines", "semi;colon -- comment", "gr\u00f6\u00dfe"),
    *("'", "", "{0}", "%s", "x" * 60),
]
"""Names that mean something in queries."""


def make_rows(names, n_rows=120):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n_rows, len(names))), columns=names)
    X = X.astype(dict.fromkeys(names[::2], object))
    X[names[::2]] = np.where(X[names[::2]] > 0, "b", "a")
    return X, ((X.iloc[:, 0] == "a") ^ (X.iloc[:, 1] > 0)).to_numpy().astype(int)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_name_of_a_column_meets_one_of_the_query(dialect, request):
    names = [name for name in OWN_NAMES if name or dialect == "sqlite"]
    if dialect != "postgres":
        names.remove("ID")
    X, y = make_rows(names)
    model = SplineLogisticClassifier(random_state=0).fit(X, y)
    rows = X[:9].assign(key=range(9, 0, -1))
    query = export_sql(model, dialect=dialect, keep=["id", "key"])
    found = run_sql(dialect, query, rows, request)
    assert [row[0] for row in found] == rows["id"].tolist()
    assert [float(row[1]) for row in found] == rows["key"].tolist()
    proba = np.array([row[2:] for row in found], dtype=float)
    np.testing.assert_allclose(proba, model.predict_proba(X[:9]), rtol=0, atol=1e-9)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", ["id", "ID"])
def test_a_key_named_id_is_kept(dialect, name, request):
    X, y = make_rows(["a", "b"])
    model = ProbabilityTreeClassifier("laplace", random_state=0).fit(X, y)
    rows = X[:5].assign(**{name: [70, 50, 90, 10, 30]})
    query = export_sql(model, dialect=dialect, keep=[name])
    found = np.array(run_sql(dialect, query, rows, request), dtype=float)
    assert found[:, 0].tolist() == [70, 50, 90, 10, 30]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_flagship_with_a_column_named_id_agrees(dialect, request):
    X, y = make_rows(["id", "feature", "class", "value"], 200)
    model = PriorwiseClassifier("fast", random_state=0).fit(X, y)
    found = run_sql(dialect, export_sql(model, dialect=dialect), X[:5], request)
    proba = np.array(found, dtype=float)
    np.testing.assert_allclose(proba, model.predict_proba(X[:5]), rtol=0, atol=1e-9)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("keep", [[], ["key"]])
def test_a_column_that_the_table_lacks_is_an_error(dialect, keep, request):
    X, y = make_rows(["a", "b"])
    model = ProbabilityTreeClassifier("laplace", random_state=0).fit(X, y)
    rows = X if keep else X.drop(columns="a")
    query = export_sql(model, dialect=dialect, keep=keep)
    with pytest.raises(Exception, match=r"(?i)column.*(a|key)"):
        run_sql(dialect, query, rows[:3], request)


def test_a_table_may_have_any_name_with_its_schema():
    X, y = make_rows(["a", "b"])
    model = ProbabilityTreeClassifier("laplace", random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"table must not begin with 'pw_'.* got 'PW_Row': name"):
        export_sql(model, table="PW_Row")
    with closing(sqlite3.connect(":memory:")) as connection:
        X[:3].to_sql("pw_row", connection, index=False)
        query = export_sql(model, dialect="sqlite", table="main.pw_row")
        found = connection.execute(query).fetchall()
    np.testing.assert_allclose(found, model.predict_proba(X[:3]), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("names", "dialect", "problem"),
    [
        (["size", "Size"], "sqlite", "columns 'size' and 'Size' are one in sqlite"),
        (["size", "Size"], "duckdb", "columns 'size' and 'Size' are one in duckdb"),
        (["n" * 63 + "1", "n" * 63 + "2"], "postgres", "are one in postgres"),
        (["", "a"], "postgres", "postgres cannot have a column of the name ''"),
        (["", "a"], "duckdb", "duckdb cannot have a column of the name ''"),
        (["a\0b", "a"], "sqlite", r"sqlite cannot have a column of the name 'a\x00b'"),
    ],
)
def test_names_that_a_database_cannot_have_are_refused(names, dialect, problem):
    X, y = make_rows(names)
    model = ProbabilityTreeClassifier("laplace", random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=re.escape(problem)):
        export_sql(model, dialect=dialect)


def test_names_that_differ_in_case_are_two_in_postgres(request):
    X, y = make_rows(["size", "Size"])
    model = ProbabilityTreeClassifier("laplace", random_state=0).fit(X, y)
    found = run_sql("postgres", export_sql(model, dialect="postgres"), X[:5], request)
    proba = np.array(found, dtype=float)
    np.testing.assert_allclose(proba, model.predict_proba(X[:5]), rtol=0, atol=1e-9)


def test_classes_may_have_any_text():
    X, y = make_rows(["a", "b"])
    classes = np.array(['"; DROP TABLE rows; --', "it's\n"])
    model = ProbabilityTreeClassifier("laplace", random_state=0).fit(X, classes[y])
    found = run_sqlite(export_sql(model, dialect="sqlite"), X[:3])
    np.testing.assert_allclose(found, model.predict_proba(X[:3]), rtol=0, atol=1e-9)
