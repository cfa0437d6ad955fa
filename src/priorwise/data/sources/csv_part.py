"""CSV files, a block of text at a time, whose quotes are all closed."""

from __future__ import annotations

import io
import re
from bisect import bisect
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.files import open_data_file
from priorwise.common.runtime import KIB, MIB
from priorwise.data.columns import MISSING_MARKS
from priorwise.data.sources.part import (
    FilePart,
    SourceError,
    check_names,
    import_arrow,
    naming_the_file,
)
from priorwise.data.tables.column_kinds import column_families, name_commonest
from priorwise.data.tables.label_keys import parse_number

QUOTE, NEWLINE, ENDS = ord('"'), ord("\n"), b",\n\r"
IS_EDGE = np.isin(np.arange(256), list(ENDS + b'"'))
"""Of each byte, whether a quote may open behind it and close before it, or it is a quote."""
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BLOCK_BYTES = MIB


class QuoteCheck:
    """Follows the quoted values of a CSV file, block after block.

    A quote opens a value at its beginning and is a letter elsewhere. A quoted value ends with a
    quote; two of them are a letter. ValueError, which has the line of the opening quote, at a value
    that goes on behind the line it begins in and does not end before a comma or the end of a line,
    or that the file ends in.
    """

    def __init__(self) -> None:
        self._line = 1  # of the first byte of the next block
        self._opened = 0  # line of the quote that is open; 0 if none is
        self._has_lines = False  # whether the open value has the end of a line
        self._before = NEWLINE  # last byte
        self._held = b""  # quotes at the end of a block, of which the next byte decides
        self._is_start = True

    def add(self, block: bytes | memoryview) -> None:
        content = b"".join((self._held, block))
        if self._is_start:
            content, self._is_start = content.removeprefix(BYTE_ORDER_MARK), False
        decided = content.rstrip(b'"')
        self._held = content[len(decided) :]
        values = np.frombuffer(decided, dtype=np.uint8)
        if not len(values):
            return
        newlines = np.flatnonzero(values == NEWLINE)
        quotes = np.flatnonzero(values == QUOTE)
        if not self._follow_pairs(values, quotes, newlines):
            self._follow_each(decided, quotes.tolist(), newlines.tolist())
        self._line += len(newlines)
        self._before = int(values[-1])

    def finish(self) -> None:
        """Say that the file ends."""
        self.add(b"\n")
        if self._opened:
            raise self._error()

    def _follow_pairs(
        self, values: NDArray[np.uint8], quotes: NDArray[np.intp], newlines: NDArray[np.intp]
    ) -> bool:
        """Follow the quotes at once if every second one closes; else return False.

        They open behind and close before a comma, the end of a line or a quote.
        """
        was_open = bool(self._opened)
        opening, closing = quotes[int(was_open) :: 2], quotes[1 - was_open :: 2]
        before = np.append(np.uint8(self._before), values)[opening]
        if not (IS_EDGE[before].all() and IS_EDGE[values[closing + 1]].all()):
            return False
        # A quote that opens behind a quote is the second of a pair inside of a value.
        starts = opening[before != QUOTE]
        if was_open == (len(quotes) % 2 == 1):
            self._opened = 0
        elif len(starts):
            n_before = int(np.searchsorted(newlines, starts[-1]))
            self._opened, self._has_lines = self._line + n_before, n_before < len(newlines)
        else:
            self._has_lines |= len(newlines) > 0
        return True

    def _follow_each(self, values: bytes, quotes: list[int], newlines: list[int]) -> None:
        """Follow the quotes one by one."""
        since, skip = 0, -1
        for at in quotes:
            if at == skip:
                continue
            n_before = bisect(newlines, at)
            if not self._opened:
                if (values[at - 1] if at else self._before) in ENDS:
                    self._opened, self._has_lines = self._line + n_before, False
                    since = n_before
            elif values[at + 1] == QUOTE:
                skip = at + 1
            elif (self._has_lines or n_before > since) and values[at + 1] not in ENDS:
                raise self._error()
            else:
                self._opened = 0
        self._has_lines |= len(newlines) > since

    def _error(self) -> ValueError:
        return ValueError(f"line {self._opened} has a quote that is not closed")


class QuoteCheckedFile(io.RawIOBase):
    """A CSV file whose quotes are checked while it is read; SourceError names its place."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file, self._place, self._check = file, name, QuoteCheck()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        n_read = int(self._file.readinto(buffer))  # type: ignore[attr-defined]
        try:
            if n_read:
                self._check.add(memoryview(buffer)[:n_read])
            else:
                self._check.finish()
        except ValueError as error:
            raise SourceError(str(error), self._place) from None
        return n_read

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def check_quotes(file: IO[bytes], name: str) -> None:
    """Raise SourceError if a CSV file has a quote that is not closed."""
    with QuoteCheckedFile(file, name) as checked:
        buffer = bytearray(_BLOCK_BYTES)
        while checked.readinto(buffer):
            pass


_FIRST_BLOCKS = (4 * MIB, 32 * MIB, 256 * MIB)
"""Bytes of the block that shows what columns hold: the first of these that has a whole row."""
_MAX_BLOCK_BYTES, _MIN_BLOCK_BYTES = MIB, 32 * KIB
"""Of the blocks that are read; pyarrow keeps about 40 of them."""
_COLUMN_NUMBER = re.compile(r"In CSV column #(\d+): ")


@dataclass(frozen=True)
class CsvPart(FilePart):
    """A CSV file, plain or gzipped, with a line of names.

    A column holds what the first block of the file with a value of that column holds: numbers,
    booleans, or else text, dates included. A later value of another kind is an error. Columns in
    `texts` hold text. A field that is one of `marks` is missing.
    """

    marks: tuple[str, ...] = MISSING_MARKS
    texts: frozenset[str] = frozenset()

    @cached_property
    def _first_block(self) -> tuple[Any, int]:
        """Names and types of the columns in the first block, and its length in bytes.

        The block is made longer until the line of names and a row are in it.
        """
        arrow = import_arrow("reading CSV")
        for block_bytes in _FIRST_BLOCKS[:-1]:
            try:
                return self._read_schema(block_bytes), block_bytes
            except arrow.ArrowInvalid as error:
                check_quotes(open_data_file(self.path), self.name)
                if not _is_cut(error):
                    raise
        return self._read_schema(_FIRST_BLOCKS[-1]), _FIRST_BLOCKS[-1]

    def _read_schema(self, block_bytes: int) -> Any:
        # Reading on ahead would take many times the first block.
        with open_data_file(self.path) as file:
            start = io.BytesIO(file.read(block_bytes + _MAX_BLOCK_BYTES))
        # One thread knows the numbers of rows, which its errors name.
        with self._open({}, None, block_bytes, use_threads=False, source=start) as reader:
            return reader.schema

    @cached_property
    def _types(self) -> dict[str, Any]:
        arrow = import_arrow("reading CSV")
        with naming_the_file("the file cannot be read as CSV", self.name):
            schema = self._first_block[0]
            check_names(schema.names, self.name)
            types = {field.name: field.type for field in schema}
            types |= {name: arrow.string() for name in self.texts if name in types}
            return types | self._resolve([n for n in types if arrow.types.is_null(types[n])])

    def _resolve(self, empty: list[str]) -> dict[str, Any]:
        """Types of columns that the first block has no value of: read on until one has."""
        arrow = import_arrow("reading CSV")
        found: dict[str, Any] = {}
        if not empty:
            return found
        with self._open(dict.fromkeys(empty, arrow.string()), empty) as reader:
            for block in reader:
                for name in (n for n in empty if n not in found):
                    values = block.column(name).drop_null()
                    if len(values):
                        found[name] = _guess_type(arrow, values)
                if len(found) == len(empty):
                    break
        return found

    def families(self) -> dict[str, str]:
        arrow = import_arrow("reading CSV")
        types = {name: self._reading_type(name, None) for name in self._types}
        families = column_families(arrow.schema(list(types.items())).empty_table())
        return {name: "text" if f == "category" else f for name, f in families.items()}

    def frames(self, names: list[str], batch_rows: int, target: str | None) -> Iterator[Any]:
        block_bytes = max(_MIN_BLOCK_BYTES, min(batch_rows * len(names) // 2, _MAX_BLOCK_BYTES))
        return self._read_blocks(names, target, block_bytes)

    def _read_blocks(
        self, names: list[str], target: str | None, block_bytes: int, n_rows: int = 0
    ) -> Iterator[Any]:
        """Tables of blocks of about `block_bytes` bytes, without the first `n_rows` rows."""
        arrow = import_arrow("reading CSV")
        types = {name: self._reading_type(name, target) for name in names}
        skip = n_rows
        try:
            with self._open(types, names, block_bytes) as reader:
                for block in reader:
                    rest = block.slice(min(skip, block.num_rows))
                    skip -= block.num_rows - rest.num_rows
                    if rest.num_rows:
                        yield arrow.Table.from_batches([rest])
                    n_rows += rest.num_rows
        except SourceError:
            raise
        except Exception as error:
            if type(error) is MemoryError:
                raise
            if _is_cut(error) and block_bytes < _FIRST_BLOCKS[-1]:
                yield from self._read_blocks(names, target, 8 * block_bytes, n_rows)
                return
            check_quotes(open_data_file(self.path), self.name)
            problem = self._find_problem(types, names) or str(error)
            raise SourceError(
                f"the rows cannot be read ({problem}); text is missing in a column named in "
                "numeric_features, and a label in one named in categorical_features",
                f"{self.path}, after row {n_rows}",
            ) from error

    def _find_problem(self, types: dict[str, Any], names: list[str]) -> str | None:
        """The message of one thread, which knows the numbers of rows, at the same place."""
        try:
            with self._open(types, names, use_threads=False) as reader:
                for _ in reader:
                    pass
        except Exception as error:
            columns, message = list(self._types), f"{error!s:.500}"
            match = _COLUMN_NUMBER.search(message)
            if match is None:
                return message
            column = columns[int(match.group(1))]
            problem = _COLUMN_NUMBER.sub(lambda _: f"column {column!r}: ", message)
            return problem + self._name_texts(column)
        return None

    def _name_texts(self, column: str) -> str:
        """Return the commonest texts of a column that are no numbers, for an error."""
        arrow, counts = import_arrow("reading CSV"), Counter[str]()
        try:
            with self._open({column: arrow.string()}, [column]) as reader:
                for block in reader:
                    for pair in block.column(0).drop_null().value_counts().to_pylist():
                        if parse_number(pair["values"]) is None:
                            counts[pair["values"]] += pair["counts"]
        except arrow.ArrowException:
            return ""
        labels, totals = list(counts), np.array(list(counts.values()))
        texts = name_commonest(labels, totals, range(len(labels)))
        return f"; its commonest texts are {texts}" if labels else ""

    def _reading_type(self, name: str, target: str | None) -> Any:
        arrow = import_arrow("reading CSV")
        kind = self._types[name]
        if arrow.types.is_integer(kind) and name != target:
            # Fractions may follow; as a feature both are the same number.
            return arrow.float64()
        if arrow.types.is_floating(kind) or arrow.types.is_integer(kind):
            return kind
        if arrow.types.is_boolean(kind) or arrow.types.is_null(kind):
            return kind
        return arrow.dictionary(arrow.int32(), arrow.string())

    @contextmanager
    def _open(
        self,
        types: dict[str, Any],
        names: list[str] | None,
        block_bytes: int | None = None,
        use_threads: bool = True,
        source: IO[bytes] | None = None,
    ) -> Iterator[Any]:
        """Open the file or its beginning; blocks have the length of the first one by default."""
        from pyarrow import csv

        size = self._first_block[1] if block_bytes is None else block_bytes
        read = csv.ReadOptions(block_size=size, use_threads=use_threads)
        parse = csv.ParseOptions(newlines_in_values=True)
        convert = csv.ConvertOptions(
            column_types=types,
            include_columns=names or [],
            null_values=list(self.marks),
            strings_can_be_null=True,
        )
        if source is None:
            checked = QuoteCheckedFile(open_data_file(self.path), self.name)
            source = io.BufferedReader(checked, read.block_size)
        with source as file, csv.open_csv(file, read, parse, convert) as reader:
            yield reader


def _is_cut(error: Exception) -> bool:
    """Whether pyarrow says that a block ends within its only row or within the line of names."""
    return any(text in str(error) for text in ("straddling", "cannot infer number of columns"))


def _guess_type(arrow: Any, words: Any) -> Any:
    for kind in (arrow.int64(), arrow.float64(), arrow.bool_()):
        try:
            words.cast(kind)
        except arrow.ArrowInvalid:
            continue
        return kind
    return arrow.string()
