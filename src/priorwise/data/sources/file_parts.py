"""Files that are read in parts: Arrow IPC (Feather), Parquet and ARFF."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import IO, Any

from priorwise.common.files import open_data_file
from priorwise.common.runtime import MIB
from priorwise.data.arff.reader import ArffData, choose_frame_kind, read_header
from priorwise.data.arff.syntax import Attribute, RowReader, chunk_lines
from priorwise.data.sources.part import (
    PIECE_BYTES,
    FilePart,
    SourceError,
    check_names,
    import_arrow,
    naming_the_file,
    next_table,
    place_frames,
    rebatch,
)
from priorwise.data.tables.column_kinds import column_families

_MAGIC = b"ARROW1"


@dataclass(frozen=True)
class IpcPart(FilePart):
    """An Arrow IPC file, in the file or the stream format."""

    @cached_property
    def _layout(self) -> tuple[int | None, Any]:
        """Number of rows, if it is known without reading them, and the schema."""
        arrow = import_arrow("reading Arrow IPC")
        from pyarrow import dataset

        with naming_the_file("the file cannot be read as Arrow IPC", self.name):
            if self._is_file_format:
                fragments = dataset.dataset(self.path, format="ipc")
                # Only the headers of the record batches are read.
                n_rows, schema = fragments.count_rows(), fragments.schema
            else:
                with arrow.OSFile(self.name) as file, arrow.ipc.open_stream(file) as stream:
                    n_rows, schema = None, stream.schema
            check_names(schema.names, self.name)
            return n_rows, schema

    @cached_property
    def _is_file_format(self) -> bool:
        with open(self.path, "rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC

    @property
    def n_rows(self) -> int | None:
        return self._layout[0]

    def families(self) -> dict[str, str]:
        with naming_the_file("the columns cannot be used", self.name):
            return column_families(self._layout[1].empty_table())

    def read_whole(self) -> Any:
        arrow = import_arrow("reading Arrow IPC")
        names = list(self.families())
        tables = list(self.frames(names, 1, None))
        return arrow.concat_tables(tables) if tables else self._layout[1].empty_table()

    def frames(self, names: list[str], batch_rows: int, target: str | None) -> Iterator[Any]:
        arrow = import_arrow("reading Arrow IPC")
        place = {name: i for i, name in enumerate(self._layout[1].names)}
        options = arrow.ipc.IpcReadOptions(included_fields=sorted(place[name] for name in names))
        number = 0
        batches = self._record_batches(options)
        problem = "the record batch cannot be read"
        while (
            table := next_table(batches, names, problem, f"{self.path}, record batch {number}")
        ) is not None:
            yield table
            number += 1

    def _record_batches(self, options: Any) -> Iterator[Any]:
        arrow = import_arrow("reading Arrow IPC")
        with arrow.OSFile(self.name) as file:
            if not self._is_file_format:
                with arrow.ipc.open_stream(file, options=options) as stream:
                    yield from stream
            else:
                with arrow.ipc.open_file(file, options=options) as reader:
                    for i in range(reader.num_record_batches):
                        yield reader.get_batch(i)


# The row labels of a pandas frame are stored beside its columns.
_INDEX_COLUMN = re.compile(r"__index_level_\d+__")


@dataclass(frozen=True)
class ParquetPart(FilePart):
    """A Parquet file: row groups are skipped without decoding, and decoded a batch at a time."""

    @cached_property
    def _layout(self) -> tuple[list[int], Any]:
        """Rows of each group, and the schema."""
        with (
            naming_the_file("the file cannot be read as Parquet", self.name),
            self._open([]) as file,
        ):
            groups = [file.metadata.row_group(g).num_rows for g in range(file.num_row_groups)]
            schema = file.schema_arrow
            check_names(schema.names, self.name)
            if min(groups, default=0) < 0:
                raise SourceError("the number of rows of a row group is negative", self.name)
            return groups, schema

    @property
    def n_rows(self) -> int:
        return sum(self._layout[0])

    def families(self) -> dict[str, str]:
        with naming_the_file("the columns cannot be used", self.name):
            found = column_families(self._layout[1].empty_table())
        return {name: family for name, family in found.items() if not _INDEX_COLUMN.match(name)}

    def read(
        self, names: list[str], batch_rows: int, first_row: int, target: str | None
    ) -> Iterator[tuple[Any, str]]:
        skip, first_group = first_row, 0
        for n_rows in self._layout[0]:
            if skip < n_rows:
                break
            skip, first_group = skip - n_rows, first_group + 1
        tables = self._read_groups(names, batch_rows, first_group)
        return place_frames(rebatch(tables, batch_rows, skip), self.name, first_row)

    def read_whole(self) -> Any:
        with (
            naming_the_file("the file cannot be read as Parquet", self.name),
            self._open([]) as file,
        ):
            table = file.read()
            # Offsets and codes of a damaged file may lead to other memory.
            table.validate(full=True)
            return table

    def without_index(self, table: Any) -> Any:
        """Return a table without the row labels of pandas."""
        return table.select(list(self.families()))

    def _read_groups(self, names: list[str], batch_rows: int, first_group: int) -> Iterator[Any]:
        arrow = import_arrow("reading Parquet")
        groups, schema = self._layout
        problem = "the row group cannot be read"
        # Labels are decoded once for each row group, not once for each row.
        texts = [name for name in names if _is_text(arrow, schema.field(name).type)]
        with self._open(texts) as file:
            for group in range(first_group, len(groups)):
                place = self._locate_group(group)
                with naming_the_file(problem, place):
                    batches = file.iter_batches(batch_rows, row_groups=[group], columns=names)
                while (table := next_table(batches, names, problem, place)) is not None:
                    yield table

    def _locate_group(self, group: int) -> str:
        groups = self._layout[0]
        start = sum(groups[:group])
        return f"{self.path}, row group {group}, rows {start}..{start + groups[group] - 1}"

    def _open(self, texts: list[str]) -> Any:
        import_arrow("reading Parquet")
        from pyarrow import parquet

        with naming_the_file("the file cannot be read as Parquet", self.name):
            return parquet.ParquetFile(
                self.path,
                read_dictionary=texts,
                buffer_size=PIECE_BYTES,
                pre_buffer=False,
                page_checksum_verification=True,
            )


def _is_text(arrow: Any, kind: Any) -> bool:
    types = arrow.types
    if types.is_dictionary(kind):
        # An order is lost on this way, other labels are read more quickly.
        return bool(types.is_string(kind.value_type) and not kind.ordered)
    return bool(types.is_string(kind) or types.is_large_string(kind))


_BLOCK_BYTES = MIB
_TEXT_FACTOR = 4
"""Room that a cell takes as text, in a line, a row and a column, in values of a batch."""


@dataclass(frozen=True)
class ArffPart(FilePart):
    """An ARFF file, plain or gzipped; weights of rows are left out.

    The text is UTF-8, or else Latin-1, which takes one look at the whole file.
    """

    @cached_property
    def _encoding(self) -> str:
        decoder = codecs.getincrementaldecoder("utf-8-sig")()
        try:
            with self._open_bytes() as file:
                while block := file.read(_BLOCK_BYTES):
                    decoder.decode(block)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return "latin-1"
        return "utf-8-sig"

    @cached_property
    def _header(self) -> tuple[str, tuple[Attribute, ...], int]:
        """Relation, attributes, and the number of lines up to the data."""
        with self._open_lines() as lines:
            relation, attributes, n_lines = read_header(lines, self.name)
            return relation, tuple(attributes), n_lines

    def families(self) -> dict[str, str]:
        return column_families(self._to_frame([], list(range(len(self._header[1])))))

    def frames(self, names: list[str], batch_rows: int, target: str | None) -> Iterator[Any]:
        _, attributes, n_lines = self._header
        place = {attribute.name: j for j, attribute in enumerate(attributes)}
        chosen = [place[name] for name in names]
        # Sparse rows become cells a chunk at a time.
        reader = RowReader(attributes, self.name, limit_sparse=False)
        within_batch = batch_rows * len(names) // (_TEXT_FACTOR * len(attributes))
        step = min(chunk_lines(len(attributes)), max(1, within_batch))
        with self._open_lines() as lines:
            number = n_lines + 1
            rest = islice(lines, n_lines, None)
            for first in rest:
                chunk = [first, *islice(rest, step - 1)]
                yield self._to_frame(reader.read(chunk, number)[0], chosen)
                number += len(chunk)

    def _to_frame(self, columns: list[Any], chosen: list[int]) -> Any:
        relation, attributes, _ = self._header
        rows = columns or RowReader(attributes, self.name).read([], 0)[0]
        return ArffData(relation, attributes, tuple(rows)).to_frame(choose_frame_kind(), chosen)

    @contextmanager
    def _open_lines(self) -> Iterator[Iterator[str]]:
        with self._open_bytes() as file:
            text = io.TextIOWrapper(file, encoding=self._encoding)
            yield (line.rstrip("\n") for line in text)

    @contextmanager
    def _open_bytes(self) -> Iterator[IO[bytes]]:
        try:
            with open_data_file(self.path) as file:
                yield file
        except OSError as error:
            raise SourceError(f"the file cannot be read ({error})", self.name) from error
