"""Compare exported models with Python on real data sets: largest differences, sizes and latency.

    python benchmarks/exports.py DATA [--effort fast] [--rows 1000] [--names adult,...]
                                 [--postgres HOST]

DATA is a folder of ARFF, CSV or Parquet files. Of each data set, a flagship is fitted to 70 % of at
most `--train-rows` rows; `--rows` of the other rows, drawn with repetition, are predicted, a tenth
of their values missing and a tenth of their labels replaced by one that training did not have.
JavaScript needs Node, C a compiler (cc), SQL the module duckdb, and PostgreSQL a server that psql
reaches as the current user with `--postgres`, which is the folder of its socket or a host; what is
not there is left out. C is compiled without warnings by cc and clang, and once more with
AddressSanitizer. The latency in C is the mean over the rows, one at a time, of processor time.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import warnings
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from priorwise import PriorwiseClassifier
from priorwise.datasets import find_datasets
from priorwise.export import export_c, export_json, export_sql, javascript_evaluator
from priorwise.export.c_arrays import write_double, write_string

NAMES = (
    "adult", "annealing", "audiology", "car-evaluation", "connectionist-vowel", "dresses-sales",
    "energy-efficiency-y1", "mushroom", "vehicle", "house-votes-84",
)  # fmt: skip
WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")

NODE = """
const fs = require("fs"), priorwise = require("./evaluator.js");
const model = priorwise.load(JSON.parse(fs.readFileSync("model.json", "utf-8")));
const rows = JSON.parse(fs.readFileSync("rows.json", "utf-8"));
const proba = rows.map((row) => model.predictProba(row));
const start = process.cpuUsage().user;
rows.forEach((row) => model.predictProba(row));
console.log(JSON.stringify({ proba, time: (process.cpuUsage().user - start) / rows.length }));
"""

MAIN = """
#include "model.c"
#include <stdio.h>
#include <time.h>
static const struct model_row rows[] = {ROWS};
int main(void)
{
    const size_t n = sizeof rows / sizeof *rows;
    double proba[model_N_CLASSES], sum = 0.0;
    clock_t start;
    size_t i;
    int k;
    for (i = 0; i < n; ++i) {
        model_predict_proba(rows + i, proba);
        for (k = 0; k < model_N_CLASSES; ++k) printf("%.17g ", proba[k]);
    }
    start = clock();
    for (k = 0; k < 20; ++k)
        for (i = 0; i < n; ++i) sum += model_predict_proba(rows + i, proba);
    printf("%g\\n", (double)(clock() - start) / CLOCKS_PER_SEC / 20.0 / (double)n * 1e6);
    return sum < 0.0;
}
"""


def spoil(X: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Rows with missing and unseen values."""
    columns = {}
    for name in X:
        values = X[name].astype(object)
        if not pd.api.types.is_numeric_dtype(X[name]):
            values = values.mask(rng.random(len(X)) < 0.1, "never seen")
        columns[name] = values.mask(rng.random(len(X)) < 0.1, None)
    return pd.DataFrame(columns).where(lambda frame: frame.notna(), None)


def run_node(model: Any, path: Path, rows: list[dict[str, Any]]) -> tuple[np.ndarray, float]:
    """Probabilities by JavaScript, and microseconds for a row."""
    export_json(model, path / "model.json")
    (path / "evaluator.js").write_text(javascript_evaluator(), encoding="utf-8")
    (path / "main.js").write_text(NODE)
    (path / "rows.json").write_text(json.dumps(rows))
    ran = subprocess.run(["node", "main.js"], cwd=path, capture_output=True, check=True)
    result = json.loads(ran.stdout)
    return np.array(result["proba"]), result["time"]


def write_cell(value: Any, is_text: bool) -> str:
    """A value as the C file takes it."""
    if is_text:
        return "0" if value is None else write_string(str(value).encode())
    return "NAN" if value is None else write_double(float(value))


SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
COMPILERS = (("cc", ["-O2"]), ("clang", ["-O2"]), ("cc", ["-O1", *SANITIZERS]))


def run_c(
    model: Any, path: Path, rows: list[dict[str, Any]], compilers: Any = COMPILERS
) -> tuple[np.ndarray, float]:
    """Probabilities by C, and microseconds for a row, of the first of several compilers."""
    export_c(model, path / "model.c")
    nominal = model.encoder_.is_nominal_.tolist()
    cells = [
        [write_cell(value, text) for value, text in zip(row.values(), nominal, strict=True)]
        for row in rows
    ]
    table = ",\n".join("{" + ",".join(row) + "}" for row in cells)
    (path / "main.c").write_text(MAIN.replace("ROWS", table), encoding="utf-8")
    results = []
    for compiler, options in compilers:
        if not shutil.which(compiler):
            continue
        command = [compiler, *WARNINGS, *options, "main.c", "-o", "main", "-lm"]
        subprocess.run(command, cwd=path, check=True)
        ran = subprocess.run([path / "main"], capture_output=True, check=True)
        *proba, time = map(float, ran.stdout.split())
        results.append((np.array(proba).reshape(len(rows), -1), time))
    for proba, _ in results[1:]:
        np.testing.assert_allclose(proba, results[0][0], rtol=0, atol=1e-9)
    return results[0]


def run_sqlite(model: Any, rows: list[dict[str, Any]]) -> np.ndarray:
    """Probabilities by SQLite."""
    names = ", ".join('"' + name.replace('"', '""') + '"' for name in rows[0])
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE rows ({names})")
        marks = ", ".join("?" * len(rows[0]))
        values = [list(row.values()) for row in rows]
        connection.executemany(f"INSERT INTO rows VALUES ({marks})", values)
        return np.array(connection.execute(export_sql(model, dialect="sqlite")).fetchall())


def run_duckdb(model: Any, frame: pd.DataFrame) -> np.ndarray:
    """Probabilities by DuckDB, of numbers and texts."""
    import duckdb

    columns = {
        name: frame[name].astype("string" if nominal else "float64")
        for name, nominal in zip(frame, model.encoder_.is_nominal_, strict=True)
    }
    table = pd.DataFrame(columns)
    with duckdb.connect() as connection:
        connection.register("source", table)
        connection.execute("CREATE TABLE rows AS SELECT * FROM source")
        return np.array(connection.execute(export_sql(model)).fetchall())


def run_postgres(model: Any, frame: pd.DataFrame, path: Path, host: str) -> np.ndarray:
    """Probabilities by PostgreSQL, of numbers and texts."""
    nominal = model.encoder_.is_nominal_
    columns = ", ".join(
        '"' + name.replace('"', '""') + ('" text' if is_text else '" float8')
        for name, is_text in zip(frame, nominal, strict=True)
    )
    # The server may store rows in another order, so they have a number.
    table = frame.reset_index(drop=True)
    table.to_csv(path / "rows.csv", index=True, header=False, na_rep="\\N")
    script = (
        f"CREATE TEMPORARY TABLE rows (number_of_row float8, {columns});\n"
        f"\\copy rows FROM '{path}/rows.csv' (FORMAT csv, NULL '\\N')\n"
        f"{export_sql(model, dialect='postgres', keep=['number_of_row'])};"
    )
    command = ["psql", "-h", host, "-d", "postgres", "-qtA", "-F", " ", "-v", "ON_ERROR_STOP=1"]
    # To compile expressions takes PostgreSQL longer than to compute them for a thousand rows, and
    # it knows too little of the tables in the query to tell when loops over two of them take long.
    environment = {**os.environ, "PGOPTIONS": "-c jit=off -c enable_nestloop=off"}
    ran = subprocess.run(
        command, input=script, stdout=subprocess.PIPE, text=True, check=True, env=environment
    )
    result = np.array(ran.stdout.split(), dtype=float).reshape(len(frame), -1)
    return result[result[:, 0].argsort(), 1:]


def has_duckdb() -> bool:
    try:
        import duckdb  # noqa: F401
    except ImportError:
        return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--names", default=",".join(NAMES))
    parser.add_argument("--effort", default="fast")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--train-rows", type=int, default=50_000)
    parser.add_argument("--postgres")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    found = find_datasets(options.data)
    print("| data set | rows | JavaScript | C | SQLite | DuckDB | PostgreSQL | JSON MB | C MB | "
          "JavaScript us a row | C us a row |\n" + 11 * "|---" + "|")  # fmt: skip
    worst = 0.0
    for name in options.names.split(","):
        dataset = next(found[key] for key in sorted(found) if key.split("/")[-1] == name)
        X, y = dataset()
        rng = np.random.default_rng(0)
        order = rng.permutation(len(X))[: options.train_rows]
        split = len(order) * 7 // 10
        model = PriorwiseClassifier(options.effort, random_state=0)
        model.fit(X.iloc[order[:split]], np.asarray(y)[order[:split]])
        fresh = spoil(X.iloc[rng.choice(order[split:], options.rows)], rng)
        rows = fresh.to_dict("records")
        expected = model.predict_proba(fresh)
        differences, sizes, times = {}, {}, {}

        def compare(way: str, proba: np.ndarray) -> None:
            differences[way] = float(np.abs(proba - expected).max())  # noqa: B023

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder)
            if shutil.which("node"):
                proba, times["JavaScript"] = run_node(model, path, rows)
                compare("JavaScript", proba)
                sizes["JSON"] = (path / "model.json").stat().st_size / 1e6
            if shutil.which("cc"):
                proba, times["C"] = run_c(model, path, rows)
                compare("C", proba)
                sizes["C"] = (path / "model.c").stat().st_size / 1e6
            if options.postgres:
                compare("PostgreSQL", run_postgres(model, fresh, path, options.postgres))
        compare("SQLite", run_sqlite(model, rows))
        if has_duckdb():
            compare("DuckDB", run_duckdb(model, fresh))
        worst = max([worst, *differences.values()])
        cells = [f"{differences[way]:.1e}" if way in differences else "-"
                 for way in ("JavaScript", "C", "SQLite", "DuckDB", "PostgreSQL")]  # fmt: skip
        cells += [f"{sizes[kind]:.2f}" if kind in sizes else "-" for kind in ("JSON", "C")]
        cells += [f"{times[way]:.1f}" if way in times else "-" for way in ("JavaScript", "C")]
        print(f"| {name} | {len(rows)} | " + " | ".join(cells) + " |", flush=True)
    print(f"largest difference: {worst:.1e}")
    sys.exit(worst > 1e-9)


if __name__ == "__main__":
    main()
