"""Limits on memory, in bytes."""

from __future__ import annotations

import math
import re
from typing import Any

from priorwise.common.resources.available_memory import measure_available_memory

UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
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
