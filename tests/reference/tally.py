"""Counts of paths in a dictionary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any


def count_paths(columns: Sequence[Any]) -> Counter[tuple[int, ...]]:
    """How many rows have each combination of values; the last column holds outcomes.

    A row without an outcome, -1, is left out; values behind a missing one, -1, are missing too.
    """
    rows = zip(*([int(v) for v in column] for column in columns), strict=True)
    return Counter(_end_path(row) for row in rows if row[-1] >= 0)


def _end_path(row: tuple[int, ...]) -> tuple[int, ...]:
    path = row[:-1]
    n_known = path.index(-1) if -1 in path else len(path)
    return (*path[:n_known], *([-1] * (len(path) - n_known)), row[-1])
