"""Mistakes that several columns or rows show together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from priorwise.common.texts import count
from priorwise.data.checks.findings import Finding
from priorwise.data.checks.reading import CheckedColumn


def find_copied_columns(columns: Sequence[CheckedColumn]) -> Iterator[Finding]:
    """Find columns that are another one: equal, in other words, or on another scale."""
    first: dict[bytes, str] = {}
    for column in columns:
        if column.n_seen < 2:
            continue
        known = first.setdefault(_digest(column), column.name)
        if known is not column.name:
            yield Finding(
                "copied column", column.name,
                f"says the same as column {known!r} in every row", "leave one of them out",
            )  # fmt: skip


def find_empty_rows(columns: Sequence[CheckedColumn]) -> Iterator[Finding]:
    """Find rows without a single value."""
    if len(columns) > 1:
        empty = np.all([column.ranks < 0 for column in columns], axis=0)
        if empty.any():
            yield Finding(
                "empty rows", "", f"{count(int(empty.sum()), 'row')} have no value in any column, "
                f"the first is row {int(empty.argmax())}", "leave them out",
            )  # fmt: skip


def find_headers(columns: Sequence[CheckedColumn]) -> Iterator[Finding]:
    """Find rows that repeat the names of the columns, as joined files have them."""
    if not columns:
        return
    n_names = np.zeros(columns[0].n_rows, dtype=np.int64)
    n_texts = 0
    for column in columns:
        labels = [str(label) for label in column.labels]
        n_texts += column.numbers is None or bool(column.texts)
        if column.name in labels:
            n_names += column.codes == labels.index(column.name)
        elif column.name in map(str, column.texts):
            n_names += np.isnan(column.numbers)  # type: ignore[arg-type]
    rows = np.flatnonzero(n_names >= max(2, n_texts))
    if len(rows):
        yield Finding(
            "header row", "", f"{count(len(rows), 'row')} repeat the names of the columns, the "
            f"first is row {rows[0]}", "leave them out: files were joined with their headers",
        )  # fmt: skip


def find_copied_rows(n_copies: int, n_rows: int) -> Iterator[Finding]:
    """Say how many rows are copies."""
    if n_copies:
        yield Finding(
            "copied rows", "", f"{n_copies:,} of {n_rows:,} rows are exact copies of other rows, "
            "although a number in them is continuous",
            "leave the copies out, unless they are independent",
        )  # fmt: skip


def _digest(column: CheckedColumn) -> bytes:
    """A digest of a column that columns share whose values correspond one to one.

    Numbers correspond if they have the same order, or the reverse one. Labels that are nearly all
    different, as ids, correspond if they are equal.
    """
    ranks = column.ranks
    if column.numbers is not None:
        known = ranks[ranks >= 0]
        if known[0] > known.max() - known[0]:
            ranks = np.where(ranks < 0, ranks, known.max() - ranks)
        return blake2b(b"numbers" + _to_bytes(ranks)).digest()
    if 2 * column.n_seen > column.n_known:
        labels = repr([column.labels[place] for place in ranks.tolist() if place >= 0])
        return blake2b(labels.encode("utf-8", "replace") + _to_bytes(ranks < 0)).digest()
    return blake2b(_to_bytes(_renumber(ranks, len(column.labels)))).digest()


def _renumber(ranks: NDArray[np.int64], n_labels: int) -> NDArray[np.int64]:
    """Number labels in the order of their first rows; -1 stays."""
    seen, firsts = np.unique(ranks, return_index=True)
    place = np.full(n_labels + 1, -1, dtype=np.int64)
    in_order = seen[np.argsort(firsts)]
    in_order = in_order[in_order >= 0]
    place[in_order] = np.arange(len(in_order))
    return np.where(ranks < 0, -1, place[ranks])


def _to_bytes(values: NDArray[np.generic]) -> bytes:
    return np.ascontiguousarray(values).tobytes()
