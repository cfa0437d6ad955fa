"""A limit on the time that learning takes."""

from __future__ import annotations

import time
from dataclasses import dataclass


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
