"""Counts of paths in a dictionary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any


def count_paths(columns: Sequence[Any]) -> Counter[tuple[int, ...]]:
    """How many rows have each combination of values."""
    return Counter(zip(*([int(v) for v in column] for column in columns), strict=True))
