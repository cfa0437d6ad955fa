"""Time to read a table of mixed columns, beside another version of the library.

    python benchmarks/reading.py [--other PATH] [--rows 1000000] [--rounds 3] [--frames]

Three CSV files of 30 columns are read whole and in batches: "mixed" has numbers, whole numbers,
categories, strings, booleans, and numbers with missing values; "numbers" has numbers, a third of
them whole; "labels" has texts, of 10 to 1,000 different ones. With --frames an encoder is also
fitted to frames with the mixed columns, and reads them again. Each version runs in a process of its
own, in turn; PATH is the Python of an environment with the other version. Printed are the least
seconds of the processor of each task, and the ratio of the versions.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

WORDS = np.array([f"label {i}" for i in range(1000)], dtype=object)
TABLES = ("mixed", "numbers", "labels")


def draw(table: str, n_rows: int) -> Any:
    """Return a frame with 30 columns."""
    import pandas as pd

    rng = np.random.default_rng(0)
    columns: dict[str, object] = {}
    if table == "mixed":
        for i in range(6):
            columns[f"number {i}"] = rng.normal(size=n_rows)
            columns[f"whole {i}"] = rng.integers(0, 100, n_rows)
            columns[f"text {i}"] = WORDS[rng.integers(0, 10 ** (i % 3 + 1), n_rows)]
            columns[f"category {i}"] = pd.Categorical(WORDS[rng.integers(0, 50, n_rows)])
            gaps = rng.normal(size=n_rows)
            gaps[rng.random(n_rows) < 0.1] = np.nan
            columns[f"gaps {i}"] = gaps if i % 2 else rng.random(n_rows) < 0.5
        return pd.DataFrame(columns)
    for i in range(30):
        if table == "labels":
            columns[f"text {i}"] = WORDS[rng.integers(0, 10 ** (i % 3 + 1), n_rows)]
        else:
            whole = rng.integers(0, 10_000, n_rows)
            columns[f"number {i}"] = whole if i % 3 == 0 else rng.normal(size=n_rows)
    return pd.DataFrame(columns)


def measure(folder: Path, n_rows: int, with_frames: bool) -> dict[str, float]:
    """Return the seconds of each task."""
    from priorwise.data import open_source
    from priorwise.datasets import read_table

    seconds: dict[str, float] = {}

    def clock(task: str, run: Callable[[], Any]) -> None:
        start = time.process_time()
        run()
        seconds[task] = time.process_time() - start

    for table in TABLES:
        path = folder / f"{table}.csv"
        clock(f"{table}, whole", lambda path=path: read_table(path, kind="pyarrow"))
        clock(f"{table}, batches", lambda path=path: [*map(len, _batches(open_source, path))])
    if with_frames:
        import polars as pl

        from priorwise.data.encoding import TableEncoder

        frame = draw("mixed", n_rows)
        y = np.random.default_rng(1).integers(0, 2, n_rows)
        for name, X in {"pandas": frame, "polars": pl.from_pandas(frame)}.items():
            encoder = TableEncoder(discretizer="equal-width")
            clock(f"{name}, fit", lambda X=X, encoder=encoder: encoder.fit(X, y))
            clock(f"{name}, read", lambda X=X, encoder=encoder: encoder.read(X))
    return seconds


def _batches(open_source: Any, path: Path) -> Any:
    return (batch.X for batch in open_source(path, target=None).read())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--other", help="Python of an environment with another version")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--frames", action="store_true")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(Path(options.measure), options.rows, options.frames)))
        return
    versions = [sys.executable] + ([options.other] if options.other else [])
    times: list[dict[str, list[float]]] = [{} for _ in versions]
    with tempfile.TemporaryDirectory() as folder:
        for table in TABLES:
            draw(table, options.rows).to_csv(Path(folder) / f"{table}.csv", index=False)
        more = ["--measure", folder, "--rows", str(options.rows)] + ["--frames"] * options.frames
        for _ in range(options.rounds):
            for version, found in zip(versions, times, strict=True):
                command = [version, __file__, *more]
                answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                for task, seconds in json.loads(answer).items():
                    found.setdefault(task, []).append(seconds)
    print(f"{'task':18}" + "".join(f"{name:>10}" for name in ("this", "other", "ratio")))
    for task in times[0]:
        least = [min(found[task]) for found in times]
        ratio = [least[0] / least[1]] if len(least) > 1 else []
        print(f"{task:18}" + "".join(f"{number:10.2f}" for number in [*least, *ratio]))


if __name__ == "__main__":
    main()
