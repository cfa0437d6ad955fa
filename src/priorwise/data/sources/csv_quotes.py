"""Quotes of CSV files that are never closed, which would swallow the rows behind them."""

from __future__ import annotations

import io
from bisect import bisect
from typing import IO

import numpy as np
from numpy.typing import NDArray

from priorwise.data.sources.part import SourceError

QUOTE, NEWLINE, ENDS = ord('"'), ord("\n"), b",\n\r"
IS_EDGE = np.isin(np.arange(256), list(ENDS + b'"'))
"""Of each byte, whether a quote may open behind it and close before it, or it is a quote."""
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BLOCK_BYTES = 1 << 20


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
        """Follow the next bytes."""
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
