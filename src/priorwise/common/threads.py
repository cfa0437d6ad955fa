"""Call a function for several items on several threads."""

from __future__ import annotations

import _thread
from collections.abc import Callable, Iterable
from itertools import starmap
from typing import Any, TypeVar

import numpy as np

from priorwise._core import PythonWork

Result = TypeVar("Result")

# OpenBLAS allocates its buffers at the first large product, and ends the process if it can't. With
# them allocated on import, a fit that runs out of memory later raises MemoryError.
np.ones((128, 128)) @ np.ones((128, 128))


def map_in_threads(
    function: Callable[..., Result], *items: Iterable[Any], n_jobs: int
) -> list[Result]:
    """Call `function` as `map` does, on at most `n_jobs` threads, this one included.

    After the first exception no further item is started, kernels that run in other threads are
    stopped, and the exception is raised here once every thread has ended; the same goes for Ctrl-C.
    If a thread cannot be started, the other threads do the work.

    >>> map_in_threads(abs, [-1, 2, -3], n_jobs=2)
    [1, 2, 3]
    """
    arguments = list(zip(*items, strict=True))
    n_threads = min(n_jobs, len(arguments))
    if n_threads <= 1:
        return list(starmap(function, arguments))
    results: list[Any] = [None] * len(arguments)

    def run_piece(i: int) -> None:
        results[i] = function(*arguments[i])

    work = PythonWork(run_piece, len(arguments))
    try:
        _start_threads(work.help, n_threads - 1)
        work.run()
    finally:
        work.close()
    return results


def _start_threads(run: Callable[[], None], n_threads: int) -> None:
    # threading.Thread.start waits for the new thread to report, for ever if it has no memory to
    # do so. These threads need not report: what they have begun is counted by the core.
    try:
        for _ in range(n_threads):
            _thread.start_new_thread(run, ())
    except (RuntimeError, MemoryError):
        pass
