"""Files that pyarrow reads: Parquet by row groups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from priorwise.data.frame_types import column_families
from priorwise.data.source import SourceError, rebatch

_BUFFER_BYTES = 1 << 20


def import_arrow(what: str) -> Any:
    """The pyarrow package, or an error that names the extra."""
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError(f"{what} needs pyarrow: pip install priorwise[arrow]") from error
    return pyarrow


def rebatch_tables(tables: Iterator[Any], batch_rows: int, first_row: int = 0) -> Iterator[Any]:
    """Arrow tables cut into tables of one size; nothing is copied."""
    arrow = import_arrow("reading tables")
    return rebatch(
        tables, batch_rows, arrow.concat_tables, lambda t, at, n: t.slice(at, n), first_row
    )


@dataclass(frozen=True)
class FilePart:
    """What all files have in common: a path, and rows counted from its start."""

    path: Path

    @property
    def name(self) -> str:
        return str(self.path)

    def locate(self, first_row: int, last_row: int) -> str:
        return f"{self.path}, rows {first_row}..{last_row}"

    def identity(self) -> list[Any]:
        status = self.path.stat()
        return [str(self.path.absolute()), status.st_size, status.st_mtime_ns]


@dataclass(frozen=True)
class ParquetPart(FilePart):
    """A Parquet file: row groups are skipped unread, and decoded a batch at a time."""

    @cached_property
    def _layout(self) -> tuple[list[int], Any]:
        """Rows of each group, and the schema."""
        file = self._open([])
        groups = [file.metadata.row_group(g).num_rows for g in range(file.num_row_groups)]
        return groups, file.schema_arrow

    @property
    def n_rows(self) -> int:
        return sum(self._layout[0])

    def families(self) -> dict[str, str]:
        return column_families(self._layout[1].empty_table())

    def read(self, names: list[str], batch_rows: int, first_row: int) -> Iterator[Any]:
        skip, first_group = first_row, 0
        for n_rows in self._layout[0]:
            if skip < n_rows:
                break
            skip, first_group = skip - n_rows, first_group + 1
        tables = self._read_groups(names, batch_rows, first_group)
        return rebatch_tables(tables, batch_rows, skip)

    def _read_groups(self, names: list[str], batch_rows: int, first_group: int) -> Iterator[Any]:
        arrow = import_arrow("reading Parquet")
        groups, schema = self._layout
        # Labels are decoded once for each row group, not once for each row.
        texts = [n for n in names if arrow.types.is_string(schema.field(n).type)]
        file = self._open(texts)
        for group in range(first_group, len(groups)):
            try:
                for batch in file.iter_batches(batch_rows, row_groups=[group], columns=names):
                    table = arrow.Table.from_batches([batch])
                    yield table if table.column_names == names else table.select(names)
            except (arrow.ArrowException, OSError) as error:
                start = sum(groups[:group])
                place = f"{self.path}, row group {group}, rows {start}..{start + groups[group] - 1}"
                raise SourceError(f"the row group cannot be read ({error})", place) from error

    def _open(self, texts: list[str]) -> Any:
        arrow = import_arrow("reading Parquet")
        from pyarrow import parquet

        try:
            return parquet.ParquetFile(
                self.path, read_dictionary=texts, buffer_size=_BUFFER_BYTES, pre_buffer=False
            )
        except (arrow.ArrowException, OSError) as error:
            raise SourceError(f"the file cannot be read as Parquet ({error})", self.name) from error
