"""Arrow IPC files (Feather), a record batch at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from priorwise.data.sources.file_part import FilePart, import_arrow
from priorwise.data.sources.source import SourceError
from priorwise.data.tables.frame_types import column_families

_MAGIC = b"ARROW1"


@dataclass(frozen=True)
class IpcPart(FilePart):
    """An Arrow IPC file, in the file or the stream format."""

    @cached_property
    def _layout(self) -> tuple[int | None, Any]:
        """Number of rows, if it is told, and the schema."""
        arrow = import_arrow("reading Arrow IPC")
        from pyarrow import dataset

        try:
            if not self._is_file_format:
                with arrow.OSFile(self.name) as file, arrow.ipc.open_stream(file) as stream:
                    return None, stream.schema
            fragments = dataset.dataset(self.path, format="ipc")
            # Counts are read from the headers of the record batches alone.
            return fragments.count_rows(), fragments.schema
        except (arrow.ArrowException, OSError) as error:
            raise SourceError(
                f"the file cannot be read as Arrow IPC ({error})", self.name
            ) from error

    @cached_property
    def _is_file_format(self) -> bool:
        with open(self.path, "rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC

    @property
    def n_rows(self) -> int | None:
        return self._layout[0]

    def families(self) -> dict[str, str]:
        return column_families(self._layout[1].empty_table())

    def read(
        self, names: list[str], batch_rows: int, first_row: int, target: str | None
    ) -> Iterator[tuple[Any, str]]:
        return self._place_batches(self._read_tables(names), batch_rows, first_row, first_row)

    def _read_tables(self, names: list[str]) -> Iterator[Any]:
        arrow = import_arrow("reading Arrow IPC")
        places = sorted(self._layout[1].names.index(name) for name in names)
        options = arrow.ipc.IpcReadOptions(included_fields=places)
        number = 0
        try:
            with arrow.OSFile(self.name) as file:
                for number, batch in enumerate(self._record_batches(file, options)):
                    yield arrow.Table.from_batches([batch]).select(names)
                    number += 1  # the batch that an error would be in
        except (arrow.ArrowException, OSError) as error:
            raise SourceError(
                f"the record batch cannot be read ({error})", f"{self.path}, record batch {number}"
            ) from error

    def _record_batches(self, file: Any, options: Any) -> Iterator[Any]:
        arrow = import_arrow("reading Arrow IPC")
        if not self._is_file_format:
            with arrow.ipc.open_stream(file, options=options) as stream:
                yield from stream
        else:
            with arrow.ipc.open_file(file, options=options) as reader:
                for i in range(reader.num_record_batches):
                    yield reader.get_batch(i)
