"""Queries that group the same rows in several ways at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.data.sources.sql.sql_source import Fetched, SqlSource

COUNTED = "priorwise_counted"
"""Name of the rows that are grouped, in the WITH clause; long, lest a table be hidden by it."""
MAX_SETS = 30
"""Most groupings of one query; GROUPING of PostgreSQL takes 31 columns."""


def count_groups(
    source: SqlSource,
    steps: Sequence[str],
    sets: Sequence[Mapping[str, str]],
    slots: Mapping[str, str],
    total: str,
    *,
    one_by_one: bool = False,
) -> Iterator[tuple[int, dict[str, Fetched], NDArray[Any]]]:
    """Group rows by several sets of columns; yield groups of one set, and their totals.

    `steps` are the clauses of WITH; the last of them, `COUNTED`, has the columns. A set says which
    column fills which slot, and its last column is in no other set. `slots` are the columns of the
    result and their types, `total` is what is summed over a group. Rows that are quick to read,
    such as codes that are kept, are grouped `one_by_one`, as they are if the database does not know
    ``GROUPING SETS``.
    """
    as_union = one_by_one or not source.dialect.has_grouping_sets
    for first in range(0, len(sets), MAX_SETS):
        some = sets[first : first + MAX_SETS]
        write = _write_union if as_union else _write_sets
        query = f"WITH {', '.join(steps)} {write(some, slots, total)}"
        for place, *values, totals in source.fetch(query):
            places = place.values.astype(np.int64)
            if not as_union:
                # All bits are set but that of the column that a group has, the first set first.
                bits = (1 << len(some)) - 1 - places
                places = len(some) - 1 - np.log2(bits).astype(np.int64)
            order = np.argsort(places, kind="stable")
            bounds = np.searchsorted(places[order], np.arange(len(some) + 1))  # -1 is left out
            for i, (start, end) in enumerate(pairwise(bounds)):
                if start < end:
                    rows = order[start:end]
                    yield (
                        first + i,
                        {
                            slot: Fetched(column.values[rows], column.known[rows])
                            for slot, column in zip(slots, values, strict=True)
                        },
                        totals.values[rows],
                    )


def _write_sets(sets: Sequence[Mapping[str, str]], slots: Mapping[str, str], total: str) -> str:
    own = ", ".join(_own(one) for one in sets)
    columns = [f"GROUPING({own})"]
    for slot, slot_type in slots.items():
        filled = list(dict.fromkeys(one[slot] for one in sets if slot in one))
        if len(filled) > 1:
            columns.append(f"COALESCE({', '.join(filled)})")
        else:
            columns.append(filled[0] if filled else f"CAST(NULL AS {slot_type})")
    groups = ", ".join(f"({', '.join(one.values())})" for one in sets)
    return f"SELECT {', '.join(columns)}, {total} FROM {COUNTED} GROUP BY GROUPING SETS ({groups})"


def _write_union(sets: Sequence[Mapping[str, str]], slots: Mapping[str, str], total: str) -> str:
    # A driver may take the types of the first row for those of all rows.
    example = {"TEXT": "''", "REAL": "0.0"}
    queries = [f"SELECT -1, {', '.join(example.get(t, '0') for t in slots.values())}, "]
    queries[0] += "0.0" if "REAL" in total else "0"
    for i, one in enumerate(sets):
        columns = [one.get(slot, f"CAST(NULL AS {slot_type})") for slot, slot_type in slots.items()]
        queries.append(
            f"SELECT {i}, {', '.join(columns)}, {total} FROM {COUNTED} "
            f"GROUP BY {', '.join(one.values())}"
        )
    return " UNION ALL ".join(queries)


def _own(one: Mapping[str, str]) -> str:
    return list(one.values())[-1]
