"""Do rows in memory, in batches, on workers and in a database give the same model?

    python benchmarks/same_rows.py FOLDER [--sets 10] [--rows 300]

Every classifier that streams is fitted to rows in memory, and by `fit_dataset` to the same rows in
batches of 1, 7, 1,000 and all rows, from a DuckDB table, from a Dask frame and from a Spark frame.
A row of the table that is printed is a data set, a column a way to hand over the rows, and a cell
the number of classifiers whose probabilities are the same bits. FOLDER has ARFF files (by default
the folder in the environment variable PRIORWISE_DATA); those with labels, numbers and missing
values come first.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd

import priorwise
from priorwise.data import SqlSource, read_arff

TARGET = "the class"
BATCHES = (1, 7, 1_000, None)
"""Rows of a batch; None for all."""


def make_classifiers() -> dict[str, Any]:
    """Return the classifiers by name, in fast settings with fixed seeds."""
    return {
        "naive Bayes": priorwise.NaiveBayesClassifier(),
        "TAN": priorwise.TANClassifier(),
        "kDB": priorwise.KDBClassifier(max_parents=2),
        "selective kDB": priorwise.SelectiveKDBClassifier(max_parents=2),
        "AODE": priorwise.AODEClassifier(),
        "KDF": priorwise.KDFClassifier(max_parents=2),
        "SuperParent": priorwise.SuperParentClassifier(),
        "ESKDB": priorwise.ESKDBClassifier(n_estimators=3, max_parents=2, random_state=0),
        "forest": priorwise.ProbabilityForestClassifier(5, random_state=0),
        "spline": priorwise.SplineLogisticClassifier(random_state=0),
        "boosting": priorwise.BoostingClassifier(max_rounds=10, random_state=0),
        "flagship": priorwise.PriorwiseClassifier(effort="fast", random_state=0),
    }


def read_tables(folder: Path, n_sets: int, n_rows: int) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield tables, those with the most kinds of columns first."""
    found = {path.stem: path for path in sorted(folder.rglob("*.arff*"))}
    files = sorted(found.values(), key=lambda path: (path.stat().st_size, path.name))
    tables = []
    for path in files[: 6 * n_sets]:
        frame = read_arff(path).to_frame("pandas")
        frame = frame[frame.iloc[:, -1].notna()].sample(frac=1.0, random_state=0)[:n_rows]
        frame = frame.reset_index(drop=True)
        frame.columns = [*(f"x{i}" for i in range(frame.shape[1] - 1)), TARGET]
        frame[TARGET] = frame[TARGET].astype(str)
        is_number = [pd.api.types.is_numeric_dtype(kind) for kind in frame.dtypes[:-1]]
        n_kinds = any(is_number) + (not all(is_number)) + bool(frame.isna().any(axis=None))
        if frame[TARGET].nunique() > 1:
            tables.append((-n_kinds, len(tables), path.stem, frame))
    for *_, name, frame in sorted(tables, key=lambda table: table[:2])[:n_sets]:
        yield name, frame


def list_ways(spark: Any) -> dict[str, Callable[[pd.DataFrame], tuple[Any, dict[str, Any]]]]:
    """Return the ways to hand over a table: a source and options of `fit_dataset`."""
    ways: dict[str, Callable[[pd.DataFrame], tuple[Any, dict[str, Any]]]] = {
        f"batches of {size or 'all'}": lambda frame, size=size: (  # type: ignore[misc]
            frame, {"batch_rows": size or len(frame)}
        )
        for size in BATCHES
    }  # fmt: skip
    ways["DuckDB"] = _in_duckdb
    ways["Dask"] = _in_dask
    if spark is not None:
        ways["Spark"] = lambda frame: (spark.createDataFrame(_as_texts(frame)).repartition(3), {})
    return ways


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", nargs="?", default=os.environ.get("PRIORWISE_DATA"), type=Path)
    parser.add_argument("--sets", type=int, default=10)
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--without-spark", action="store_true")
    arguments = parser.parse_args()
    # Small tables have classes of few rows and copies of rows.
    warnings.simplefilter("ignore")
    ways = list_ways(None if arguments.without_spark else _start_spark())
    classifiers = make_classifiers()
    print(f"{'set':<26}" + "".join(f"{way:>18}" for way in ways))
    for name, frame in read_tables(arguments.folder, arguments.sets, arguments.rows):
        rows = _as_texts(frame)
        X, y = rows.drop(columns=TARGET), rows[TARGET].to_numpy()
        expected = {key: model.fit(X, y).predict_proba(X) for key, model in classifiers.items()}
        cells = []
        for way in ways.values():
            differ = []
            for key, model in classifiers.items():
                source, options = way(rows)
                found = model.fit_dataset(source, TARGET, **options).predict_proba(X)
                if not np.array_equal(found, expected[key]):
                    differ.append(f"{key} {np.abs(found - expected[key]).max():.0e}")
            cells.append(f"{len(classifiers) - len(differ)} of {len(classifiers)}")
            if differ:
                cells[-1] += f" ({', '.join(differ)})"
        print(f"{name:<26}" + "".join(f"{cell:>18}" for cell in cells), flush=True)


def _as_texts(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose labels are texts, which every engine has."""
    columns = {
        name: column
        if pd.api.types.is_numeric_dtype(column)
        else column.astype(object).where(column.notna(), None)
        for name, column in frame.items()
    }
    return pd.DataFrame(columns)


def _in_duckdb(frame: pd.DataFrame) -> tuple[Any, dict[str, Any]]:
    connection = duckdb.connect()
    connection.register("given", frame)
    connection.execute("CREATE TABLE kept AS SELECT * FROM given")
    return SqlSource(connection, "kept"), {"batch_rows": 100}


def _in_dask(frame: pd.DataFrame) -> tuple[Any, dict[str, Any]]:
    import dask.dataframe as dd

    return dd.from_pandas(frame, npartitions=3), {}


def _start_spark() -> Any:
    from pyspark import sql

    return (
        sql.SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "localhost")
        .config("spark.sql.execution.arrow.pyspark.enabled", "true")
        .getOrCreate()
    )


if __name__ == "__main__":
    main()
