"""What a call may take while it runs (memory, time, threads, packages), and what it says."""

from __future__ import annotations

import inspect
import math
import os
import re
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from priorwise._core import map_in_threads as map_in_threads


def measure_available_memory(root: Path = Path("/")) -> int | None:
    """Return the bytes that this process may still take; None if the system does not say.

    On Linux, the least of what the machine has available and what the control groups of the process
    allow; on other systems the memory of the machine. `root` holds the folders proc and sys.
    """
    rooms = [_read_machine(root), *map(_read_group, _list_groups(root))]
    known = [room for room in rooms if room is not None]
    return max(0, min(known)) if known else None


def _read_machine(root: Path) -> int | None:
    for line in _read(root / "proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            return 1024 * int(line.split()[1])
    names = getattr(os, "sysconf_names", {})
    if "SC_PHYS_PAGES" in names and "SC_PAGE_SIZE" in names:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _list_groups(root: Path) -> list[Path]:
    """Return the folders of the control groups of the process (version 2), then those above."""
    top = root / "sys/fs/cgroup"
    for line in _read(root / "proc/self/cgroup").splitlines():
        if line.startswith("0::/"):
            group = top / line[4:]
            return [folder for folder in (group, *group.parents) if folder.is_relative_to(top)]
    return [top]


def _read_group(folder: Path) -> int | None:
    """Return what a control group allows besides what its processes take; None for no limit."""
    limit, taken = _read(folder / "memory.max").strip(), _read(folder / "memory.current").strip()
    if not (limit.isdigit() and taken.isdigit()):
        return None
    statistics = dict(line.split(None, 1) for line in _read(folder / "memory.stat").splitlines())
    # Pages of files that nothing uses are given back when memory is short.
    return int(limit) - int(taken) + int(statistics.get("inactive_file", 0))


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


KIB = 1024
MIB = KIB**2
"""Bytes of the units of memory."""
UNITS = {f"{prefix}B": 1000**power for power, prefix in enumerate(("", *"KMGT"))}
UNITS |= {f"{prefix}IB": KIB**power for power, prefix in enumerate("KMGT", start=1)}
UNITS[""] = UNITS["B"]
AVAILABLE_SHARE = 0.5
"""Share of the memory available that learning may take by default."""


def parse_bytes(limit: int | float | str) -> int:
    """A size in bytes from a number or a text such as ``"1.5GB"``.

    >>> parse_bytes("1.5GB"), parse_bytes("64 MiB"), parse_bytes(1000)
    (1500000000, 67108864, 1000)
    """
    if isinstance(limit, str):
        match = re.fullmatch(r"\s*([0-9.]+)\s*([A-Za-z]*)\s*", limit)
        if match and match[2].upper() in UNITS and match[1].count(".") <= 1 and match[1] != ".":
            limit = float(match[1]) * UNITS[match[2].upper()]
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not limit >= 1:
        raise ValueError(
            f"memory_limit must be a number of bytes or a text such as '1GB', got {limit!r}"
        )
    return int(limit)


def resolve_limit(memory_limit: Any) -> float:
    """Return a memory limit in bytes; by default a share of what is available, or no limit."""
    if memory_limit is not None:
        return float(parse_bytes(memory_limit))
    available = measure_available_memory()
    return math.inf if available is None else AVAILABLE_SHARE * available


@dataclass(frozen=True)
class Deadline:
    """A time after which no further work is started; infinite `seconds` set no limit."""

    start: float
    seconds: float

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """Return the deadline `seconds` from now; None sets no limit.

        >>> Deadline.after(None).over, Deadline.after(0.0).over
        (False, True)
        """
        return cls(time.perf_counter(), float("inf") if seconds is None else seconds)

    @property
    def left(self) -> float:
        """Number of seconds left, negative after the deadline."""
        return self.start + self.seconds - time.perf_counter()

    @property
    def over(self) -> bool:
        """Whether no time is left."""
        return self.left <= 0.0

    @property
    def half_over(self) -> bool:
        """Whether at least half of the time has passed."""
        return time.perf_counter() >= self.start + 0.5 * self.seconds


# OpenBLAS allocates its buffers at the first large product, and ends the process if it can't. With
# them allocated on import, a fit that runs out of memory later raises MemoryError.
np.ones((128, 128)) @ np.ones((128, 128))


@cache
def _blas() -> ThreadpoolController:
    """The libraries of linear algebra; looking for them takes milliseconds."""
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Use one thread of BLAS: inside `with`, or as a decorator of a function.

    The same bits on every machine, and no wait for threads that have no processor to run on.
    """
    with _blas().limit(limits=1):
        yield


def import_extra(module: str, what: str, install: str) -> Any:
    """Import a module for `what`, or raise an error that says how to install its package."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        raise ImportError(f"{what} needs {package}: pip install {install}") from error


class Progress:
    """A line on the error stream with the number of steps done and the time left.

    On a terminal the line is rewritten after every step. Elsewhere a new line is written after
    every tenth of the total or, if the total is None, whenever the number of steps has doubled.
    Steps may be reported from several threads.
    """

    def __init__(self, total: int | None, shown: bool, unit: str):
        self.total, self.unit, self.done, self.failed = total, unit, 0, 0
        # None if the error stream is closed.
        self.shown = shown and sys.stderr is not None
        self.live = self.shown and sys.stderr.isatty()
        self.start = time.perf_counter()
        self.next_shown = 1 if total is None else max(1, -(-total // 10))
        self.skipped = 0
        self._lock = threading.Lock()

    def skip(self, count: int) -> None:
        self.done += count
        self.skipped += count

    def step(self, label: str = "", *, failed: bool = False, count: int = 1) -> None:
        with self._lock:
            self.done += count
            self.failed += failed
            due = self.live or self.done == self.total
            if self.shown and (due or self.done >= self.next_shown):
                self._show(label)

    def close(self) -> None:
        if self.live:
            print(file=sys.stderr)

    def _show(self, label: str) -> None:
        if self.total is None:
            self.next_shown = 2 * self.done
        else:
            self.next_shown = -(-(self.done * 10 // self.total + 1) * self.total // 10)
        seconds = time.perf_counter() - self.start
        of_total = "" if self.total is None else f"/{self.total}"
        parts = [f"{self.done}{of_total} {self.unit}", f"{seconds:.0f} s", label]
        if self.total is not None and self.skipped < self.done < self.total:
            left = seconds * (self.total - self.done) / (self.done - self.skipped)
            parts.insert(2, f"{left:.0f} s left")
        if self.failed:
            parts.insert(1, f"{self.failed} failed")
        text = ", ".join(part for part in parts if part)
        print(
            f"\r\033[K{text[:100]}" if self.live else text,
            file=sys.stderr,
            end="" if self.live else "\n",
            flush=True,
        )


class DataWarning(UserWarning):
    """Something in a table that a model should not learn from, or not in this way.

    Examples
    --------
    >>> import warnings, priorwise
    >>> warnings.filterwarnings("ignore", category=priorwise.DataWarning)
    """


def warn_user(message: str, category: type[UserWarning] = UserWarning) -> None:
    """Warn at the line outside of this library that called it."""
    level, frame = 1, inspect.currentframe()
    inside = __name__.partition(".")[0] + "."
    while frame is not None and frame.f_globals["__name__"].startswith(inside):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
