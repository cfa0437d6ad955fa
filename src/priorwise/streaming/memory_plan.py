"""How a bound on memory is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from priorwise.common.runtime import resolve_limit
from priorwise.data.sources.source import default_batch_rows

BYTES_PER_VALUE = 20
"""Of a batch at work: as it is read, as numbers or places among labels, and as codes."""
BYTES_PER_CONTEXT = 256
"""Of a context of about four outcomes, while two trees become one."""
MAX_PAIR_CELLS = 2**26
NO_LIMIT = 2**50
"""Bytes that are planned with where the system does not say what is available."""


@dataclass(frozen=True)
class MemoryPlan:
    """What batches, values, pairs and contexts may take.

    A quarter goes to batches; half to values of numeric features and pair counts, and when they
    are done with, to contexts; the rest to what allocators keep and to single rows.
    """

    batch_rows: int
    max_cells: int
    """Of pair counts, in each of the states that are alive at once."""
    max_value_bytes: int
    """Of the distinct values of one feature."""
    max_contexts: int
    max_row_bytes: int
    """Of all coded rows, for models that need them at once."""

    @classmethod
    def make(
        cls, limit: Any, n_features: int, n_jobs: int, batch_rows: int | None = None
    ) -> MemoryPlan:
        """Split a memory limit, in bytes or a text such as "1GB", for `n_jobs` threads.

        None is a share of the memory available. `batch_rows` replaces the size of a batch that the
        limit allows.
        """
        share = int(min(resolve_limit(limit), NO_LIMIT)) // 4
        if batch_rows is None:
            # Those of all threads, one that is decoded, and one that waits.
            rows = share // ((n_jobs + 2) * n_features * BYTES_PER_VALUE)
            batch_rows = max(1, min(default_batch_rows(n_features), rows))
        # States of all threads, and that of the rows before.
        n_states = n_jobs + 1
        return cls(
            batch_rows,
            max(1, min(MAX_PAIR_CELLS, share // (8 * n_states))),
            max(1, 2 * share // (n_states * n_features)),
            max(1, 2 * share // BYTES_PER_CONTEXT),
            share,
        )
