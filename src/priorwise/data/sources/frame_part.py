"""Rows from frames: in memory, from a stream, lazy, in partitions, or of Spark."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals as nw

from priorwise.common.texts import say_missing
from priorwise.data.sources.part import (
    Part,
    SourceError,
    digest_edges,
    import_arrow,
    place_frames,
    rebatch,
)
from priorwise.data.tables.column_kinds import column_families


def open_frames(source: Any) -> list[Part]:
    """Parts of anything that is made of frames."""
    library = type(source).__module__.split(".")[0]
    if library == "dask" and hasattr(source, "npartitions"):
        return [DaskPart(source, number) for number in range(source.npartitions)]
    if library == "pyarrow" and hasattr(source, "scanner"):
        return [DatasetPart(source)]
    frame = nw.from_native(source, pass_through=True)
    if isinstance(frame, nw.LazyFrame) and library == "polars":
        return [LazyPart(source)]
    if isinstance(frame, nw.DataFrame):
        return [FramePart(source)]
    if callable(source):
        return [StreamPart(source)]
    raise TypeError(
        "source must be a path, a list of paths, a folder, a pyarrow Dataset, a callable that "
        "returns an iterator of frames, a polars LazyFrame, a Dask or Spark frame or a SqlSource, "
        f"got {type(source).__name__}"
    )


@dataclass(frozen=True)
class FramePart(Part):
    """The rows of one frame in memory."""

    frame: Any
    name: str = "frame"

    @property
    def n_rows(self) -> int:
        return int(self.frame.shape[0])

    def families(self) -> dict[str, str]:
        return column_families(self.frame)

    def frames(self, names: list[str], batch_rows: int, target: str | None) -> Iterator[Any]:
        yield nw.from_native(self.frame, eager_only=True).select(names).to_native()


@dataclass(frozen=True)
class StreamPart(Part):
    """Frames of a callable that returns a new iterator of the same frames each time."""

    factory: Callable[[], Iterable[Any]]
    name: str = "frames"

    @cached_property
    def _first(self) -> dict[str, str]:
        for frame in self._frames():
            return column_families(frame)
        raise SourceError("there is no frame", self.name)

    def families(self) -> dict[str, str]:
        return self._first

    def read(
        self, names: list[str], batch_rows: int, first_row: int, target: str | None
    ) -> Iterator[tuple[Any, str]]:
        for number, native in enumerate(self._frames()):
            frame = nw.from_native(native, eager_only=True)
            missing = [name for name in names if name not in frame.columns]
            if missing:
                raise SourceError(say_missing(missing), f"frame {number}")
            pieces = rebatch([frame.select(names).to_native()], batch_rows)
            yield from place_frames(pieces, f"frame {number}")

    def _frames(self) -> Iterable[Any]:
        frames = self.factory()
        if hasattr(frames, "shape"):
            raise TypeError("source as a callable must return an iterator of frames, got a frame")
        return frames


@dataclass(frozen=True)
class LazyPart(Part):
    """The rows of a polars LazyFrame, computed a batch at a time."""

    frame: Any
    name: str = "lazy frame"

    def families(self) -> dict[str, str]:
        return column_families(self.frame.collect_schema().to_frame())

    def frames(self, names: list[str], batch_rows: int, target: str | None) -> Iterator[Any]:
        frame = self.frame.select(names)
        if hasattr(frame, "collect_batches"):
            yield from frame.collect_batches(chunk_size=batch_rows, maintain_order=True)
            return
        row = 0
        while len(piece := frame.slice(row, batch_rows).collect()):
            yield piece
            row += len(piece)


@dataclass(frozen=True)
class DaskPart(Part):
    """One partition of a Dask data frame, computed and brought here as a whole."""

    frame: Any
    number: int

    @property
    def name(self) -> str:
        return f"partition {self.number}"

    def families(self) -> dict[str, str]:
        import pandas

        types = self.frame.dtypes.to_dict()
        empty = {name: pandas.Series([], dtype=dtype) for name, dtype in types.items()}
        return column_families(pandas.DataFrame(empty))

    def frames(self, names: list[str], batch_rows: int, target: str | None) -> Iterator[Any]:
        yield self.frame[names].partitions[self.number].compute()

    def identity(self, names: list[str], batch_rows: int, target: str | None) -> list[Any]:
        """What tells all partitions from others, found by the workers, told by the first part.

        The name that Dask gives a frame would not do: some are different in each process.
        """
        if self.number > 0:
            return []
        from dask import compute, delayed

        partitions = enumerate(self.frame[names].to_delayed())
        work = [delayed(_identify)(frame, i, names, batch_rows, target) for i, frame in partitions]
        return list(compute(*work))


def _identify(frame: Any, number: int, *layout: Any) -> list[Any]:
    return FramePart(frame, f"partition {number}").identity(*layout)


@dataclass(frozen=True)
class DatasetPart(Part):
    """The rows of a pyarrow Dataset, fragment after fragment."""

    dataset: Any
    name: str = "dataset"

    def families(self) -> dict[str, str]:
        return column_families(self.dataset.schema.empty_table())

    def read(
        self, names: list[str], batch_rows: int, first_row: int, target: str | None
    ) -> Iterator[tuple[Any, str]]:
        import pyarrow

        scanner = self.dataset.scanner(
            columns=names, batch_size=batch_rows, batch_readahead=2, fragment_readahead=1
        )
        fragment, row = self.name, 0
        try:
            for tagged in scanner.scan_batches():
                path = getattr(tagged.fragment, "path", None) or self.name
                if path != fragment:
                    fragment, row = path, 0
                n_rows = tagged.record_batch.num_rows
                if n_rows:
                    # Offsets and codes of a damaged file may lead to other memory.
                    tagged.record_batch.validate(full=True)
                    table = pyarrow.Table.from_batches([tagged.record_batch])
                    yield table, f"{fragment}, rows {row}..{row + n_rows - 1}"
                row += n_rows
        except Exception as error:
            if type(error) is MemoryError:
                raise
            place = self._find_damaged(fragment) or f"{fragment}, after row {row}"
            raise SourceError(f"the rows cannot be read ({error})", place) from error

    def _find_damaged(self, start: str) -> str | None:
        """The first fragment that cannot be read, from `start` on."""
        reached = start == self.name
        try:
            fragments = list(self.dataset.get_fragments())
        except ValueError:  # those of a filtered dataset are not told
            return None
        for fragment in fragments:
            path = getattr(fragment, "path", None) or self.name
            reached = reached or path == start
            if not reached:
                continue
            try:
                for batch in fragment.to_batches():
                    batch.validate(full=True)
            except Exception:
                return str(path)
        return None

    def identity(self, names: list[str], batch_rows: int, target: str | None) -> list[Any]:
        """The files and the filter; a digest of all values where there are no files."""
        files = getattr(self.dataset, "files", None)
        # Unknown to other versions of pyarrow; the rows themselves then say what was chosen.
        options = getattr(self.dataset, "_scan_options", None)
        if not files or options is None:
            return super().identity(names, batch_rows, target)
        # Written, never read: the only form of a filter that leaves nothing out.
        chosen = hashlib.sha256(pickle.dumps(options)).hexdigest()
        filesystem = self.dataset.filesystem
        return [chosen, [_identify_remote_file(filesystem, path) for path in files]]


def _identify_remote_file(filesystem: Any, path: str) -> list[Any]:
    """What `identify_file` returns, for a file of one of pyarrow's file systems."""
    (status,) = filesystem.get_file_info([path])
    with filesystem.open_input_file(path) as file:
        size = file.size()
        return [path, size, status.mtime_ns, digest_edges(file, size)]


DEFAULT_PARTITIONS = 64
"""Number of partitions that is planned with where Spark does not say how many there are."""


@dataclass(frozen=True)
class SparkPart(Part):
    """All rows of a Spark data frame, in partitions that its workers read."""

    frame: Any
    name: str = "Spark frame"

    @property
    def n_partitions(self) -> int:
        try:
            return int(self.frame.rdd.getNumPartitions())
        except Exception:  # a client of Spark Connect cannot see it
            return DEFAULT_PARTITIONS

    def select(self, names: list[str]) -> Any:
        return self.frame.select(*("`" + name.replace("`", "``") + "`" for name in names))

    def families(self) -> dict[str, str]:
        import_arrow("a Spark frame")
        from pyspark.sql.pandas.types import to_arrow_schema

        return column_families(to_arrow_schema(self.frame.schema).empty_table())

    def frames(self, names: list[str], batch_rows: int, target: str | None) -> Iterator[Any]:
        """Bring all rows here as one Arrow table."""
        yield self.select(names).toArrow()

    def identity(self, names: list[str], batch_rows: int, target: str | None) -> list[Any]:
        """The numbers of rows and partitions and the sum of a hash of each row."""
        from pyspark.sql import functions

        rows = self.select(names)
        hashes = functions.xxhash64(*rows.columns).cast("decimal(38,0)")
        (row,) = rows.agg(functions.count("*"), functions.sum(hashes)).collect()
        return [row[0], str(row[1]), self.n_partitions]
