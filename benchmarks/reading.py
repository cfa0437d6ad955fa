"""Time to read a table of mixed columns, beside another version of the library.

    python benchmarks/reading.py [--other PATH] [--rows 1000000] [--rounds 5]

The table has 30 columns: numbers, whole numbers, categories, strings, booleans, and numbers with
missing values. Each version reads it in a process of its own, in turn; PATH is the Python of an
environment with the other version. Printed are medians of the time to fit an encoder and to read
the rows again, to read the table from a CSV file whole and in batches, and the ratio of the
versions.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np


def measure(n_rows: int) -> dict[str, float]:
    """Return the seconds of one fit and of one reading, by library of the frame."""
    import pandas as pd
    import polars as pl

    from priorwise.data import open_source
    from priorwise.data.encoding import TableEncoder
    from priorwise.datasets import read_table

    rng = np.random.default_rng(0)
    columns: dict[str, object] = {}
    words = np.array([f"label {i}" for i in range(1000)], dtype=object)
    for i in range(6):
        columns[f"number {i}"] = rng.normal(size=n_rows)
        columns[f"whole {i}"] = rng.integers(0, 100, n_rows)
        columns[f"text {i}"] = words[rng.integers(0, 10 ** (i % 3 + 1), n_rows)]
        columns[f"category {i}"] = pd.Categorical(words[rng.integers(0, 50, n_rows)])
        gaps = rng.normal(size=n_rows)
        gaps[rng.random(n_rows) < 0.1] = np.nan
        columns[f"gaps {i}"] = gaps if i % 2 else rng.random(n_rows) < 0.5
    frame = pd.DataFrame(columns)
    y = rng.integers(0, 2, n_rows)
    seconds = {}
    for name, table in {"pandas": frame, "polars": pl.from_pandas(frame)}.items():
        encoder = TableEncoder(discretizer="equal-width")
        start = time.process_time()
        encoder.fit(table, y)
        seconds[f"{name} fit"] = time.process_time() - start
        start = time.process_time()
        encoder.read(table)
        seconds[f"{name} read"] = time.process_time() - start
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        frame.to_csv(path, index=False)
        for kind in ("pyarrow", "pandas"):
            start = time.process_time()
            read_table(path, kind=kind)
            seconds[f"CSV to {kind}"] = time.process_time() - start
        start = time.process_time()
        for _ in open_source(path, target=None).read():
            pass
        seconds["CSV in batches"] = time.process_time() - start
    return seconds


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--other", help="Python of an environment with another version")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.rows)))
        return
    versions = [sys.executable] + ([options.other] if options.other else [])
    times: list[dict[str, list[float]]] = [{} for _ in versions]
    for _ in range(options.rounds):
        for version, found in zip(versions, times, strict=True):
            command = [version, __file__, "--measure", "--rows", str(options.rows)]
            answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            for task, seconds in json.loads(answer).items():
                found.setdefault(task, []).append(seconds)
    print(f"{'task':14}" + "".join(f"{name:>10}" for name in ("this", "other", "ratio")))
    for task in times[0]:
        medians = [float(np.median(found[task])) for found in times]
        ratio = [medians[0] / medians[1]] if len(medians) > 1 else []
        print(f"{task:14}" + "".join(f"{number:10.2f}" for number in [*medians, *ratio]))


if __name__ == "__main__":
    main()
