"""Models as SQL, run by databases."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from export.cases import (
    CLASSIFIERS,
    fit,
    list_rows,
    make_fresh_rows,
    make_table,
    predict,
    takes_text,
)
from priorwise import NaiveBayesClassifier
from priorwise.export import export_sql


def fill_sqlite(connection, X):
    """Put rows into a table, with columns that take any value."""
    names = ", ".join('"' + name.replace('"', '""') + '"' for name in X)
    connection.execute(f"CREATE TABLE rows ({names})")
    marks = ", ".join("?" * X.shape[1])
    rows = [list(row.values()) for row in list_rows(X)]
    connection.executemany(f"INSERT INTO rows VALUES ({marks})", rows)


def as_texts(X, model):
    """The frame with numbers as doubles and all else as texts."""
    columns = {}
    for name, nominal in zip(X, takes_text(model), strict=True):
        values = X[name].astype(object)
        if nominal:
            columns[name] = [None if pd.isna(v) else str(v) for v in values]
        else:
            columns[name] = values.astype(np.float64)
    return pd.DataFrame(columns)


@pytest.fixture(scope="module")
def postgres():
    """A folder whose socket a PostgreSQL server of the system listens to."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found or shutil.which("psql") is None:
        pytest.skip("needs PostgreSQL of the system's packages")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        user: list[str] = []
        if os.getuid() == 0:
            # The server refuses to run as root.
            if shutil.which("runuser") is None:
                pytest.skip("needs runuser to start PostgreSQL as root")
            user = ["runuser", "-u", "postgres", "--"]
            shutil.chown(folder, "postgres")
        data, options = folder / "data", f"-k {folder} -c listen_addresses="
        run: dict[str, Any] = {
            "cwd": folder,
            "check": True,
            "stdout": subprocess.DEVNULL,
            "timeout": 120,
        }
        make: list[Any] = [
            found[-1],
            "-D",
            data,
            "-A",
            "trust",
            "-U",
            "tester",
            "-E",
            "UTF8",
            "--no-locale",
        ]
        control: list[Any] = [*user, found[-1].with_name("pg_ctl"), "-D", data, "-w"]
        subprocess.run([*user, *make], **run)
        subprocess.run([*control, "-l", folder / "log", "-o", options, "start"], **run)
        try:
            yield folder
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], **run)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_sqlite_agrees_with_python(name):
    model, X = fit(name), make_fresh_rows()
    with closing(sqlite3.connect(":memory:")) as connection:
        fill_sqlite(connection, X)
        found = connection.execute(export_sql(model, dialect="sqlite")).fetchall()
    np.testing.assert_allclose(np.array(found), predict(model, X), rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_duckdb_agrees_with_python(name):
    duckdb = pytest.importorskip("duckdb", reason="needs duckdb")
    model = fit(name)
    X = as_texts(make_fresh_rows(), model)
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE rows AS SELECT * FROM X")
        found = connection.execute(export_sql(model)).fetchall()
    np.testing.assert_allclose(np.array(found), predict(model, X), rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_postgres_agrees_with_python(name, postgres):
    model = fit(name)
    # PostgreSQL takes seconds for the joins of large models, so it is given a twelfth of the rows.
    X = as_texts(make_fresh_rows(), model).iloc[::12]
    kinds = ["text" if nominal else "float8" for nominal in takes_text(model)]
    columns = ", ".join(
        '"' + name.replace('"', '""') + f'" {kind}' for name, kind in zip(X, kinds, strict=True)
    )
    X.to_csv(postgres / "rows.csv", index=False, header=False, na_rep="\\N")
    query = export_sql(model, dialect="postgres")
    script = (
        f"DROP TABLE IF EXISTS rows;\nCREATE TABLE rows ({columns});\n"
        f"\\copy rows FROM '{postgres}/rows.csv' (FORMAT csv, NULL '\\N')\n{query};"
    )
    ran = subprocess.run(
        ["psql", "-h", postgres, "-U", "tester", "-d", "postgres", "-q", "-t", "-A", "-F", " ",
         "-v", "ON_ERROR_STOP=1"],
        input=script, stdout=subprocess.PIPE, text=True, check=True,
        # To compile expressions takes PostgreSQL longer than these few rows.
        env={**os.environ, "PGOPTIONS": "-c jit=off"},
    )  # fmt: skip
    found = np.array(ran.stdout.split(), dtype=float).reshape(len(X), -1)
    np.testing.assert_allclose(found, predict(model, X), rtol=0, atol=1e-9)


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
