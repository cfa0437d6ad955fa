"""Progress of long work, shown on the error stream."""

from __future__ import annotations

import sys
import threading
import time


class Progress:
    """A line on the error stream that is redrawn on a terminal and else grows by tenths.

    Steps may be reported from several threads.
    """

    def __init__(self, total: int, shown: bool, unit: str):
        self.total, self.shown, self.unit, self.done, self.failed = total, shown, unit, 0, 0
        self.live = shown and sys.stderr.isatty()
        self.start, self.next_tenth = time.perf_counter(), 1
        self._lock = threading.Lock()

    def skip(self, count: int) -> None:
        self.done += count

    def step(self, label: str = "", *, failed: bool = False) -> None:
        with self._lock:
            self.done += 1
            self.failed += failed
            due = self.live or self.done == self.total
            if self.shown and (due or self.done * 10 >= self.next_tenth * self.total):
                self._show(label)

    def close(self) -> None:
        if self.live:
            print(file=sys.stderr)

    def _show(self, label: str) -> None:
        self.next_tenth = self.done * 10 // self.total + 1
        seconds = time.perf_counter() - self.start
        parts = [f"{self.done}/{self.total} {self.unit}", f"{seconds:.0f} s", label]
        if self.failed:
            parts.insert(1, f"{self.failed} failed")
        text = ", ".join(part for part in parts if part)
        print(
            f"\r\033[K{text[:100]}" if self.live else text,
            file=sys.stderr,
            end="" if self.live else "\n",
            flush=True,
        )
