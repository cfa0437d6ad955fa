"""Parquet files, a row group at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from priorwise.data.sources.file_part import FilePart, import_arrow
from priorwise.data.sources.source import SourceError, find_duplicate, naming_the_file
from priorwise.data.tables.frame_types import column_families

_BUFFER_BYTES = 1 << 20
# The row labels of a pandas frame are stored beside its columns.
_INDEX_COLUMN = re.compile(r"__index_level_\d+__")


@dataclass(frozen=True)
class ParquetPart(FilePart):
    """A Parquet file: row groups are skipped without decoding, and decoded a batch at a time.

    Every batch is checked in full before it is used, since a damaged file may give labels that
    are no text and codes without a label.
    """

    @cached_property
    def _layout(self) -> tuple[list[int], Any]:
        """Rows of each group, and the schema."""
        with (
            naming_the_file("the file cannot be read as Parquet", self.name),
            self._open([]) as file,
        ):
            groups = [file.metadata.row_group(g).num_rows for g in range(file.num_row_groups)]
            schema = file.schema_arrow
            twice = find_duplicate(schema.names)
            if twice is not None:
                raise SourceError(f"the column {twice!r} is there twice", self.name)
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
        return self._place_batches(tables, batch_rows, first_row, skip)

    def _read_groups(self, names: list[str], batch_rows: int, first_group: int) -> Iterator[Any]:
        arrow = import_arrow("reading Parquet")
        groups, schema = self._layout
        # Labels are decoded once for each row group, not once for each row.
        texts = [name for name in names if _is_text(arrow, schema.field(name).type)]
        with self._open(texts) as file:
            for group in range(first_group, len(groups)):
                place = self._locate_group(group)
                with naming_the_file("the row group cannot be read", place):
                    batches = file.iter_batches(batch_rows, row_groups=[group], columns=names)
                while True:
                    with naming_the_file("the row group cannot be read", place):
                        batch = next(batches, None)
                        if batch is None:
                            break
                        batch.validate(full=True)
                        table = arrow.Table.from_batches([batch]).select(names)
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
                buffer_size=_BUFFER_BYTES,
                pre_buffer=False,
                page_checksum_verification=True,
            )


def _is_text(arrow: Any, kind: Any) -> bool:
    return bool(arrow.types.is_string(kind) or arrow.types.is_large_string(kind))
