"""Fits models with little memory left, for `test_memory`.

The child reads lines from the standard input: the name of a model and limits in MB of address space
beyond what the process has, with tabs between them. For each limit a fork of the process fits the
model to a few rows, then to all rows within the limit, then again without it. One line says what
came of it: "fitted", "MemoryError", "no thread-local data" or what should not be.
"""

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

NO_THREAD_LOCAL_DATA = 127
"""Exit code of the C library where a new thread has no memory for data that the C++ library and
NumPy keep for each thread. On x86-64 it is allocated when first used: nothing can be done then."""

MODELS: dict[str, Callable[[], Any]] = {
    "selective network": lambda: SelectiveKDBClassifier(n_jobs=3),
    "network with 200 threads": lambda: KDBClassifier(n_jobs=200),
    "network ensemble": lambda: ESKDBClassifier(n_estimators=5, n_jobs=3),
    "forest": lambda: ProbabilityForestClassifier(n_estimators=20, splitter="random", n_jobs=3),
    "forest of best splits": lambda: ProbabilityForestClassifier(n_estimators=4, n_jobs=3),
    "spline member": lambda: SplineLogisticClassifier(n_jobs=3),
    "flagship": lambda: PriorwiseClassifier(n_jobs=3),
}


def fit_with_limit(make: Callable[[], Any], limit: float, X: np.ndarray, y: np.ndarray) -> str:
    # Threads that have worked before have what they need to throw.
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
    generator = np.random.default_rng(0)
    X = generator.normal(size=(3_000, 12))
    y = (X[:, :2].sum(axis=1) + generator.normal(size=len(X)) > 0.0).astype(int)
    for line in sys.stdin:
        name, *limits = line.rstrip("\n").split("\t")
        for limit in limits:
            child = os.fork()
            if child == 0:
                signal.alarm(120)
                print(fit_with_limit(MODELS[name], float(limit), X, y), flush=True)
                os._exit(0)
            status = os.waitpid(child, 0)[1]
            if os.waitstatus_to_exitcode(status) == NO_THREAD_LOCAL_DATA:
                print("no thread-local data", flush=True)
            elif status:
                print(f"limit {limit}: status {status}", flush=True)
