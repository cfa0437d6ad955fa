"""How a bound on memory is kept."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from priorwise.data.sources.source import BATCH_ROWS, default_batch_rows

UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
BYTES_PER_VALUE = 20
"""Of a batch at work: as it is read, as numbers or places among labels, and as codes."""
BYTES_PER_CONTEXT = 256
"""Of a context of about four outcomes, while two trees become one."""
MAX_PAIR_CELLS = 2**26


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


@dataclass(frozen=True)
class MemoryPlan:
    """What batches, values, pairs and contexts may take.

    A quarter goes to batches; half to values of numeric features and pair counts, and when they
    are done with, to contexts; the rest to what the interpreter and libraries need.
    """

    batch_rows: int
    max_cells: int
    """Of pair counts, in each of the states that are alive at once."""
    max_value_bytes: int | None
    """Of the distinct values of one feature."""
    max_contexts: int | None
    max_row_bytes: int | None
    """Of all coded rows, for models that need them at once."""

    @classmethod
    def make(
        cls, limit: Any, n_features: int, n_jobs: int, batch_rows: int | None = None
    ) -> MemoryPlan:
        """Split a memory limit, in bytes or a text such as "1GB", for `n_jobs` threads.

        Without a limit, only batches and pair counts have one. `batch_rows` replaces the size of a
        batch that the limit allows.
        """
        if limit is None:
            rows = default_batch_rows(n_features) if batch_rows is None else batch_rows
            return cls(rows, MAX_PAIR_CELLS, None, None, None)
        share = parse_bytes(limit) // 4
        # Those of all threads, one that is decoded, and one that waits.
        n_alive = n_jobs + 2
        if batch_rows is None:
            batch_rows = share // (n_alive * n_features * BYTES_PER_VALUE)
            batch_rows = max(1, min(BATCH_ROWS, batch_rows))
        return cls(
            batch_rows,
            max(1, share // (8 * n_alive)),
            max(1, share // n_features),
            max(1, 2 * share // BYTES_PER_CONTEXT),
            share,
        )
