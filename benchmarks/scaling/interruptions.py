"""Is a model whose learning was killed and resumed the same, byte for byte?"""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import priorwise as pw
from priorwise.datasets import write_splice_like
from scaling.measure import FOLDER

N_KILLS = 5


def show(folder: Path, n_rows: int, n_jobs: int) -> None:
    print(f"\nBar 4: SkDB (k = 5) on {n_rows:,} splice-like rows, killed (-9) at random moments")
    train = folder / f"splice-{n_rows}.parquet"
    if not train.exists():
        write_splice_like(train, n_rows)
    start = time.perf_counter()
    whole = finish(folder / "whole", train, n_jobs)
    took = time.perf_counter() - start
    print(f"  not interrupted: {took:.1f} s")
    rng = np.random.default_rng()
    for number in range(N_KILLS):
        moment = float(rng.uniform(0.2, 0.95)) * took
        here = folder / f"killed-{number}"
        killed = kill_after(moment, here, train, n_jobs)
        saved = sorted(path.name for path in (here / "checkpoint").rglob("*"))
        start = time.perf_counter()
        resumed = finish(here, train, n_jobs)
        again = time.perf_counter() - start
        left = [path.name for path in (here / "scratch").iterdir()]
        print(
            f"  {'killed' if killed else 'done'} at {moment:5.1f} s, resumed in {again:5.1f} s, "
            f"{len(saved)} files saved: {'identical' if resumed == whole else 'DIFFERENT'}, "
            f"scratch {left or 'empty'}",
            flush=True,
        )
        shutil.rmtree(here)
    shutil.rmtree(folder / "whole")


def kill_after(seconds: float, folder: Path, train: Path, n_jobs: int) -> bool:
    """Start learning in a process and kill it; False if it was done before."""
    process = start_learning(folder, train, n_jobs)
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        return True
    return False


def finish(folder: Path, train: Path, n_jobs: int) -> bytes:
    """Learn, or resume learning, to the end; the model as bytes."""
    process = start_learning(folder, train, n_jobs)
    if process.wait() != 0:
        raise RuntimeError(f"learning in {folder} failed")
    return (folder / "model.pickle").read_bytes()


def start_learning(folder: Path, train: Path, n_jobs: int) -> Any:
    for name in ("checkpoint", "scratch"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "scaling.interruptions", str(folder), str(train), str(n_jobs)]
    return subprocess.Popen(command, cwd=FOLDER)


def learn(folder: Path, train: str, n_jobs: int) -> None:
    model = pw.SelectiveKDBClassifier(5, n_jobs=n_jobs, random_state=0).fit_dataset(
        train, target="label", checkpoint=folder / "checkpoint", scratch=folder / "scratch"
    )
    (folder / "model.pickle").write_bytes(pickle.dumps(model))


if __name__ == "__main__":
    learn(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
