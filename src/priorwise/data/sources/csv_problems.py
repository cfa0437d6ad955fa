"""How pyarrow reads delimited text, and what it says is wrong, with the line."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any

from priorwise.data.sources.text_dialect import TextDialect

_ROW = re.compile(r"(?:CSV parse error: )?(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")
_VALUE = re.compile(r"In CSV column #(\d+): (?:Row #(\d+): )?")


def is_cut(error: Exception) -> bool:
    """Whether pyarrow says that a block ends within its only row or within the line of names."""
    return any(text in str(error) for text in ("straddling", "cannot infer number of columns"))


def find_header_lines(file: IO[bytes], separator: str) -> int:
    """Return the number of lines up to the end of that of the names."""
    return next((end for _, end in _records(file, separator)), 0)


def find_line(file: IO[bytes], separator: str, record: int) -> int | None:
    """Return the line in which a record begins, counted from 1, that of the names; None if unknown.

    Lines without a field are no records.
    """
    try:
        for number, (start, _) in enumerate(_records(file, separator), start=1):
            if number == record:
                return start
    except (csv.Error, ValueError):
        pass
    return None


def _records(file: IO[bytes], separator: str) -> Iterator[tuple[int, int]]:
    """The first and the last line of each record."""
    with io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
        reader, start = csv.reader(text, delimiter=separator), 1
        for fields in reader:
            if fields:
                yield start, reader.line_num
            start = reader.line_num + 1


@dataclass(frozen=True)
class RecordCounter:
    """Finds the lines of the rows that pyarrow counts in a file.

    `n_skipped` lines stand before the line of names, `n_before` are counted before its record.
    """

    open_text: Callable[[], IO[bytes]]
    separator: str
    n_skipped: int
    n_before: int

    def find_line(self, row: str | None) -> int | None:
        if row is None:
            return None
        with self.open_text() as file:
            for _ in range(self.n_skipped):
                file.readline()
            line = find_line(file, self.separator, int(row) - self.n_before)
        return None if line is None else line + self.n_skipped


def describe_problem(
    message: str, names: Sequence[str], rows: RecordCounter
) -> tuple[str, str | None]:
    """Return what pyarrow says of a file, with lines and names, and the column that it names."""
    row = _ROW.search(message)
    value = _VALUE.search(message)
    if row is not None:
        record, expected, found = row.groups()
        line = rows.find_line(record)
        place = f"line {line}" if line else "a line"
        fields = "1 field" if found == "1" else f"{found} fields"
        return (
            f"{place} has {fields} and the line of names {expected}; the option separator says "
            "what is between fields",
            None,
        )
    if "cannot infer number of columns" in message or "Empty CSV file" in message:
        return "it has no line of names with rows behind it", None
    if value is None:
        return message, None
    column, record = names[int(value.group(1))], value.group(2)
    line = rows.find_line(record)
    place = f"line {line}, column {column!r}: " if line else f"column {column!r}: "
    # Groups of thousands have three digits.
    is_fraction = re.search(r"invalid value ' *[+-]?\d[\d.,]*[.,](\d{1,2}|\d{4,}) *'", message)
    advice = "; the option decimal says which mark is before decimals" if is_fraction else ""
    return _VALUE.sub(lambda _: place, message) + advice, column


def list_options(
    dialect: TextDialect,
    marks: Sequence[str],
    types: dict[str, Any],
    *,
    names: list[str] | None,
    all_names: list[str] | None,
    n_skipped: int,
    block_bytes: int,
    use_threads: bool,
) -> tuple[Any, Any, Any]:
    """Return options of pyarrow to read columns by `names`, all by default.

    `all_names` are those of the columns, if they are not in the first line that is not skipped.
    """
    from pyarrow import csv

    read = csv.ReadOptions(block_size=block_bytes, use_threads=use_threads, skip_rows=n_skipped)
    if all_names is not None:
        read.column_names = all_names
    parse = csv.ParseOptions(delimiter=dialect.separator, newlines_in_values=True)
    convert = csv.ConvertOptions(
        column_types=types,
        include_columns=names or [],
        null_values=list(marks),
        strings_can_be_null=True,
        decimal_point=dialect.decimal,
    )
    return read, parse, convert
