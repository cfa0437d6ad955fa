"""Runs queries on rows in databases."""

from __future__ import annotations

import csv
import io
import os
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from export.cases import list_rows, takes_text

DIALECTS = ("sqlite", "duckdb", "postgres")


def quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def as_texts(X: pd.DataFrame, model: Any) -> pd.DataFrame:
    """The frame with numbers as doubles and all else as texts."""
    columns = {}
    for name, nominal in zip(X, takes_text(model), strict=True):
        values = X[name].astype(object)
        if nominal:
            columns[name] = [None if pd.isna(v) else str(v) for v in values]
        else:
            columns[name] = values.astype(np.float64)
    return pd.DataFrame(columns)


def fill_sqlite(connection: sqlite3.Connection, X: pd.DataFrame) -> None:
    """Put rows into a table, with columns that take any value."""
    connection.execute(f"CREATE TABLE rows ({', '.join(map(quote, X))})")
    marks = ", ".join("?" * X.shape[1])
    rows = [list(row.values()) for row in list_rows(X)]
    connection.executemany(f"INSERT INTO rows VALUES ({marks})", rows)


def run_sqlite(query: str, X: pd.DataFrame) -> list[Any]:
    with closing(sqlite3.connect(":memory:")) as connection:
        fill_sqlite(connection, X)
        return connection.execute(query).fetchall()


def run_duckdb(query: str, X: pd.DataFrame) -> list[Any]:
    duckdb = pytest.importorskip("duckdb", reason="needs duckdb")
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE rows AS SELECT * FROM X")
        return connection.execute(query).fetchall()


def run_postgres(
    query: str, X: pd.DataFrame, folder: Path, types: dict[str, str] | None = None
) -> list[Any]:
    """The rows of the result as texts; numbers are doubles and all else texts but for `types`."""
    kinds = {name: "float8" if X[name].dtype.kind in "if" else "text" for name in X}
    kinds |= types or {}
    columns = ", ".join(f"{quote(name)} {kind}" for name, kind in kinds.items())
    path, names = folder / "rows.csv", ", ".join(map(quote, X))
    X.to_csv(path, index=False, header=False, na_rep="\\N", quoting=csv.QUOTE_NONNUMERIC)
    script = (
        f"DROP TABLE IF EXISTS rows;\nCREATE TABLE rows ({columns});\n"
        f"COPY rows FROM '{path}' (FORMAT csv, NULL '\\N', FORCE_NULL ({names}));\n{query};"
    )
    ran = subprocess.run(
        ["psql", "-h", folder, "-U", "tester", "-d", "postgres", "-q", "-t", "--csv",
         "-v", "ON_ERROR_STOP=1"],
        input=script, capture_output=True, encoding="utf-8",
        # As the page of exports advises.
        env={
            **os.environ, "PGCLIENTENCODING": "UTF8",
            "PGOPTIONS": "-c jit=off -c enable_nestloop=off",
        },
    )  # fmt: skip
    if ran.returncode:
        raise RuntimeError(ran.stderr)
    return list(csv.reader(io.StringIO(ran.stdout)))


def run_sql(
    dialect: str,
    query: str,
    X: pd.DataFrame,
    request: pytest.FixtureRequest,
    types: dict[str, str] | None = None,
) -> list[Any]:
    """The rows of the result of a query by the database of a dialect."""
    if dialect == "sqlite":
        return run_sqlite(query, X)
    if dialect == "duckdb":
        return run_duckdb(query, X)
    return run_postgres(query, X, request.getfixturevalue("postgres"), types)
