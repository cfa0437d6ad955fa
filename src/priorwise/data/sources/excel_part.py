"""Sheets of Excel workbooks."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import cached_property
from typing import Any

from priorwise.common.runtime import import_extra
from priorwise.data.columns import MISSING_MARKS
from priorwise.data.sources.part import (
    FilePart,
    SourceError,
    check_names,
    import_arrow,
    name_columns,
    naming_the_file,
)
from priorwise.data.sources.text_dialect import RECOGNISED, FileOptions
from priorwise.data.tables.column_kinds import column_families


@dataclass(frozen=True)
class ExcelPart(FilePart):
    """A sheet of a workbook (.xlsx), by default the first one, held in memory.

    The first row with a value has the names of the columns. Cells that are one of `marks` are
    missing. Columns in `texts` hold text.
    """

    options: FileOptions = RECOGNISED
    marks: tuple[str, ...] = MISSING_MARKS
    texts: frozenset[str] = frozenset()

    def describe(self) -> str | None:
        """Return which of several sheets is read, if it was not said."""
        if self.options.sheet is not None:
            return None
        with self._open_book() as book:
            names = book.sheetnames
        return f"sheet {names[0]!r} of {len(names)}" if len(names) > 1 else None

    def read_whole(self) -> Any:
        """Return all rows as an Arrow table."""
        return self._table

    def families(self) -> dict[str, str]:
        return column_families(self._table)

    def frames(self, names: list[str], batch_rows: int, target: str | None) -> Iterator[Any]:
        yield self._table.select(names)

    @cached_property
    def _table(self) -> Any:
        arrow = import_arrow("reading Excel files")
        with naming_the_file("the file cannot be read as Excel", self.name), self._open_book() as b:
            sheet = b[self._find_sheet(b.sheetnames)]
            # What a file says of its size may be wrong.
            sheet.reset_dimensions()
            header: tuple[Any, ...] | None = None
            rows: list[Sequence[Any]] = []
            for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
                while row and row[-1] is None:
                    row = row[:-1]
                if not row:
                    continue
                if header is None:
                    header = row
                elif len(row) > len(header):
                    raise SourceError(
                        f"row {number} has {len(row)} cells and the row of names {len(header)}; "
                        "the first row with a value must have the names of the columns",
                        self.name,
                    )
                else:
                    rows.append(row + (None,) * (len(header) - len(row)))
            if header is None:
                raise SourceError("the sheet has no rows; the option sheet chooses one", self.name)
            columns = list(zip(*rows, strict=True)) if rows else [()] * len(header)
            names = name_columns(["" if name is None else str(name) for name in header])
            check_names(names, self.name)
            return arrow.table(
                {
                    name: self._to_column(arrow, name, column)
                    for name, given, column in zip(names, header, columns, strict=True)
                    if given is not None or any(value is not None for value in column)
                }
            )

    def _open_book(self) -> Any:
        what = "reading Excel files"
        library = import_extra("openpyxl", what, "priorwise[excel]")
        with naming_the_file("the file cannot be read as Excel", self.name):
            # Of a path, the ending would have to be known.
            content = io.BytesIO(self.path.read_bytes())
            return closing(library.load_workbook(content, read_only=True, data_only=True))

    def _find_sheet(self, names: list[str]) -> str:
        sheet = 0 if self.options.sheet is None else self.options.sheet
        if isinstance(sheet, str) and sheet not in names and sheet.isdecimal():
            sheet = int(sheet)
        if isinstance(sheet, int) and 0 <= sheet < len(names):
            return names[sheet]
        if sheet not in names:
            raise SourceError(f"sheet must be one of {names}, got {sheet!r}", self.name)
        return str(sheet)

    def _to_column(self, arrow: Any, name: str, given: Sequence[Any]) -> Any:
        values = [None if isinstance(v, str) and v.strip() in self.marks else v for v in given]
        kinds = {type(value) for value in values if value is not None}
        if not kinds and name not in self.texts:
            return arrow.nulls(len(values))
        if name not in self.texts:
            for allowed, kind in _types(arrow):
                if kinds <= allowed:
                    return arrow.array(values, type=kind)
        return arrow.array([None if value is None else str(value) for value in values])


def _types(arrow: Any) -> list[tuple[set[type], Any]]:
    """Of sets of Python's types the type of Arrow that holds them."""
    return [
        ({bool}, arrow.bool_()),
        ({int}, arrow.int64()),
        ({int, float}, arrow.float64()),
        ({datetime, date}, arrow.timestamp("us")),
        ({time}, arrow.time64("us")),
        ({timedelta}, arrow.duration("us")),
    ]
