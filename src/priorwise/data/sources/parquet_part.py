"""Parquet files, a row group at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from priorwise.data.sources.part import (
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

_BUFFER_BYTES = 1 << 16
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
                buffer_size=_BUFFER_BYTES,
                pre_buffer=False,
                page_checksum_verification=True,
            )


def _is_text(arrow: Any, kind: Any) -> bool:
    types = arrow.types
    if types.is_dictionary(kind):
        # An order is lost on this way, other labels are read more quickly.
        return bool(types.is_string(kind.value_type) and not kind.ordered)
    return bool(types.is_string(kind) or types.is_large_string(kind))
