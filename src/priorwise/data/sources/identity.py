"""What tells the rows of one source from those of another."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from priorwise.common.container import to_bytes
from priorwise.data.sources.source import SourceError
from priorwise.data.tables import RawTable
from priorwise.data.tables.categories import sorted_labels

EDGE_BYTES = 1 << 16
"""Bytes at the beginning and at the end of a file that its identity depends on."""


def identify_file(path: str | os.PathLike[str]) -> list[Any]:
    """Return a file's path, size, time of change, and a digest of its first and last bytes.

    A file that is changed in between, with its size and its time of change restored, is not
    recognised.
    """
    status = os.stat(path)
    with open(path, "rb") as file:
        edges = digest_edges(file, status.st_size)
    return [str(Path(path).absolute()), status.st_size, status.st_mtime_ns, edges]


def digest_edges(file: IO[bytes] | Any, size: int) -> str:
    """Return a digest of the first and the last `EDGE_BYTES` bytes of an open file."""
    digest = hashlib.sha256(file.read(EDGE_BYTES))
    file.seek(max(0, size - EDGE_BYTES))
    digest.update(file.read(EDGE_BYTES))
    return digest.hexdigest()


def digest_rows(frames: Iterable[tuple[Any, str]]) -> list[Any]:
    """Return the number of rows of the frames of `Part.read` and a digest of all their values.

    A label of a type that has no digest is a SourceError.
    """
    digest, n_rows = hashlib.sha256(), 0
    for frame, place in frames:
        try:
            digest.update(to_bytes(list(_columns(frame)), kind="rows"))
        except TypeError as error:
            raise SourceError(f"the rows cannot be told from others ({error})", place) from error
        n_rows += int(frame.shape[0])
    return [n_rows, digest.hexdigest()]


def _columns(frame: Any) -> Iterator[Any]:
    """Values of each column; labels sorted, since libraries list them in any order."""
    table = RawTable(frame)
    for i in range(table.n_columns):
        if table.kind(i) == "numeric":
            yield [table.name(i), table.numeric(i).values]
            continue
        column = table.nominal(i)
        labels = sorted_labels(column.labels)
        place = {label: code for code, label in enumerate(labels)}
        codes = np.array([*(place[label] for label in column.labels), -1], dtype=np.int32)
        yield [table.name(i), labels, codes[column.codes]]
