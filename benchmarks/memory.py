"""How much memory do fits, fitted models and predictions take, beside XGBoost and LightGBM?

    python benchmarks/memory.py [--data FOLDER] [--sets NAME ...] [--models NAME ...] [--jobs 1]
    python benchmarks/memory.py --predict [--models NAME ...]
    python benchmarks/memory.py --stream [--sets NAME ...] [--jobs 1]

Each measurement runs in a process of its own (Linux only). Memory is resident memory above that
after the imports, a fit to a few rows and a first reading of the table; the table that is learnt
from counts. "peak" is the most during `fit`, "model" what is left of it after the table is freed,
"file" the size of the pickle. A figure above its bar has an exclamation mark.

FOLDER (by default the environment variable PRIORWISE_DATA) holds ARFF files, in folders inside it
too; sets without a file are left out. Models are "balanced" and "fast" (the flagship),
"balanced:forest" (one member of it alone), "balanced:-networks" (the flagship without one member),
"xgboost" and "lightgbm" (if they are installed).

With ``--predict`` the models learn from a few thousand rows and predict a million. The bar is on
the most memory during `predict_proba`, the rows and the probabilities counted, divided by that of
the rows and the probabilities.

With ``--stream`` networks learn from files (`fit_dataset`) within several limits: kDB from CSV and
Parquet, naive Bayes from ARFF. The bar on the peak is the limit and `STREAM_OVERHEAD`.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import importlib.util
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

MEGABYTE = 1e6
ARFF_SETS = {"adult": None, "covtype": 100_000, "letter": None, "connect-4": None}
"""Most rows of each file, drawn at random; None for all."""

PEAK_BARS = {"balanced": (200, 8), "fast": (150, 6)}
"""At most so many megabytes, and so many times the table in 64-bit floats, during `fit`."""

PEAK_SETS = ("normal", "mixed", *ARFF_SETS)
MODEL_BARS = {
    ("adult", "balanced"): 12,
    ("adult", "fast"): 3,
    ("normal", "balanced"): 25,
    ("wide", "balanced"): 10,
    ("classes", "balanced"): 10,
}
"""Largest models accepted, in megabytes."""

MILLION_BAR, PREDICTION_BAR = 4000, 3.0
FLAGSHIPS = ("balanced", "fast")
STREAM_OVERHEAD = 50
"""Megabytes beyond the limit of a stream: for decoders, allocators and the fitted model."""

STREAM_LIMITS = ("100MB", "300MB", "1GB")
STREAM_SETS = {  # Ending, rows and columns.
    "csv-small": ("csv", 80_000, 30),
    "csv": ("csv", 300_000, 30),
    "parquet": ("parquet", 1_000_000, 30),
    "arff-wide": ("arff", 3_000, 3_000),
}


def make_normal(n_rows: int, n_columns: int, n_classes: int = 2) -> tuple[Any, Any]:
    """Return numbers whose means differ a little between the classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, n_rows)
    centres = rng.normal(size=(n_classes, n_columns)) * (0.3 if n_classes == 2 else 1.0)
    return rng.normal(size=(n_rows, n_columns)) + centres[y], y


def make_mixed(n_rows: int, n_columns: int = 30) -> tuple[Any, Any]:
    """Return as many columns of numbers as of labels, and two classes that depend on them."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(n_rows, n_columns // 2))
    codes = rng.integers(0, 8, size=(n_rows, n_columns - n_columns // 2))
    score = numbers[:, 0] * numbers[:, 1] + numbers[:, 2] + (codes[:, 0] == codes[:, 1])
    frame = pd.DataFrame({f"x{i}": column for i, column in enumerate(numbers.T)})
    for i, column in enumerate(codes.T):
        frame[f"c{i}"] = pd.Categorical.from_codes(column, categories=list("abcdefgh"))
    return frame, (score + rng.normal(size=n_rows) > 0.3).astype(int)


def make_random(n_rows: int, n_columns: int) -> tuple[Any, Any]:
    """Return numbers and two classes, all drawn apart."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(n_rows, n_columns)), rng.integers(0, 2, n_rows)


GENERATED_SETS = {
    "normal": lambda: make_random(20_000, 28),
    "mixed": lambda: make_mixed(50_000),
    "wide": lambda: make_normal(50, 1_000),
    "classes": lambda: make_normal(1_000, 10, n_classes=100),
    "million": lambda: make_mixed(1_000_000),
}


def load(name: str, folder: Path | None) -> tuple[Any, Any]:
    """Return rows and classes of a data set."""
    if name in GENERATED_SETS:
        return GENERATED_SETS[name]()
    from priorwise.data import read_arff

    if folder is None:
        raise FileNotFoundError("PRIORWISE_DATA or --data must name a folder of ARFF files")
    table = read_arff(sorted(folder.rglob(f"{name}.arff*"))[0]).to_frame()
    table, most = table[table.iloc[:, -1].notna()], ARFF_SETS[name]
    if most is not None:
        table = table.sample(most, random_state=0)
    y = pd.factorize(table.iloc[:, -1], sort=True)[0]
    return table.iloc[:, :-1].reset_index(drop=True), y


def make_model(name: str, X: Any, y: Any, n_jobs: int) -> Any:
    """Return a classifier by the name that the command line has, for a table of this size."""
    if name == "xgboost":
        from xgboost import XGBClassifier

        return XGBClassifier(n_jobs=n_jobs, enable_categorical=True)
    if name == "lightgbm":
        from lightgbm import LGBMClassifier

        return LGBMClassifier(n_jobs=n_jobs, verbose=-1)
    from priorwise import PriorwiseClassifier

    effort, _, member = name.partition(":")
    n_classes, n_features = len(np.unique(y)), X.shape[1]
    members = dict(
        PriorwiseClassifier.default_estimators(
            effort, n_rows=len(y), n_classes=n_classes, n_features=n_features
        )
    )
    if not member:
        return PriorwiseClassifier(effort, n_jobs=n_jobs, random_state=0)
    if member.startswith("-"):
        del members[member[1:]]
        pooled = list(members.items())
        return PriorwiseClassifier(effort, estimators=pooled, n_jobs=n_jobs, random_state=0)
    return members[member].set_params(n_jobs=n_jobs, random_state=0)


def resident(field: str = "VmRSS") -> int:
    """Resident memory of this process in bytes: now, or the most so far with "VmHWM"."""
    if field == "VmRSS":
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {field}")


def forget_peak() -> None:
    """Let VmHWM begin again at what is resident now."""
    Path("/proc/self/clear_refs").write_text("5")


class ByteCounter:
    """A file that counts the bytes written to it."""

    n_bytes = 0

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        self.n_bytes += size
        return size


def measure_fit(data: str, model: str, folder: Path | None, n_jobs: int) -> dict[str, float]:
    """Return the memory of a fit and of its model in bytes, and the seconds of the fit."""
    few, few_y = make_mixed(600)
    make_model(model, few, few_y, n_jobs).fit(few, few_y).predict_proba(few)
    del few, few_y
    load(data, folder)  # What a reader keeps is no part of the model.
    start = resident()
    X, y = load(data, folder)
    shape = X.shape
    classifier = make_model(model, X, y, n_jobs)
    resident()
    forget_peak()
    begin = time.perf_counter()
    classifier.fit(X, y)
    seconds, peak = time.perf_counter() - begin, resident("VmHWM") - start
    del X, y
    size, counter = resident() - start, ByteCounter()
    pickle.dump(classifier, counter, protocol=5)
    return {
        "rows": shape[0],
        "columns": shape[1],
        "seconds": seconds,
        "peak": peak,
        "model": size,
        "file": counter.n_bytes,
    }


def measure_prediction(model: str, n_jobs: int) -> dict[str, float]:
    """Return the memory of a prediction in bytes, beside that of its rows and probabilities."""
    X, y = make_normal(4_000, 30)
    classifier = make_model(model, X, y, n_jobs).fit(X, y)
    classifier.predict_proba(X[:10])
    start = resident()
    X = np.random.default_rng(1).normal(size=(1_000_000, 30))
    forget_peak()
    begin = time.perf_counter()
    proba = classifier.predict_proba(X)
    seconds, peak = time.perf_counter() - begin, resident("VmHWM") - start
    return {"seconds": seconds, "peak": peak, "both": X.nbytes + 8 * proba.size}


def write_stream(data: str, path: Path, most_rows: int | None = None) -> None:
    """Write the file of a set, or its first rows, a part at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    ending, n_rows, n_columns = STREAM_SETS[data]
    n_rows, step = min(n_rows, most_rows or n_rows), 10_000_000 // n_columns
    names, writer = [f"x{i}" for i in range(n_columns)], None
    for at in range(0, n_rows, step):
        X, y = make_normal(min(step, n_rows - at), n_columns)
        frame = pd.DataFrame(X.round(3), columns=names)
        frame["label"] = np.array(["no", "yes"])[y]
        if ending == "parquet":
            table = pa.Table.from_pandas(frame, preserve_index=False)
            writer = writer or pq.ParquetWriter(path, table.schema)
            writer.write_table(table)
            continue
        if ending == "arff" and at == 0:
            lines = "".join(f"@attribute {name} numeric\n" for name in names)
            path.write_text(f"@relation rows\n{lines}@attribute label {{no,yes}}\n@data\n")
        frame.to_csv(path, mode="a", header=ending == "csv" and at == 0, index=False)
    if writer is not None:
        writer.close()


def measure_stream(few: str, path: str, limit: str, n_jobs: int) -> dict[str, float]:
    """Return the memory of learning from a file in bytes, and the seconds."""
    from priorwise import KDBClassifier, NaiveBayesClassifier

    model = NaiveBayesClassifier() if path.endswith("arff") else KDBClassifier(2)
    # A first fit imports what readers need.
    model.set_params(n_jobs=n_jobs).fit_dataset(few, "label")
    start = resident()
    forget_peak()
    begin = time.perf_counter()
    model.fit_dataset(path, "label", memory_limit=limit)
    seconds = time.perf_counter() - begin
    return {"seconds": seconds, "peak": resident("VmHWM") - start}


def run_apart(**arguments: Any) -> dict[str, float] | None:
    """Measure in a new process; None if that process fails, for want of memory or else."""
    command = [sys.executable, __file__, "--inside", json.dumps(arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    return dict(json.loads(done.stdout)) if done.returncode == 0 else None


def beside(figure: float, bar: float | None, width: int = 9, digits: int = 0) -> str:
    """Write a figure and its bar."""
    if bar is None:
        return f"{figure:{width}.{digits}f}{'':>8}"
    mark = "!" if figure > bar else " "
    return f"{figure:{width}.{digits}f}{mark}{f'<{bar:.0f}':>7}"


def peak_bar(data: str, model: str, n_cells: float) -> float | None:
    """Return the bar on the peak of a fit in megabytes, if there is one."""
    if data == "million" and model in FLAGSHIPS:
        return MILLION_BAR
    if data not in PEAK_SETS or model not in PEAK_BARS:
        return None
    constant, times = PEAK_BARS[model]
    return constant + times * 8 * n_cells / MEGABYTE


def print_fits(sets: list[str], models: list[str], folder: Path | None, n_jobs: int) -> None:
    """Print a line for each data set and model."""
    print(f"{'set':10}{'model':20}{'seconds':>9}{'peak MB':>9}{'bar':>8}{'model MB':>9}"
          f"{'bar':>8}{'file MB':>9}{'bar':>8}")  # fmt: skip
    for data in sets:
        for model in models:
            result = run_apart(data=data, model=model, folder=folder and str(folder), n_jobs=n_jobs)
            if result is None:
                print(f"{data:10}{model:20}failed", flush=True)
                continue
            size_bar = MODEL_BARS.get((data, model))
            print(
                f"{data:10}{model:20}{result['seconds']:9.2f}"
                + beside(
                    result["peak"] / MEGABYTE,
                    peak_bar(data, model, result["rows"] * result["columns"]),
                )
                + beside(result["model"] / MEGABYTE, size_bar, digits=1)
                + beside(result["file"] / MEGABYTE, size_bar, digits=1),
                flush=True,
            )


def print_predictions(models: list[str], n_jobs: int) -> None:
    """Print a line for each model."""
    print(f"{'model':20}{'seconds':>9}{'peak MB':>9}{'ratio':>9}{'bar':>8}")
    for model in models:
        result = run_apart(model=model, n_jobs=n_jobs)
        if result is None:
            print(f"{model:20}failed", flush=True)
            continue
        bar = PREDICTION_BAR if model.partition(":")[0] in FLAGSHIPS else None
        print(
            f"{model:20}{result['seconds']:9.2f}{result['peak'] / MEGABYTE:9.0f}"
            + beside(result["peak"] / result["both"], bar, digits=2),
            flush=True,
        )


def print_streams(sets: list[str], n_jobs: int) -> None:
    """Print a line for each file and limit."""
    print(f"{'set':12}{'file MB':>9}{'limit':>8}{'seconds':>9}{'peak MB':>9}{'bar':>8}")
    for data in sets:
        with tempfile.TemporaryDirectory() as folder:
            few, path = (Path(folder) / f"{name}.{STREAM_SETS[data][0]}" for name in ("few", "all"))
            write_stream(data, few, most_rows=200)
            write_stream(data, path)
            for limit in STREAM_LIMITS:
                line = f"{data:12}{path.stat().st_size / MEGABYTE:9.0f}{limit:>8}"
                result = run_apart(few=str(few), path=str(path), limit=limit, n_jobs=n_jobs)
                if result is None:
                    print(f"{line} failed", flush=True)
                    continue
                bar = float(limit[:-2]) * (1000 if limit.endswith("GB") else 1) + STREAM_OVERHEAD
                peak = beside(result["peak"] / MEGABYTE, bar)
                print(f"{line}{result['seconds']:9.2f}{peak}", flush=True)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, default=os.environ.get("PRIORWISE_DATA"))
    parser.add_argument("--sets", nargs="+", help="all but 'million' by default")
    parser.add_argument("--models", nargs="+")
    parser.add_argument("--predict", action="store_true")
    parser.add_argument("--stream", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--inside", type=json.loads, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside is not None:
        asked = arguments.inside
        if "data" in asked:
            asked["folder"] = asked["folder"] and Path(asked["folder"])
        kinds: dict[str, Callable[..., Any]] = {"data": measure_fit, "limit": measure_stream}
        measure = next((kinds[key] for key in kinds if key in asked), measure_prediction)
        print(json.dumps(measure(**asked)))
        return
    rivals = [name for name in ("xgboost", "lightgbm") if importlib.util.find_spec(name)]
    models = arguments.models or [*FLAGSHIPS, *rivals]
    if arguments.predict:
        print_predictions(models, arguments.jobs)
        return
    if arguments.stream:
        print_streams(arguments.sets or list(STREAM_SETS), arguments.jobs)
        return
    folder = None if arguments.data is None else Path(arguments.data)
    files = [n for n in ARFF_SETS if folder is not None and any(folder.rglob(f"{n}.arff*"))]
    sets = ["normal", "mixed", *files, "wide", "classes"]
    print_fits(arguments.sets or sets, models, folder, arguments.jobs)


if __name__ == "__main__":
    main()
