"""Is a model that is learnt from a database that of `fit`, and how long does it take?"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import priorwise as pw
from priorwise.data import SqlSource
from priorwise.datasets import read_table
from scaling.equality import same_counts
from scaling.measure import run_apart

MODELS: dict[str, Callable[..., Any]] = {
    "naive Bayes": pw.NaiveBayesClassifier,
    "TAN": pw.TANClassifier,
    "kDB-2": lambda **options: pw.KDBClassifier(2, **options),
    "AODE": pw.AODEClassifier,
}
COLOURS = ("red", "green", "blue", "light grey", "black", "white", "orange", "violet")
BATCH = 500_000


def show(data: Path | None, folder: Path, sets: list[str], rows: list[int], n_jobs: int) -> None:
    if data is not None:
        print("\nDatabases: fit_dataset of DuckDB and SQLite against fit (largest difference of a")
        print("probability; 'same' if structure and counts are equal)")
        print(f"{'set':22}{'database':10}" + "".join(f"{name:>16}" for name in MODELS))
        for name in sets:
            show_equality(name, read_table(find_file(data, name), kind="pandas"))
        show_join(read_table(find_file(data, sets[0]), kind="pandas"))
    print("\nDuckDB reading a Parquet file, beside fit_dataset on the same file (seconds)")
    for n_rows in rows:
        path = write_rows(folder, n_rows)
        for name in MODELS:
            parts = {"path": str(path), "model": name, "n_jobs": n_jobs}
            streamed = run_apart("scaling.databases:learn_from_file", **parts)
            counted = run_apart("scaling.databases:learn_in_duckdb", **parts)
            apart = np.abs(np.subtract(streamed["proba"], counted["proba"])).max()
            same = "same" if apart == 0 else f"probabilities {apart:.0e} apart"
            if not (streamed["exact"] and counted["exact"]):
                same += ", values merged to keep to the memory limit"
            print(
                f"{n_rows:12,} rows {name:12} file {streamed['seconds']:7.1f}  DuckDB "
                f"{counted['seconds']:7.1f}  ratio {counted['seconds'] / streamed['seconds']:.2f}  "
                f"processor time {counted['processor'] / streamed['processor']:.2f}  {same}",
                flush=True,
            )


def find_file(data: Path, name: str) -> Path:
    return next(path for path in data.rglob(f"{name}.arff*"))


def show_equality(name: str, frame: Any) -> None:
    import sqlite3

    frame, target = prepare(frame)
    lite = sqlite3.connect(":memory:")
    frame.to_sql("rows", lite, index=False)
    for database in (open_duckdb(frame), lite):
        source = SqlSource(database, "rows")
        print(f"{name:22}{source.dialect.name:10}" + compare(source, frame, target), flush=True)


def show_join(frame: Any) -> None:
    """The first set in two tables: half of its features belong to a key that many rows share."""
    frame, target = prepare(frame)
    half = list(frame.columns[: len(frame.columns) // 2])
    keys = frame[half].drop_duplicates().reset_index(drop=True)
    keys["the key"] = np.arange(len(keys))
    facts = frame.merge(keys, on=half).drop(columns=half)
    database = open_duckdb(facts)
    database.register("keys", keys)
    source = SqlSource(database, 'SELECT * EXCLUDE "the key" FROM rows JOIN keys USING ("the key")')
    frame = database.execute(source.query).df()
    print(f"{'join of two tables':22}{source.dialect.name:10}" + compare(source, frame, target))


def prepare(frame: Any) -> tuple[Any, str]:
    """Texts for categories, since databases have no such type, and the name of the class."""
    frame = frame.copy()
    for column in frame.columns[[str(t) == "category" for t in frame.dtypes]]:
        frame[column] = frame[column].astype(object).where(frame[column].notna(), None)
    return frame, str(frame.columns[-1])


def open_duckdb(frame: Any) -> Any:
    import duckdb

    database = duckdb.connect()
    database.register("given", frame)
    return database.execute("CREATE TABLE rows AS SELECT * FROM given")


def compare(source: SqlSource, frame: Any, target: str) -> str:
    X, y = frame.drop(columns=target), frame[target].to_numpy()
    cells = []
    for make in MODELS.values():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of numbers that are written as text
            expected = make().fit(X, y)
            found = make().fit_dataset(source, target=target)
        apart = np.abs(found.predict_proba(X) - expected.predict_proba(X)).max()
        cells.append(f"{apart:.0e} {'same' if same_counts(found, expected) else 'OTHER'}")
    return "".join(f"{cell:>16}" for cell in cells)


def write_rows(folder: Path, n_rows: int) -> Path:
    """Ten features in a Parquet file: five numbers, one of them never rounded, and five colours."""
    import pyarrow as pa
    from pyarrow import parquet

    path = folder / f"mixed-{n_rows}.parquet"
    if path.exists():
        return path
    rng, writer = np.random.default_rng(0), None
    colours = np.array(COLOURS)
    for start in range(0, n_rows, BATCH):
        n = min(BATCH, n_rows - start)
        y = rng.integers(3, size=n)
        columns: dict[str, Any] = {
            f"number{i}": (y * 0.5 * i + rng.normal(size=n)).round(2) for i in range(3)
        }
        columns["exact"] = y * 0.3 + rng.normal(size=n)
        columns["age"] = rng.integers(18, 80, size=n) + 5 * y
        value = y
        for i in range(5):
            value = np.where(rng.random(n) < 0.5, value, rng.integers(4 + i, size=n))
            columns[f"colour{i}"] = pa.array(colours[value]).dictionary_encode()
        columns["label"] = pa.array(np.array(["low", "middle", "high"])[y]).dictionary_encode()
        table = pa.table(columns)
        writer = writer or parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()
    return path


def learn_from_file(path: str, model: str, n_jobs: int) -> dict[str, Any]:
    learnt = MODELS[model](n_jobs=n_jobs).fit_dataset(path, target="label")
    return describe(learnt, path)


def learn_in_duckdb(path: str, model: str, n_jobs: int) -> dict[str, Any]:
    import duckdb

    database = duckdb.connect(config={"threads": n_jobs})
    quoted = path.replace("'", "''")
    source = SqlSource(database, f"SELECT * FROM '{quoted}'")
    learnt = MODELS[model](n_jobs=n_jobs).fit_dataset(source, target="label")
    return describe(learnt, path)


def describe(model: Any, path: str) -> dict[str, Any]:
    from pyarrow import parquet

    times = os.times()
    rows = next(parquet.ParquetFile(path).iter_batches(1000)).to_pandas().drop(columns="label")
    return {
        "proba": model.predict_proba(rows).tolist(),
        "exact": bool(model.has_exact_cuts_),
        "processor": times.user + times.system,
    }
