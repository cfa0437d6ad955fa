"""Parts of a source: files, partitions and streams of rows."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, ClassVar

import narwhals as nw
import numpy as np

from priorwise.common.container import to_bytes
from priorwise.common.runtime import KIB, import_extra
from priorwise.data.tables import RawTable
from priorwise.data.tables.categories import sorted_labels

PIECE_BYTES = 64 * KIB
"""Bytes of a file that are looked at together: they and what is found in them fit in a cache. The
identity of a file depends on so many at its beginning and at its end."""


class SourceError(ValueError):
    """Data that cannot be used; the message names the place and the error.

    Parameters
    ----------
    problem : str
        What is wrong.
    place : str
        File and rows.
    column : str, optional
        Column of numbers that has a text there.

    Examples
    --------
    >>> raise SourceError("the column 'age' is missing", "rows/2.parquet")
    Traceback (most recent call last):
        ...
    priorwise.data.sources.part.SourceError: rows/2.parquet: the column 'age' is missing
    """

    def __init__(self, problem: str, place: str, column: str | None = None):
        self.problem, self.place, self.column = problem, place, column
        super().__init__(f"{place}: {problem}")

    def __reduce__(self) -> tuple[type[SourceError], tuple[str, str, str | None]]:
        return type(self), (self.problem, self.place, self.column)


@contextmanager
def naming_the_file(problem: str, place: str) -> Iterator[None]:
    """Turn whatever a library raises at a file that it cannot read into a SourceError."""
    try:
        yield
    except (SourceError, ImportError):
        raise
    except BaseException as error:
        # A reader that is written in Rust says so when it meets what it did not expect.
        panic = type(error).__name__ == "PanicException"
        if type(error) is MemoryError or not (panic or isinstance(error, Exception)):
            raise
        raise SourceError(f"{problem} ({error!s:.500})", place) from error


class Part:
    """A file, a partition or a stream: rows in a fixed order, read as often as needed."""

    any_thread: ClassVar[bool] = True
    """Whether another thread than that which opened it may read it."""

    @property
    def name(self) -> str:
        """How messages call it."""
        raise NotImplementedError

    @property
    def n_rows(self) -> int | None:
        """Number of rows, if it is told without reading them."""
        return None

    def families(self) -> dict[str, str]:
        """What each column holds, by name: "number", "text", "boolean", ... or "unknown"."""
        raise NotImplementedError

    def read(
        self, names: list[str], batch_rows: int, first_row: int, target: str | None
    ) -> Iterator[tuple[Any, str]]:
        """Frames of those columns and their places, from row `first_row` on.

        Frames have at most `batch_rows` rows; if `n_rows` is known, all but the last exactly that
        many, and else `first_row` is zero. Numbers may come as floats, but not the target.
        """
        frames = rebatch(self.frames(names, batch_rows, target), batch_rows, first_row)
        return place_frames(frames, self.name, first_row)

    def frames(self, names: list[str], batch_rows: int, target: str | None) -> Iterator[Any]:
        """All rows of those columns, in frames of any sizes, best of `batch_rows` rows."""
        raise NotImplementedError

    def identity(self, names: list[str], batch_rows: int, target: str | None) -> list[Any]:
        """What tells the rows from others: their number and a digest of all values, if no more.

        A label of a type that has no digest is a SourceError.
        """
        digest, n_rows = hashlib.sha256(), 0
        for frame, place in self.read(names, batch_rows, 0, target):
            try:
                digest.update(to_bytes(list(_columns(frame)), kind="rows"))
            except TypeError as error:
                problem = f"the rows cannot be told from others ({error})"
                raise SourceError(problem, place) from error
            n_rows += int(frame.shape[0])
        return [n_rows, digest.hexdigest()]


@dataclass(frozen=True)
class FilePart(Part):
    """A file of rows.

    It is identified by its path, size and time of change, and by a digest of its first and last
    bytes. A file that is changed in between, with its size and its time of change restored, is not
    recognised.
    """

    path: Path

    @property
    def name(self) -> str:
        return str(self.path)

    def read_whole(self) -> Any:
        """Return all rows as an Arrow table."""
        raise NotImplementedError

    def identity(self, names: list[str], batch_rows: int, target: str | None) -> list[Any]:
        status = os.stat(self.path)
        with open(self.path, "rb") as file:
            edges = digest_edges(file, status.st_size)
        return [str(self.path.absolute()), status.st_size, status.st_mtime_ns, edges]


def place_frames(frames: Iterable[Any], name: str, first_row: int = 0) -> Iterator[tuple[Any, str]]:
    """Frames, and their places: the name of what they are part of and the numbers of rows."""
    row = first_row
    for frame in frames:
        n_rows = int(frame.shape[0])
        yield frame, f"{name}, rows {row}..{row + n_rows - 1}"
        row += n_rows


def check_names(names: Sequence[str], place: str) -> None:
    """Raise if a file has two columns of one name."""
    twice = find_duplicate(names)
    if twice is not None:
        raise SourceError(f"the column {twice!r} is there twice", place)


def name_columns(given: Sequence[str]) -> list[str]:
    """Names of the columns of a file; of several without one, those are called by their places.

    The only one without a name keeps the empty name, wherever it stands in another file.

    >>> name_columns(["", "a", " "]), name_columns(["a", ""])
    (['column 1', 'a', 'column 3'], ['a', ''])
    """
    is_named = [bool(name.strip()) for name in given]
    if is_named.count(False) < 2:
        return list(given)
    return [
        name if named else f"column {i + 1}"
        for i, (name, named) in enumerate(zip(given, is_named, strict=True))
    ]


def find_duplicate(names: Sequence[str]) -> str | None:
    """Return the first name that occurs more than once, None if each occurs once."""
    return next((name for name, n in Counter(names).items() if n > 1), None)


def digest_edges(file: IO[bytes] | Any, size: int) -> str:
    """Return a digest of the first and the last `PIECE_BYTES` bytes of an open file."""
    digest = hashlib.sha256(file.read(PIECE_BYTES))
    file.seek(max(0, size - PIECE_BYTES))
    digest.update(file.read(PIECE_BYTES))
    return digest.hexdigest()


def import_arrow(what: str) -> Any:
    """The pyarrow package, or an error that names the extra."""
    return import_extra("pyarrow", what, "priorwise[arrow]")


def next_table(batches: Iterator[Any], names: list[str], problem: str, place: str) -> Any:
    """The next record batch of a file as a table; None after the last one.

    It is checked in full: damaged offsets and codes would lead to other memory.
    """
    with naming_the_file(problem, place):
        batch = next(batches, None)
        if batch is None:
            return None
        arrow = import_arrow("reading files")
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            _validate(arrow, name, column)
        return arrow.Table.from_batches([batch]).select(names)


def _validate(arrow: Any, name: str, column: Any) -> None:
    """Raise if a column of a record batch is damaged."""
    if not arrow.types.is_dictionary(column.type):
        column.validate(full=True)
        return
    # As a full validation of the column, which takes ten times as long.
    column.validate()
    column.dictionary.validate(full=True)
    codes = column.indices.drop_null() if column.null_count else column.indices
    places = codes.to_numpy()
    # One look at each code: as an unsigned number a negative one is larger than any other.
    largest = places.view(f"u{places.itemsize}").max() if len(places) else -1
    if largest >= len(column.dictionary):
        raise arrow.ArrowInvalid(
            f"column {name!r} has labels {places.min()}..{places.max()} of {len(column.dictionary)}"
        )


def _columns(frame: Any) -> Iterator[Any]:
    """Values of each column; labels sorted, since libraries list them in any order."""
    table = RawTable(frame)
    for i in range(table.n_columns):
        if table.kind(i) == "numeric":
            yield [table.name(i), table.numeric(i)]
            continue
        column = table.nominal(i)
        labels = sorted_labels(column.labels)
        place = {label: code for code, label in enumerate(labels)}
        codes = np.array([*(place[label] for label in column.labels), -1], dtype=np.int32)
        yield [table.name(i), labels, codes[column.codes]]


def rebatch(frames: Iterable[Any], batch_rows: int, first_row: int = 0) -> Iterator[Any]:
    """Cut a stream of frames of any sizes into frames of one size, from row `first_row` on.

    The frames must have the same columns and types; the last one may be shorter.

    >>> import polars as pl
    >>> frames = [pl.DataFrame({"a": [0, 1, 2]}), pl.DataFrame({"a": [3, 4]})]
    >>> [frame["a"].to_list() for frame in rebatch(frames, 2, first_row=1)]
    [[1, 2], [3, 4]]
    """
    held: list[Any] = []
    n_held, skip = 0, first_row
    for native in frames:
        frame = nw.from_native(native, eager_only=True)
        if skip >= len(frame):
            skip -= len(frame)
            continue
        at, skip = skip, 0
        while at < len(frame):
            take = min(batch_rows - n_held, len(frame) - at)
            held.append(frame[at : at + take])
            at, n_held = at + take, n_held + take
            if n_held == batch_rows:
                yield _join(held)
                held, n_held = [], 0
    if held:
        yield _join(held)


def _join(frames: list[Any]) -> Any:
    return (frames[0] if len(frames) == 1 else nw.concat(frames)).to_native()
