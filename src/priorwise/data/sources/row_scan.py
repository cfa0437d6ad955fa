"""Quotes and leading zeros of delimited text, followed block by block."""

from __future__ import annotations

import codecs
import io
import re
from bisect import bisect
from collections.abc import Callable
from functools import lru_cache
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from priorwise.data.sources.part import PIECE_BYTES, SourceError
from priorwise.data.sources.text_dialect import describe_decoding

QUOTE, NEWLINE, ZERO = ord('"'), ord("\n"), ord("0")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_NO_PLACES = np.empty(0, dtype=np.intp)
_BYTES = np.arange(256)
_IS_FRONT = np.isin(_BYTES, list(b'" '))
"""Of each byte, whether it may stand between the beginning of a field and a number."""


@lru_cache(8)
def _list_bytes(separator: bytes) -> tuple[Any, ...]:
    """Return what ends fields, three tables of bytes, and the pattern of a number with a zero.

    The tables say of each byte whether it ends a field; whether a quote may open behind it and
    close before it, or it is a quote; and whether it may be the third of a number, or end it.
    """
    ends = separator + b"\n\r"
    is_end, is_edge = np.isin(_BYTES, list(ends)), np.isin(_BYTES, list(ends + b'"'))
    is_part = is_end | np.isin(_BYTES, list(b'0123456789.,eE" \r\n'))
    edge = re.escape(ends + b'"')
    number = re.compile(rb"0[0-9]+([.,][0-9]*)?([eE][+-]?[0-9]+)? *[%b]" % edge)
    return ends, is_end, is_edge, is_part, number


class RowScan:
    """Follows the quoted values and the zeros of UTF-8 text, block after block.

    A quote opens a value at its beginning and is a letter elsewhere. A quoted value ends with a
    quote; two of them are a letter. ValueError, which has the line of the opening quote, at a value
    that goes on behind the line it begins in and does not end before a separator or the end of a
    line, or that the file ends in; and at bytes that are no UTF-8.

    `zeros` are the columns, by place, with a number that has a leading zero, and its line;
    `has_long_values` says whether a value has the end of a line.
    """

    def __init__(self, separator: str = ",") -> None:
        self.zeros: dict[int, int] = {}
        self.has_long_values = False
        self._separator = separator.encode()
        self._ends, self._is_end, self._is_edge, self._is_part, self._number = _list_bytes(
            self._separator
        )
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._line = 1  # of the first byte of the next block
        self._column = 0  # place of the first byte of the next block
        self._opened = 0  # line of the quote that is open; 0 if none is
        self._has_lines = False  # whether the open value has the end of a line
        self._before = NEWLINE  # last byte
        self._held = b""  # what is behind the last field that ends in a block
        self._is_start = True

    def add(self, block: bytes | memoryview) -> None:
        content = b"".join((self._held, block))
        if self._is_start:
            content, self._is_start = content.removeprefix(BYTE_ORDER_MARK), False
        end = max(content.rfind(b"\n"), content.rfind(self._separator)) + 1
        if not end and len(content) < PIECE_BYTES:  # the field goes on
            self._held = content
            return
        end = end or len(content.rstrip(b'"'))
        self._held = content[end:]
        values = np.frombuffer(content, dtype=np.uint8, count=end)
        if not end:
            return
        if not content.isascii():
            self._check_encoding(content[:end])
        zeros, n_lines = self._find_zeros(values)
        if not self._opened and not len(zeros) and content.find(b'"', 0, end) < 0:
            start = content.rfind(b"\n", 0, end) + 1
            before = 0 if start else self._column
            self._column = content.count(self._separator, start, end) + before
        else:
            self._follow(content[:end], values, zeros)
        self._line += n_lines
        self._before = int(values[-1])

    def _follow(self, decided: bytes, values: NDArray[np.uint8], zeros: NDArray[np.intp]) -> None:
        """Follow quotes and zeros."""
        newlines = np.flatnonzero(values == NEWLINE)
        quotes = np.flatnonzero(values == QUOTE)
        was_open, line = bool(self._opened), self._line
        if not self._follow_pairs(values, quotes, newlines):
            quotes = self._follow_each(decided, quotes.tolist(), newlines.tolist())
        layout = _Layout(values, self._separator[0], newlines, quotes, was_open, self._column)
        self._add_zeros(decided, zeros, layout, line)
        self.has_long_values |= layout.has_long_values()
        self._column = layout.last_column(decided)

    def finish(self) -> None:
        """Say that the file ends."""
        self.add(b"\n")
        if self._opened:
            raise self._error()

    def _check_encoding(self, decided: bytes) -> None:
        try:
            self._decoder.decode(decided)
        except UnicodeDecodeError as error:
            raise ValueError(describe_decoding(error, "utf-8", decided, self._line)) from error

    def _find_zeros(self, values: NDArray[np.uint8]) -> tuple[NDArray[np.intp], int]:
        """Return the places of zeros before digits that may begin a number, and the ends of lines.

        Zeros may be among them that begin none, but few.
        """
        found, n_lines = [], 0
        separator = self._separator[0]
        # Spaces, quotes, the ends of lines, tabs and commas come before the marks in numbers.
        last = separator if separator == ord(",") else ord("*")
        for start in range(0, len(values), PIECE_BYTES):
            # With the byte before and the one behind.
            part = values[max(start - 1, 0) : start + PIECE_BYTES + 1]
            n_lines += int(np.count_nonzero(values[start : start + PIECE_BYTES] == NEWLINE))
            front = part[:-2] <= last
            if separator > last:
                front |= part[:-2] == separator
            zero = part[1:-1] == ZERO
            zero &= front
            zero &= part[2:] >= ZERO
            if zero.any():
                found.append(np.flatnonzero(zero) + max(start, 1))
        begins = self._is_end[self._before] and values[0] == ZERO
        if begins and ZERO <= values[:2][-1] < ZERO + 10:
            found.insert(0, np.zeros(1, dtype=np.intp))
        return np.concatenate(found) if found else _NO_PLACES, n_lines

    def _add_zeros(
        self, decided: bytes, places: NDArray[np.intp], layout: _Layout, line: int
    ) -> None:
        if not len(places):
            return
        around = np.frombuffer(b"".join((b"\n\n", decided, b"\n")), dtype=np.uint8)
        before = around[places + 1]
        starts = self._is_end[before]
        starts |= _IS_FRONT[before] & self._is_edge[around[places]]
        starts &= self._is_part[around[places + 4]]
        starts &= layout.is_inside(places) == (before == QUOTE)
        places = places[starts]
        if not len(places):
            return
        columns = layout.columns(places)
        for column in set(columns.tolist()) - set(self.zeros):
            for at in places[columns == column].tolist():
                if self._number.match(decided, at):
                    n_before = bisect(layout.newlines.tolist(), at)
                    self.zeros[column] = line + n_before
                    break

    def _follow_pairs(
        self, values: NDArray[np.uint8], quotes: NDArray[np.intp], newlines: NDArray[np.intp]
    ) -> bool:
        """Follow the quotes at once if every second one closes; else return False.

        They open behind and close before a separator, the end of a line or a quote.
        """
        was_open = bool(self._opened)
        opening, closing = quotes[int(was_open) :: 2], quotes[1 - was_open :: 2]
        before = np.append(np.uint8(self._before), values)[opening]
        if not (self._is_edge[before].all() and self._is_edge[values[closing + 1]].all()):
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

    def _follow_each(
        self, values: bytes, quotes: list[int], newlines: list[int]
    ) -> NDArray[np.intp]:
        """Follow the quotes one by one; return those that open and close."""
        since, skip, real = 0, -1, list[int]()
        for at in quotes:
            if at == skip:
                continue
            n_before = bisect(newlines, at)
            if not self._opened:
                if (values[at - 1] if at else self._before) in self._ends:
                    self._opened, self._has_lines = self._line + n_before, False
                    since = n_before
                    real.append(at)
            elif values[at + 1] == QUOTE:
                skip = at + 1
            elif (self._has_lines or n_before > since) and values[at + 1] not in self._ends:
                raise self._error()
            else:
                self._opened = 0
                real.append(at)
        self._has_lines |= len(newlines) > since
        return np.array(real, dtype=np.intp)

    def _error(self) -> ValueError:
        return ValueError(f"line {self._opened} has a quote that is not closed")


class _Layout:
    """Where the fields of a block are.

    `quotes` are those that open and close values, `was_open` whether the block begins in a quoted
    value, `column` the place of the field that it begins in.
    """

    def __init__(
        self,
        values: NDArray[np.uint8],
        separator: int,
        newlines: NDArray[np.intp],
        quotes: NDArray[np.intp],
        was_open: bool,
        column: int,
    ) -> None:
        self.values, self.newlines = values, newlines
        self._separator, self._quotes = separator, quotes
        self._was_open, self._column = was_open, column

    def is_inside(self, places: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return which bytes are in quoted values."""
        if not len(self._quotes):
            return np.full(len(places), self._was_open)
        n_before = np.searchsorted(self._quotes, places)
        return (n_before % 2 == 1) != self._was_open

    def columns(self, places: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the columns that bytes are in."""
        separators = self._outside(np.flatnonzero(self.values == self._separator))
        lines = np.searchsorted(self._lines(), places)
        starts = np.concatenate([[-self._column], np.searchsorted(separators, self._lines())])
        return np.searchsorted(separators, places) - starts[lines]

    def has_long_values(self) -> bool:
        """Return whether the end of a line is in a value."""
        return len(self._lines()) < len(self.newlines)

    def last_column(self, decided: bytes) -> int:
        """Return the column behind the block."""
        lines = self._lines()
        start = int(lines[-1]) + 1 if len(lines) else 0
        if not len(self._quotes) and not self._was_open:
            n = decided.count(self._separator, start)
        else:
            rest = self.values[start:]
            n = len(self._outside(np.flatnonzero(rest == self._separator) + start))
        return n + (0 if len(lines) else self._column)

    def _lines(self) -> NDArray[np.intp]:
        return self._outside(self.newlines)

    def _outside(self, places: NDArray[np.intp]) -> NDArray[np.intp]:
        if not len(self._quotes) and not self._was_open:
            return places
        return places[~self.is_inside(places)]


class ScannedFile(io.RawIOBase):
    """Delimited text that is scanned while it is read; SourceError names its place.

    `check` is called after each block with the scan, and may raise SourceError.
    """

    def __init__(
        self, file: IO[bytes], scan: RowScan, place: str, check: Callable[[RowScan], None]
    ) -> None:
        self._file, self._scan, self._place, self._check = file, scan, place, check

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        n_read = int(self._file.readinto(buffer))  # type: ignore[attr-defined]
        try:
            if n_read:
                self._scan.add(memoryview(buffer)[:n_read])
            else:
                self._scan.finish()
        except SourceError:
            raise
        except ValueError as error:
            raise SourceError(str(error), self._place) from None
        self._check(self._scan)
        return n_read

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()
