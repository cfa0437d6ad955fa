"""How the columns of a table or query are read in queries."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from priorwise.data.sources.part import SourceError
from priorwise.data.sources.sql.dialect import quote_name
from priorwise.data.sources.sql.sql_source import SqlSource
from priorwise.data.tables.column_kinds import Kind

_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("whole", "number", "date", "duration"), "numeric"),
    **dict.fromkeys(("boolean", "category"), "nominal"),
    **dict.fromkeys(("text", "object", "unknown"), "text"),
}


@dataclass(frozen=True)
class SqlColumn:
    """A column as queries read it: as a number that can be cut, or as a label."""

    expression: str
    slot: str  # the column of a result that it fills: "number", "whole" or "text"
    family: str
    is_number: bool

    def to_label(self, value: Any) -> Hashable:
        """Return a fetched value as the label that a frame would have."""
        if self.family == "boolean":
            return bool(value)
        return {"whole": int, "number": float}.get(self.slot, _as_it_is)(value)


def _as_it_is(value: Any) -> Any:
    return value


class SqlColumns:
    """The columns of a source; `kinds_of_columns` takes it for a `RawTable`."""

    def __init__(self, source: SqlSource, names: Sequence[str]) -> None:
        self.source = source
        self.names = list(names)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.names)

    def name(self, i: int) -> str:
        """Return how messages call column i."""
        return repr(self.names[i])

    def kind(self, i: int) -> Kind:
        """Return the kind of a column by its type; "text" if its values have to decide."""
        family = self.source.types[self.names[i]]
        if family not in _KINDS:
            raise TypeError(
                f"column {self.name(i)} has type {family}; use numbers, dates, strings, booleans "
                "or enumerations"
            )
        return _KINDS[family]

    def is_ordered(self, i: int, *, enums: bool = False) -> bool:
        """Whether the type of column i orders its labels: those of a database do not say so."""
        return False

    def holds_dates(self, i: int) -> bool:
        """Whether a column has dates, with or without a time."""
        return self.source.types[self.names[i]] == "date"

    def read(self, i: int, kind: Kind) -> SqlColumn:
        """Return how column i is read if it is of some kind."""
        dialect, family = self.source.dialect, self.source.types[self.names[i]]
        quoted = quote_name(self.names[i])
        if self.kind(i) == "numeric":
            if kind == "numeric":
                return SqlColumn(dialect.to_number(quoted, family), "number", family, True)
            if family in ("date", "duration"):
                raise SourceError(
                    f"column {self.name(i)} holds dates or times, which are numbers: cast it to "
                    "text in a query to take its values as labels",
                    self.source.name,
                )
            if family == "whole":
                return SqlColumn(quoted, "whole", family, False)
            return SqlColumn(dialect.to_number(quoted, family), "number", family, False)
        if family == "boolean":
            words = f"CASE WHEN {quoted} THEN 1 WHEN NOT {quoted} THEN 0 END"
            return SqlColumn(words, "whole", family, False)
        return SqlColumn(dialect.to_text(quoted, family), "text", family, False)
