"""The rows of a database as a part of a source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from priorwise.data.sources.part import Part, import_arrow, naming_the_file, place_frames
from priorwise.data.sources.rebatch import rebatch
from priorwise.data.sources.sql.sql_source import SqlSource


@dataclass(frozen=True)
class SqlPart(Part):
    """The rows of a table or query, sorted by all columns."""

    source: SqlSource

    @property
    def name(self) -> str:
        return self.source.name

    def families(self) -> dict[str, str]:
        return {
            name: "number" if family == "whole" else family
            for name, family in self.source.types.items()
            if name != self.source.weight
        }

    def read(
        self, names: list[str], batch_rows: int, first_row: int, target: str | None
    ) -> Iterator[tuple[Any, str]]:
        import_arrow("reading the rows of a database")
        return place_frames(rebatch(self._fetch(names, batch_rows), batch_rows), self.name)

    def _fetch(self, names: list[str], batch_rows: int) -> Iterator[Any]:
        with naming_the_file("the database refuses a query", self.name):
            yield from self.source.fetch_frames(names, batch_rows)
