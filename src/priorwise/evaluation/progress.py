"""Progress of a long run, shown on the error stream."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Any


class Progress:
    """A line on the error stream that is redrawn on a terminal and else grows by tenths."""

    def __init__(self, total: int, shown: bool):
        self.total, self.shown, self.done, self.failed = total, shown, 0, 0
        self.live = shown and sys.stderr.isatty()
        self.start, self.next_tenth = time.perf_counter(), 1

    def skip(self, count: int) -> None:
        self.done += count

    def step(self, outcome: Mapping[str, Any]) -> None:
        self.done += 1
        self.failed += bool(outcome["error"])
        last = self.done == self.total
        if not self.shown or not (
            self.live or last or self.done * 10 >= self.next_tenth * self.total
        ):
            return
        self.next_tenth = self.done * 10 // self.total + 1
        seconds = time.perf_counter() - self.start
        text = f"{self.done}/{self.total} cells, {self.failed} failed, {seconds:.0f} s"
        text += f", {outcome['dataset']} {outcome['model']}"
        print(
            f"\r\033[K{text[:100]}" if self.live else text,
            file=sys.stderr,
            end="" if self.live else "\n",
        )
        sys.stderr.flush()

    def close(self) -> None:
        if self.live:
            print(file=sys.stderr)
