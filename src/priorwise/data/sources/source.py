"""Rows that come in batches, as often as they are asked for, and how they are opened."""

from __future__ import annotations

import hashlib
import json
import os
from collections import deque
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from priorwise.common.files import is_same_file
from priorwise.common.texts import say_missing
from priorwise.common.validation import check_number, name_near
from priorwise.data.sources.file_list import open_files, reopen
from priorwise.data.sources.frame_part import SparkPart, open_frames
from priorwise.data.sources.part import FilePart, Part, SourceError, find_duplicate
from priorwise.data.sources.sql_source import SqlPart, SqlSource
from priorwise.data.sources.text_dialect import FileOptions
from priorwise.data.tables.column_kinds import (
    cast_unknown,
    column_families,
    drop_column,
    read_labels,
)
from priorwise.data.tables.label_keys import list_marks

BATCH_ROWS = 65_536
"""Most rows of a batch by default."""
BATCH_CELLS = 32_000_000
"""Most cells of a batch by default, where there are many columns."""


@dataclass(frozen=True)
class Batch:
    """Some rows of a source."""

    X: Any  # a pyarrow table for files, else a frame of the library that the source gave
    y: NDArray[Any] | None  # the labels, none missing; None where the source has no target
    first_row: int  # place of the first row in the whole source
    place: str  # where the rows are, for messages: "a.parquet, rows 0..99"
    texts: frozenset[str] = frozenset()  # columns of strings, which may come as categories

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])


@dataclass(frozen=True)
class Source:
    """Rows in batches: the same batches in the same order every time they are read.

    A batch never spans two files or partitions. Nothing but the batch at hand is in memory.
    """

    parts: Sequence[Part]
    feature_names: list[str]
    target: str | None
    families: dict[str, str]
    batch_rows: int = BATCH_ROWS

    @property
    def n_rows(self) -> int | None:
        """Number of rows, if the files tell without being read."""
        known = [part.n_rows for part in self.parts]
        return None if None in known else sum(n for n in known if n is not None)

    def reads_file(self, path: str | os.PathLike[str]) -> bool:
        """Whether a path leads to one of the files that the rows are in."""
        return any(
            isinstance(part, FilePart) and is_same_file(path, part.path) for part in self.parts
        )

    def with_batch_rows(self, batch_rows: int) -> Source:
        """The same rows in batches of another size."""
        check_number("batch_rows", batch_rows, least=1, whole=True)
        return replace(self, batch_rows=int(batch_rows))

    def read(self, start: int = 0) -> Iterator[Batch]:
        """The batches in order, from batch number `start` on.

        Batches before `start` are skipped without decoding where a file allows it.
        """
        if start < 0:
            raise ValueError(f"start must not be negative, got {start}")
        skip, row = start, 0
        for part in self.parts:
            if part.n_rows is not None:
                n_batches = -(-part.n_rows // self.batch_rows)
                if skip >= n_batches:
                    skip, row = skip - n_batches, row + part.n_rows
                    continue
            within = skip * self.batch_rows if part.n_rows is not None else 0
            for frame, place in part.read(self._columns, self.batch_rows, within, self.target):
                n_rows = int(frame.shape[0])
                if part.n_rows is None and skip > 0:
                    skip -= 1
                else:
                    yield self._batch(frame, row + within, place)
                    skip = 0
                within += n_rows
            row += within

    def fingerprint(self) -> str:
        """Return a digest that other data, other columns or another batch size change.

        A file is identified by its path, size and time of change and by a digest of its first and
        last 64 KiB. Frames in memory, frames of a callable and lazy frames are identified by a
        digest of all their values, for which they are read once; Dask and Spark frames are read by
        their workers.
        """
        identities = [
            [part.name, part.identity(self._columns, self.batch_rows, self.target)]
            for part in self.parts
        ]
        described = [
            identities,
            self.feature_names,
            self.target,
            sorted(self.families.items()),
            self.batch_rows,
        ]
        return hashlib.sha256(json.dumps(described).encode()).hexdigest()

    @property
    def _columns(self) -> list[str]:
        return self.feature_names if self.target is None else [*self.feature_names, self.target]

    @property
    def _texts(self) -> frozenset[str]:
        return frozenset(name for name in self.feature_names if self.families[name] == "text")

    def _batch(self, frame: Any, first_row: int, place: str) -> Batch:
        found = column_families(frame)
        for name in self._columns:
            check_family(name, found[name], self.families[name], place)
        frame = cast_unknown(frame, found, self.families)
        if self.target is None:
            return Batch(frame, None, first_row, place, self._texts)
        y, missing = read_labels(frame, self.target)
        if missing.any():
            raise SourceError(
                f"target {self.target!r} must not be missing, but is in {int(missing.sum())} rows, "
                f"the first of them row {int(np.argmax(missing))} of these",
                place,
            )
        return Batch(drop_column(frame, self.target), y, first_row, place, self._texts)


def default_batch_rows(n_columns: int) -> int:
    """Return at most `BATCH_ROWS` rows and, if that is more than one, `BATCH_CELLS` cells.

    >>> default_batch_rows(100), default_batch_rows(100_000)
    (65536, 320)
    """
    return max(1, min(BATCH_ROWS, BATCH_CELLS // max(n_columns, 1)))


def build_source(
    parts: Sequence[Part],
    target: str | None,
    features: Sequence[str] | None,
    batch_rows: int | None,
) -> Source:
    """Join parts whose columns agree; the first part fixes their order."""
    if not parts:
        raise ValueError("source must hold at least one file or partition, got none")
    if batch_rows is not None:
        check_number("batch_rows", batch_rows, least=1, whole=True)
    first = parts[0].families()
    names = [name for name in first if name != target] if features is None else list(features)
    if not names:
        raise ValueError("features must name at least one column, got none")
    twice = find_duplicate(names)
    if twice is not None:
        raise ValueError(f"features must name each column once, got {twice!r} twice")
    if target is not None and target in names:
        raise ValueError(f"features must not hold the target {target!r}")
    columns = names if target is None else [*names, target]
    families = dict.fromkeys(columns, "unknown")
    where = dict.fromkeys(columns, parts[0].name)
    for part in parts:
        found = first if part is parts[0] else part.families()
        missing = [name for name in columns if name not in found]
        if missing:
            role = "target" if missing == [target] else "column"
            raise SourceError(
                f"{say_missing(missing, role)}; the columns are {_shorten(list(found))}"
                + name_near(missing[0], list(found)),
                part.name,
            )
        for name in columns:
            if families[name] in ("unknown", "object"):
                families[name], where[name] = found[name], part.name
            check_family(name, found[name], families[name], part.name, where[name])
    if batch_rows is None:
        batch_rows = default_batch_rows(len(columns))
    return Source(tuple(parts), names, target, families, batch_rows)


def check_family(
    name: str, found: str, expected: str, place: str, elsewhere: str | None = None
) -> None:
    """Raise unless a column holds what it holds elsewhere; a column of nothing holds anything."""
    # Labels of a file may be read as categories, once each.
    found, expected = ("text" if family == "category" else family for family in (found, expected))
    if found != expected and not {found, expected} & {"unknown", "object"}:
        before = "before" if elsewhere is None else f"in {elsewhere}"
        raise SourceError(
            f"column {name!r} must hold {expected} values as {before}, got {found} values", place
        )


def _shorten(names: list[str]) -> str:
    return str(names) if len(names) <= 12 else f"{names[:12]} and {len(names) - 12} more"


T = TypeVar("T")
_END: Any = object()


def prefetch(items: Iterable[T], depth: int = 2) -> Generator[T, None, None]:
    """The same items in the same order, up to `depth` of them made ahead on a thread.

    An error of `items` is raised in its place. The thread ends when the iterator is exhausted,
    closed or dropped. A depth of zero makes nothing ahead.

    >>> list(prefetch(iter(range(5)), depth=2))
    [0, 1, 2, 3, 4]
    """
    if depth < 0:
        raise ValueError(f"depth must not be negative, got {depth}")
    iterator = iter(items)
    waiting: deque[Future[T]] = deque()
    pool = ThreadPoolExecutor(1)
    try:
        for _ in range(depth):
            waiting.append(pool.submit(next, iterator, _END))
    except RuntimeError:  # no thread can be started: make nothing ahead
        depth = 0
    if depth == 0:
        yield from iterator
        return
    try:
        while (item := waiting.popleft().result()) is not _END:
            waiting.append(pool.submit(next, iterator, _END))
            yield item
    finally:
        pool.shutdown(cancel_futures=True)
        close = getattr(iterator, "close", None)
        if close is not None:
            close()


def open_source(
    source: Any,
    *,
    target: str | None,
    features: Sequence[str] | None = None,
    batch_rows: int | None = None,
    missing_values: Any = "usual",
    texts: Collection[str] = (),
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    sheet: str | int | None = None,
    like: str | None = None,
) -> Source:
    """Open data that need not fit in memory, to be read in batches as often as needed.

    Parameters
    ----------
    source : path, folder, Dataset, callable, LazyFrame, Dask or Spark frame, SqlSource
        Files are Parquet (".parquet"), delimited text (".csv", ".tsv", ".txt", ".tab"), Excel
        (".xlsx"), Arrow IPC (".arrow", ".feather", ".ipc") or ARFF (".arff"), one or a list of
        paths; those of a folder, and those that match a pattern with ``*``, are read in the order
        of their names, texts (".txt") in folders left out. Texts and ARFF may be compressed
        (".gz", ".bz2", ".xz", ".zst", ".zip"). A callable takes no argument and returns a new
        iterator of the same frames each time. A frame in memory is a source too, and so is an open
        source, which is read as it was opened.
    target : str or None
        Column of the labels; None if there is none.
    features : sequence of str, optional
        Columns to read; all but the target by default, as the first file orders them.
    batch_rows : int, optional
        Largest number of rows of a batch; 65,536 by default, fewer with more than 512 columns.
    missing_values : "usual" or list of str and float
        Fields of a CSV file that are missing values: "", "?", "NA" and the like by default.
    texts : collection of str
        Columns of a CSV file to read as text. Others are what their first values are, and a later
        value of another kind is an error.
    separator : str, optional
        What is between fields of text: by default what the first lines of the file show, of comma,
        semicolon, tab and bar.
    decimal : "." or ",", optional
        The mark before decimals; the other one may stand between thousands. By default what the
        numbers show; where they leave it open, an error names a column.
    encoding : str, optional
        Encoding of the text, by a name that Python knows; by default UTF-8, UTF-16, Latin-1 or
        Windows-1252, as the first bytes show.
    sheet : str or int, optional
        Name or position of the sheet of an Excel file; the first one by default.
    like : "." or ",", optional
        The mark before decimals where the file leaves it open, such as that of another file.

    Returns
    -------
    Source
        Its method `read` iterates over the batches, as often as it is called.

    Raises
    ------
    SourceError
        A file that cannot be read, or a column that is missing in one of them or holds another
        kind of value there; reading raises it too. It names the file and the place.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "label": ["x", "y", "x"]})
    >>> source = open_source(lambda: iter([frame]), target="label", batch_rows=2)
    >>> [(batch.place, batch.y.tolist()) for batch in source.read()]
    [('frame 0, rows 0..1', ['x', 'y']), ('frame 0, rows 2..2', ['x'])]
    """
    marks = list_marks(missing_values)
    options = FileOptions(separator, decimal, encoding, sheet, like)
    if isinstance(source, Source):
        features = source.feature_names if features is None else features
        parts = source.parts
    else:
        parts = _open_parts(source, options, marks)
    parts = [reopen(part, frozenset(texts), marks) for part in parts]
    return build_source(parts, target, features, batch_rows)


def _open_parts(source: Any, options: FileOptions, marks: tuple[str, ...]) -> Sequence[Part]:
    if isinstance(source, (str, os.PathLike)):
        return open_files([source], options, marks)
    if isinstance(source, SqlSource):
        return [SqlPart(source)]
    if hasattr(source, "mapInArrow"):
        return [SparkPart(source)]
    if isinstance(source, (list, tuple)):
        if not all(isinstance(path, (str, os.PathLike)) for path in source):
            raise TypeError(f"source as a list must hold paths, got {source!r:.80}")
        return open_files(source, options, marks)
    return open_frames(source)
