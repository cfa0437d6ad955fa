"""Is a model whose learning was killed and resumed the same, byte for byte?"""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from problems.splice import write_splice_like

import priorwise as pw
from scaling.flagship import write_rows
from scaling.measure import FOLDER

FLAGSHIP_ROWS, FLAGSHIP_LIMIT = 50_000, "25MB"
WORK_FOLDERS = ("checkpoint", "scratch")


def show(folder: Path, n_rows: int, n_kills: int, n_jobs: int) -> None:
    """Kill fits of a selective network to a file, on workers of Dask and of Spark."""
    train = folder / f"splice-{n_rows}.parquet"
    if not train.exists():
        write_splice_like(train, n_rows)
    for runner in SOURCES:
        print(
            f"\nBar 4: SkDB (k = 5), {n_rows:,} splice-like rows, {runner}, killed {n_kills} times"
        )
        _kill_and_resume(folder, train, n_kills, n_jobs, runner)


def show_flagship(folder: Path, n_kills: int, n_jobs: int) -> None:
    print(f"\nFlagship on {FLAGSHIP_ROWS:,} rows within {FLAGSHIP_LIMIT}, killed {n_kills} times")
    train = write_rows(folder / f"thirty-{FLAGSHIP_ROWS}.parquet", FLAGSHIP_ROWS)
    _kill_and_resume(folder, train, n_kills, n_jobs, "flagship")


def _kill_and_resume(folder: Path, train: Path, n_kills: int, n_jobs: int, task: str) -> None:
    """Kill (-9) fits at random moments; each goes on where the one before was killed.

    A fit that is done before its moment is compared with the one that was not interrupted, and the
    next fit begins from the start; later moments are then drawn from a shorter time.
    """
    for name in ("whole", "killed"):
        shutil.rmtree(folder / name, ignore_errors=True)
    whole = finish(folder / "whole", train, n_jobs, task)
    took = time_fit(folder / "whole")
    print(f"  not interrupted: {took:.1f} s, model of {len(whole) / 1e6:.1f} MB", flush=True)
    rng = np.random.default_rng()
    here, longest = folder / "killed", took
    n_killed, n_files, n_done, n_same, left = 0, 0, 0, 0, list[str]()

    def compare(model: bytes) -> None:
        nonlocal n_done, n_same
        n_done, n_same = n_done + 1, n_same + (model == whole)
        left.extend(path.name for name in WORK_FOLDERS for path in (here / name).rglob("*"))
        shutil.rmtree(here)

    while n_killed < n_kills:
        if kill_after(float(rng.uniform(0.0, 1.0)) * longest, here, train, n_jobs, task):
            n_killed += 1
            n_files = max(n_files, sum(path.is_file() for path in (here / "checkpoint").rglob("*")))
        else:
            longest = min(longest, 0.9 * time_fit(here))
            compare((here / "model").read_bytes())
    compare(finish(here, train, n_jobs, task))
    print(
        f"  killed inside of the fit {n_killed} times, at most {n_files} files saved; {n_done} "
        f"models, {n_same} of them identical; left behind: {left or 'nothing'}",
        flush=True,
    )
    shutil.rmtree(folder / "whole")


def kill_after(seconds: float, folder: Path, train: Path, n_jobs: int, task: str) -> bool:
    """Start learning in a process and kill it as many seconds after the fit has begun.

    False if it was done before.
    """
    (folder / "started").unlink(missing_ok=True)
    process = start_learning(folder, train, n_jobs, task)
    while not (folder / "started").exists() and process.poll() is None:
        time.sleep(0.01)
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        return True
    return False


def finish(folder: Path, train: Path, n_jobs: int, task: str) -> bytes:
    """Learn, or resume learning, to the end; the model as bytes."""
    process = start_learning(folder, train, n_jobs, task)
    if process.wait() != 0:
        raise RuntimeError(f"learning in {folder} failed")
    return (folder / "model").read_bytes()


def time_fit(folder: Path) -> float:
    """Return the seconds from the start of a fit to its saved model."""
    return (folder / "model").stat().st_mtime - (folder / "started").stat().st_mtime


def start_learning(folder: Path, train: Path, n_jobs: int, task: str) -> Any:
    """Start learning in a process whose temporary files are in a folder of its own."""
    for name in WORK_FOLDERS:
        (folder / name).mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "scaling.interruptions"]
    command += [task, str(folder), str(train), str(n_jobs)]
    environment = {**os.environ, "TMPDIR": str(folder / "scratch")}
    return subprocess.Popen(command, cwd=FOLDER, env=environment)


def open_on_dask(train: str) -> Any:
    import dask.dataframe as dd
    from dask import distributed

    distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None)
    return dd.read_parquet(train).repartition(npartitions=6)


def open_on_spark(train: str) -> Any:
    from pyspark import sql

    session = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    return session.getOrCreate().read.parquet(train).repartition(6)


SOURCES = {"a file": str, "Dask": open_on_dask, "Spark": open_on_spark}
"""How the rows are handed over, by the runner that passes over them."""


def learn_network(runner: str, folder: Path, train: str, n_jobs: int) -> None:
    source = SOURCES[runner](train)
    (folder / "started").touch()
    scratch = {"scratch": folder / "scratch"} if runner == "a file" else {}
    model = pw.SelectiveKDBClassifier(5, n_jobs=n_jobs, random_state=0).fit_dataset(
        source, target="label", checkpoint=folder / "checkpoint", **scratch
    )
    (folder / "model").write_bytes(pickle.dumps(model))


def learn_flagship(folder: Path, train: str, n_jobs: int) -> None:
    model = pw.PriorwiseClassifier("fast", n_jobs=n_jobs, random_state=0)
    (folder / "started").touch()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of the rows left out
        model.fit_dataset(
            train, target="label", memory_limit=FLAGSHIP_LIMIT, checkpoint=folder / "checkpoint"
        )
    model.save(folder / "model")


if __name__ == "__main__":
    task, folder, train, n_jobs = sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    if task == "flagship":
        learn_flagship(folder, train, n_jobs)
    else:
        learn_network(task, folder, train, n_jobs)
