"""Arrow IPC files (Feather), a record batch at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from priorwise.data.sources.part import (
    FilePart,
    check_names,
    import_arrow,
    naming_the_file,
    next_table,
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
