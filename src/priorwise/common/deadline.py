"""A limit on the time that learning takes."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Deadline:
    """A moment after which nothing more is begun; infinity is never."""

    start: float
    seconds: float

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """So many seconds from now, or never.

        >>> Deadline.after(None).over, Deadline.after(0.0).over
        (False, True)
        """
        return cls(time.perf_counter(), float("inf") if seconds is None else seconds)

    @property
    def left(self) -> float:
        """Seconds left, below zero once it is over."""
        return self.start + self.seconds - time.perf_counter()

    @property
    def over(self) -> bool:
        return self.left <= 0.0

    @property
    def half_over(self) -> bool:
        return time.perf_counter() >= self.start + 0.5 * self.seconds
