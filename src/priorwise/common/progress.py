"""What is said while it works: progress and warnings."""

from __future__ import annotations

import inspect
import sys
import threading
import time
import warnings


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


def warn_user(message: str) -> None:
    """Warn at the line outside of this library that called it."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_globals["__name__"].startswith("priorwise."):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, UserWarning, stacklevel=level)
