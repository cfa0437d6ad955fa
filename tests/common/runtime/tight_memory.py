"""Fits models with little memory left, for `test_memory`.

The child reads lines from the standard input: the name of a model and limits in MB of address space
beyond what the process has, with tabs between them. For each limit a fork of the process fits the
model to a few rows, then to all rows within the limit, then again without it. One line says what
came of it: "fitted", "MemoryError" or what should not be.
"""

import ctypes
import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from priorwise import (
    ESKDBClassifier,
    KDBClassifier,
    PriorwiseClassifier,
    ProbabilityForestClassifier,
    SelectiveKDBClassifier,
    SplineLogisticClassifier,
)

MODELS: dict[str, Callable[[], Any]] = {
    "selective network": lambda: SelectiveKDBClassifier(n_jobs=3),
    "network with 200 threads": lambda: KDBClassifier(n_jobs=200),
    "network ensemble": lambda: ESKDBClassifier(n_estimators=5, n_jobs=3),
    "forest": lambda: ProbabilityForestClassifier(n_estimators=20, splitter="random", n_jobs=3),
    "forest of best splits": lambda: ProbabilityForestClassifier(n_estimators=4, n_jobs=3),
    "spline member": lambda: SplineLogisticClassifier(n_jobs=3),
    "flagship": lambda: PriorwiseClassifier(n_jobs=3),
}


FEW_ROWS, MANY_ROWS = 3_000, 100_000
NEED_LITTLE = ("selective network", "forest", "forest of best splits", "spline member")
"""Models that a few MB are enough for to learn from `FEW_ROWS`."""


def use_one_arena() -> None:
    """Let all threads of the GNU C library allocate from one place.

    Otherwise each thread reserves 64 MB, which a fit within the limit could use.
    """
    arena_max = -8
    if hasattr(ctypes.CDLL(None), "mallopt"):
        ctypes.CDLL(None).mallopt(arena_max, 1)


def fit_with_limit(make: Callable[[], Any], limit: float, X: np.ndarray, y: np.ndarray) -> str:
    make().fit(X[:60], y[:60])
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    most = resource.getrlimit(resource.RLIMIT_AS)[1]
    outcome = "fitted"
    resource.setrlimit(resource.RLIMIT_AS, (used + int(limit * 2**20), most))
    try:
        make().fit(X, y)
    except MemoryError:
        outcome = "MemoryError"
    except BaseException as error:
        outcome = repr(error)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    make().fit(X[:100], y[:100]).predict_proba(X[:100])
    return outcome


def main() -> None:
    use_one_arena()
    generator = np.random.default_rng(0)
    X = generator.normal(size=(MANY_ROWS, 12))
    y = (X[:, :2].sum(axis=1) + generator.normal(size=len(X)) > 0.0).astype(int)
    for line in sys.stdin:
        name, *limits = line.rstrip("\n").split("\t")
        rows = slice(MANY_ROWS if name in NEED_LITTLE else FEW_ROWS)
        for limit in limits:
            child = os.fork()
            if child == 0:
                signal.alarm(120)
                print(fit_with_limit(MODELS[name], float(limit), X[rows], y[rows]), flush=True)
                os._exit(0)
            status = os.waitpid(child, 0)[1]
            if status:
                print(f"limit {limit}: status {status}", flush=True)
