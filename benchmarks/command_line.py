"""How much the command line adds: predictions of a million rows, and the processor time of --help.

Run:  python benchmarks/command_line.py [--rows 1000000]

Prints the seconds of ``priorwise predict`` from Parquet to Parquet and of the same work by the
library (`load` and `predict_dataset`) in a process of its own, their ratio, which must be at most
1.5, and the processor time of ``priorwise --help``, which must be below 0.3 seconds. Each command
is run in turn with its rival, and the shortest of the runs counts.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MAX_RATIO, MAX_HELP_SECONDS = 1.5, 0.3
N_RUNS = 3
COMMAND = [sys.executable, "-m", "priorwise"]
LIBRARY = """
import sys, priorwise
model = priorwise.load(sys.argv[1]).set_params(n_jobs=-1)
model.predict_dataset(sys.argv[2], sys.argv[3], keep=["id"], overwrite=True)
"""


def main() -> int:
    """Measure, print, and return 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    n_rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as folder:
        write_tables(Path(folder), n_rows)
        ratio = compare_predictions(Path(folder), n_rows)
    seconds = measure_help()
    print(f"--help: {seconds:.3f} s of processor time, at most {MAX_HELP_SECONDS} s")
    return int(ratio > MAX_RATIO or seconds > MAX_HELP_SECONDS)


def write_tables(folder: Path, n_rows: int) -> None:
    """Write rows with labels, numbers and missing values, and a model of the first of them."""
    import numpy as np
    import pandas as pd

    from priorwise import PriorwiseClassifier

    rng = np.random.default_rng(0)
    table = pd.DataFrame({f"x{i}": rng.normal(size=n_rows) for i in range(8)})
    table["job"] = rng.choice(["nurse", "clerk", "cook", "driver"], n_rows)
    table.loc[rng.random(n_rows) < 0.05, "x0"] = np.nan
    risk = table["x1"] + (table["job"] == "nurse") + rng.normal(size=n_rows)
    X, y = table[:20_000], np.where(risk[:20_000] > 0.3, "yes", "no")
    PriorwiseClassifier("fast", random_state=0, n_jobs=-1).fit(X, y).save(folder / "m.priorwise")
    table.insert(0, "id", np.arange(n_rows))
    table.to_parquet(folder / "rows.parquet")


def compare_predictions(folder: Path, n_rows: int) -> float:
    """Time of the command divided by that of the library."""
    paths = [str(folder / name) for name in ("m.priorwise", "rows.parquet", "out.parquet")]
    command = [*COMMAND, "predict", *paths[:2], "-o", paths[2], "--overwrite", "--keep", "id"]
    runs = {"command": command, "library": [sys.executable, "-c", LIBRARY, *paths]}
    seconds = {name: float("inf") for name in runs}
    for _ in range(N_RUNS):
        for name, arguments in runs.items():
            start = time.perf_counter()
            subprocess.run(arguments, check=True, capture_output=True)
            seconds[name] = min(seconds[name], time.perf_counter() - start)
    ratio = seconds["command"] / seconds["library"]
    print(
        f"{n_rows:,} rows from Parquet to Parquet: command {seconds['command']:.2f} s, "
        f"library {seconds['library']:.2f} s, ratio {ratio:.2f}, at most {MAX_RATIO}"
    )
    return ratio


def measure_help() -> float:
    """Processor time of ``priorwise --help``."""
    times = []
    for _ in range(N_RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*COMMAND, "--help"], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


if __name__ == "__main__":
    sys.exit(main())
