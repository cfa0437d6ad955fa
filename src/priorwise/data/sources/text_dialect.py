"""How a file of delimited text is written, and how that is recognised from its beginning."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import IO

from priorwise.common.runtime import MIB
from priorwise.common.validation import check_choice
from priorwise.data.sources.number_marks import choose_marks, refuse_values_as_names
from priorwise.data.sources.part import SourceError

SAMPLE_BYTES = 4 * MIB
"""Bytes at the beginning of a file by which it is recognised."""
_MAX_LINES = 1_000
"""Most lines that are looked at for the separator."""

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "space"}
_RECOGNISED = (",", ";", "\t", "|")
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins as UTF-16 does
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_ENCODING_NAMES = {
    "utf-8": "UTF-8",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16",
    "utf-32-le": "UTF-32",
    "utf-32-be": "UTF-32",
    "iso8859-1": "Latin-1",
    "cp1252": "Windows-1252",
}
# Latin-1 has control characters there, which no text has: it is read as Windows-1252.
_READ_AS = {"iso8859-1": "cp1252"}
_WINDOWS = re.compile(rb"[\x80-\x9f]")
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?(?:\r\n|\n|\r|$)', re.IGNORECASE)
_QUOTED = re.compile(r'(?:(?<=[\r\n,;\t|])|\A)"(?:[^"]|"")*"')


@dataclass(frozen=True)
class FileOptions:
    """What a user says of a file, None where it is to be recognised; see `open_source`.

    `like` is the decimal mark of another file, which decides where the file leaves it open.
    """

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    sheet: str | int | None = None
    like: str | None = None

    def __post_init__(self) -> None:
        given = self.separator
        if given is not None and (len(given) != 1 or given in '"\r\n' or not given.isascii()):
            raise ValueError(
                f"separator must be one character such as ',', ';', '\\t' or '|', got {given!r}"
            )
        if self.decimal is not None:
            check_choice("decimal", self.decimal, (".", ","))
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except LookupError:
                raise ValueError(
                    "encoding must be one that Python knows, such as 'utf-8', 'cp1252' or "
                    f"'utf-16', got {self.encoding!r}"
                ) from None


@dataclass(frozen=True)
class TextDialect:
    """How delimited text is written.

    `thousands` is what stands between groups of three digits, if anything does; `n_skipped` is the
    number of lines before that of the names. `line_end` is a carriage return where nothing else
    ends lines. `has_decimals` says whether numbers show the decimal mark.
    """

    separator: str = ","
    decimal: str = "."
    thousands: str = ""
    encoding: str = "utf-8"
    line_end: str = "\n"
    n_skipped: int = 0
    has_decimals: bool = True

    def describe(self, options: FileOptions) -> str | None:
        """Return what is unlike UTF-8 with commas and was not said, in words; None if nothing is.

        >>> TextDialect(";", ",", encoding="iso8859-1").describe(FileOptions())
        'semicolon-separated Latin-1 with decimal commas'
        >>> TextDialect(";").describe(FileOptions(separator=";"))
        """
        words = []
        if self.separator != "," and options.separator is None:
            words.append(f"{SEPARATORS.get(self.separator, repr(self.separator))}-separated")
        if self.encoding != "utf-8" and options.encoding is None:
            words.append(_ENCODING_NAMES.get(self.encoding, self.encoding))
        numbers = []
        if self.decimal != "." and options.decimal is None:
            numbers.append("decimal commas")
        if self.thousands and options.decimal is None:
            numbers.append(f"{self.thousands!r} between thousands")
        if not (words or numbers):
            return None
        return " ".join([*(words or ["text"]), *(["with", " and ".join(numbers)] * bool(numbers))])


PLAIN = TextDialect()
RECOGNISED = FileOptions()
"""Nothing is said of a file."""


def recognise(
    sample: bytes, options: FileOptions, marks: Sequence[str], place: str, *, is_whole: bool
) -> TextDialect:
    """Recognise delimited text by its first bytes; fields that are one of `marks` are missing.

    SourceError, which names the option to give, where it can be read in two ways.
    """
    encoding = options.encoding or _recognise_encoding(sample, place)
    encoding = codecs.lookup(encoding).name
    if encoding in ("utf-16", "utf-8-sig"):
        found = next((name for mark, name in _MARKS if sample.startswith(mark)), None)
        encoding = found or ("utf-8" if encoding == "utf-8-sig" else "utf-16-le")
    text = _decode(sample, encoding, place, is_whole)
    ends_with_return = "\r" in text and "\n" not in text
    dialect = TextDialect(encoding=encoding, line_end="\r" if ends_with_return else "\n")
    text = text.replace("\r", "\n") if ends_with_return else text
    first = _SEPARATOR_LINE.match(text)
    said = None
    if first is not None:
        said, text = first.group(1), text[first.end() :]
        dialect = replace(dialect, n_skipped=1)
    separator = options.separator or said or _recognise_separator(text, place, is_whole)
    decimal, thousands, is_sure = choose_marks(
        text,
        separator,
        marks,
        decimal=options.decimal,
        like=options.like,
        place=place,
        is_whole=is_whole,
    )
    refuse_values_as_names(text, separator, decimal, marks, place, is_whole=is_whole)
    return replace(
        dialect,
        separator=separator,
        decimal=decimal,
        thousands=thousands,
        has_decimals=is_sure,
    )


def _recognise_encoding(sample: bytes, place: str) -> str:
    for mark, name in _MARKS:
        if sample.startswith(mark):
            return name
    start = sample[:1000]
    if start.count(0):
        # Western letters have a zero in every second byte.
        even, odd = start[::2].count(0), start[1::2].count(0)
        if 4 * max(even, odd) > len(start) and 10 * min(even, odd) < len(start):
            return "utf-16-le" if odd > even else "utf-16-be"
        raise SourceError("it is no text: it has bytes that are zero", place)
    if sample.isascii():
        return "utf-8"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return "cp1252" if _WINDOWS.search(sample) else "iso8859-1"
    return "utf-8"


def _decode(sample: bytes, encoding: str, place: str, is_whole: bool) -> str:
    try:
        decoder = codecs.getincrementaldecoder(_READ_AS.get(encoding, encoding))()
        text = decoder.decode(sample, is_whole)
    except UnicodeError as error:
        raise SourceError(describe_decoding(error, encoding, sample), place) from error
    return text.removeprefix("\ufeff")


def describe_decoding(error: UnicodeError, encoding: str, block: bytes, line: int = 1) -> str:
    """Say in which line of a file there are bytes that its encoding does not have.

    `line` is that of the first byte of the block.
    """
    start = getattr(error, "start", 0)
    name = _ENCODING_NAMES.get(encoding, encoding)
    return (
        f"line {line + block.count(10, 0, start)} has a byte that is no {name}, "
        f"0x{block[start]:02x}: the option encoding says what it is, such as 'cp1252'"
    )


def _recognise_separator(text: str, place: str, is_whole: bool) -> str:
    # Quoted values may hold separators and ends of lines.
    start, is_cut = _take_lines(text)
    lines = [line for line in _QUOTED.sub('""', start).split("\n") if line.strip()]
    if (is_cut or not is_whole) and len(lines) > 1:
        lines.pop()
    if not lines:
        return ","
    n_fields = {mark: [line.count(mark) + 1 for line in lines] for mark in _RECOGNISED}
    shares = {
        mark: sum(n == fields[0] for n in fields) / len(fields)
        for mark, fields in n_fields.items()
        if fields[0] > 1
    }
    regular = [mark for mark, share in shares.items() if share == 1.0] or [
        mark for mark, share in shares.items() if share == max(shares.values())
    ]
    if len(regular) == 1:
        return regular[0]
    if len(regular) > 1:
        names = " or ".join(f"{SEPARATORS[mark]}s" for mark in regular)
        raise SourceError(
            f"fields may be separated by {names}; the option separator says which", place
        )
    _refuse_other_shapes(lines, n_fields, place)
    return ","


def _refuse_other_shapes(lines: list[str], n_fields: dict[str, list[int]], place: str) -> None:
    """Raise where the line of names has one field and the others would have more."""
    rest = slice(1, None)
    for mark, fields in n_fields.items():
        if len(lines) > 2 and min(fields[rest]) > 1 and len(set(fields[rest])) == 1:
            raise SourceError(
                f"line 1 has 1 field and the others {fields[-1]}, separated by "
                f"{SEPARATORS[mark]}s; line 1 must hold the names of the columns",
                place,
            )
    n_words = [len(line.split()) for line in lines]
    if n_words[0] > 1 and len(lines) > 1 and set(n_words[rest]) <= {n_words[0], n_words[0] + 1}:
        raise SourceError(
            "fields seem to be separated by spaces; the option separator says so, ' ', or ',' if "
            "there is one column",
            place,
        )


def _take_lines(text: str) -> tuple[str, bool]:
    """Return the beginning of a text, and whether it goes on."""
    end = -1
    for _ in range(_MAX_LINES):
        found = text.find("\n", end + 1)
        if found < 0:
            return text, False
        end = found
    return text[: end + 1], True


class DecodedFile(io.RawIOBase):
    """The content of a file in a dialect as UTF-8 whose lines end with line feeds."""

    def __init__(self, file: IO[bytes], dialect: TextDialect, place: str) -> None:
        self._file, self._dialect, self._place = file, dialect, place
        encoding = _READ_AS.get(dialect.encoding, dialect.encoding)
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._line, self._rest, self._is_start = 1, b"", True

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        room = len(buffer)
        while not self._rest:
            # A character of two bytes may take three in UTF-8.
            block = self._file.read(max(1, room // 2))
            if not (text := self._decode(block)) and not block:
                return 0
            self._rest = text.encode()
        taken, self._rest = self._rest[:room], self._rest[room:]
        buffer[: len(taken)] = taken
        return len(taken)

    def _decode(self, block: bytes) -> str:
        try:
            text = self._decoder.decode(block, not block)
        except UnicodeError as error:
            problem = describe_decoding(error, self._dialect.encoding, block, self._line)
            raise SourceError(problem, self._place) from error
        if self._is_start and text:
            text, self._is_start = text.removeprefix("\ufeff"), False
        if self._dialect.line_end == "\r":
            text = text.replace("\r", "\n")
        self._line += text.count("\n")
        return text

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()
