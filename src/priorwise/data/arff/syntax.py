"""The words and the rows of an ARFF file: errors, values, attributes, lines of data."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_QUOTED = {
    "'": re.compile(r"'((?:[^'\\]|\\.)*)'"),
    '"': re.compile(r'"((?:[^"\\]|\\.)*)"'),
}
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}
_COMMENT = re.compile(r"(?:^|\s)%")
_UNTIL = {",": re.compile(r"[^,]*"), ",}": re.compile(r"[^,}]*")}
_SPECIAL = re.compile(r"""["{}%]|\\|'\?'|''""")
"""What only a scan of the values tells: '?' from a bare one, a quoted blank, two quotes."""
_BLANKS, _BLANKS_AND_COMMAS = re.compile(r"\s+"), re.compile(r"[\s,]+")
_INDEX = re.compile(r"[^\s,}]+")
_BARE_NAME = re.compile(r"[^\s,{]+")
_NUMERIC_WORDS = frozenset({"numeric", "real", "integer"})


class ArffError(ValueError):
    """A file that is not ARFF; the message names the file, the line and the error.

    Parameters
    ----------
    problem : str
        What is wrong.
    source : str
        Name of the file.
    line : int or None
        Number of the line, from 1.

    Examples
    --------
    >>> raise ArffError("a value is missing", "iris.arff", 7)
    Traceback (most recent call last):
        ...
    priorwise.data.arff.syntax.ArffError: iris.arff:7: a value is missing
    """

    def __init__(self, problem: str, source: str = "", line: int | None = None):
        self.problem, self.source, self.line = problem, source, line
        place = ":".join([source or "<arff>"] + ([str(line)] if line is not None else []))
        super().__init__(f"{place}: {problem}")

    def __reduce__(self) -> tuple[type[ArffError], tuple[str, str, int | None]]:
        return type(self), (self.problem, self.source, self.line)


@dataclass(frozen=True)
class Attribute:
    """One declared column. ``kind`` is "numeric", "nominal", "string" or "date"."""

    name: str
    kind: str
    categories: tuple[str, ...] | None = None


Value = tuple[str, bool]
"""A value as written, and whether it is quoted: a bare question mark is a missing value."""


def scan_value(text: str, start: int, stops: str) -> tuple[Value, int]:
    """Read the value at ``start`` and return it with the position of the stop that ended it.

    ``stops`` is "," for a row and ",}" inside braces. The position is ``len(text)`` at the end.
    """
    position = _skip(text, start)
    quote = text[position : position + 1]
    if quote in _QUOTED:
        match = _QUOTED[quote].match(text, position)
        if match is None:
            raise ArffError(f"the quote {quote} is not closed")
        end = _skip(text, match.end())
        if end < len(text) and text[end] not in stops:
            if text[end] != "%":
                raise ArffError(f"a comma is missing after {_shorten(match.group())}")
            end = len(text)
        return (_unescape(match.group(1)), True), end
    match = _UNTIL[stops].match(text, position)
    assert match is not None  # the pattern also matches nothing
    word, *comment = _COMMENT.split(match.group(), maxsplit=1)
    return (word.strip(), False), len(text) if comment else match.end()


def scan_list(
    text: str, start: int, stops: str, *, indexed: bool = False
) -> tuple[list[str], list[Value], int]:
    """Read values up to the end of a row or, if that is a stop, to a closing brace.

    Return the index before each value, empty unless they are `indexed`, the values, and the
    position behind them. A comma at the end closes the list and adds no value.
    """
    words: list[str] = []
    values: list[Value] = []
    position = start - 1
    while not words or text[position : position + 1] == ",":
        at = _skip(text, position + 1)
        end = _skip(text, at, _INDEX) if indexed else at
        words.append(text[at:end])
        value, position = scan_value(text, end, stops)
        values.append(value)
    if "}" in stops and position >= len(text):
        raise ArffError("the brace { is not closed")
    if not words[-1] and values[-1] == ("", False):
        words.pop()
        values.pop()
    return words, values, position + 1


def _skip(text: str, position: int, blanks: re.Pattern[str] = _BLANKS) -> int:
    match = blanks.match(text, position)
    return match.end() if match else position


def scan_row(text: str, attributes: Sequence[Attribute]) -> tuple[list[str | None], float]:
    """Return the texts of a dense row, None for missing ones, and its weight.

    A comma at the end of the row closes it and adds no value.
    """
    texts = _split_plain(text)
    if len(texts) == len(attributes) and "" not in texts:
        return [None if t == "?" else t for t in texts] if "?" in texts else [*texts], 1.0
    _, values, _ = scan_list(text, 0, ",")
    weight = ""
    if len(values) == len(attributes) + 1 and not values[-1][1] and values[-1][0][:1] == "{":
        weight = values.pop()[0]
    if len(values) != len(attributes):
        raise ArffError(f"expected {len(attributes)} values, got {len(values)}")
    return list(map(_read_text, values, attributes)), parse_weight(weight)


def _split_plain(text: str) -> list[str]:
    """Return the texts of a row that is split at once; none if its values must be scanned."""
    if _SPECIAL.search(text):
        return []
    if "'" not in text:
        return [*map(str.strip, text.split(","))]
    try:
        texts = next(csv.reader([text], quotechar="'", skipinitialspace=True, strict=True))
    except csv.Error:
        return []
    # A blank at an edge is part of a quoted value, but not of a bare one.
    return texts if texts == [*map(str.strip, texts)] else []


def scan_sparse(text: str, attributes: Sequence[Attribute]) -> tuple[dict[int, str | None], str]:
    """Return the texts of a sparse row by the places of their attributes, and what follows it."""
    words, values, end = scan_list(text, 1, ",}", indexed=True)
    given: dict[int, str | None] = {}
    for word, value in zip(words, values, strict=True):
        if not (word.isascii() and word.isdigit() and len(word) < 10):
            raise ArffError(f"a sparse row needs 'index value' pairs, got index {word!r}")
        index = int(word)
        if index >= len(attributes):
            raise ArffError(f"index {index} is too large for {len(attributes)} attributes")
        if index in given:
            raise ArffError(f"index {index} is given twice")
        given[index] = _read_text(value, attributes[index])
    return given, text[end:].strip().removeprefix(",").strip()


def _read_text(value: Value, attribute: Attribute) -> str | None:
    if value == ("", False):
        raise ArffError(f"the value of {attribute.name!r} is empty; a missing value is written ?")
    return None if value == ("?", False) else value[0]


def parse_weight(word: str) -> float:
    """Return the weight of a row, a number in braces behind its values; 1 if there is none."""
    if not word or word[0] == "%":
        return 1.0
    if word[0] != "{":
        raise ArffError(f"unexpected {word[:60]!r} at the end of the row")
    _, values, end = scan_list(word, 1, ",}")
    if len(values) != 1 or word[end:].strip():
        raise ArffError(f"a row's weight must be one number in braces, got {word[:60]!r}")
    try:
        weight = float(read_numbers([values[0][0]])[0])
    except ValueError:
        raise ArffError(f"the row's weight must be a finite number, got {word[:60]!r}") from None
    if not weight >= 0:
        raise ArffError(f"the row's weight must not be negative, got {word[:60]}")
    return weight


def read_numbers(words: Sequence[str | None]) -> NDArray[np.float64]:
    """Return numbers, NaN for missing ones; ValueError if one is infinite or no number."""
    texts = ["nan" if word is None else word for word in words]
    numbers = np.fromiter(map(float, texts), np.float64, len(texts))
    # Python reads 1_0 as ten.
    if np.isinf(numbers).any() or "_" in "".join(texts):
        raise ValueError
    return numbers


def parse_attribute(declaration: str) -> Attribute:
    """Parse what follows ``@attribute``: a name, perhaps quoted, and a type."""
    name, position = _scan_name(declaration)
    # Some files put a comma between the name and the type.
    position = _skip(declaration, position, _BLANKS_AND_COMMAS)
    if position >= len(declaration):
        raise ArffError(f"attribute {_shorten(name)} has no type")
    if declaration[position] == "{":
        return Attribute(name, "nominal", _parse_categories(name, declaration, position))
    word = re.split(r"[\s\[%]", declaration[position:], maxsplit=1)[0]
    if word.lower() in _NUMERIC_WORDS:
        return Attribute(name, "numeric")
    if word.lower() in ("string", "date"):
        return Attribute(name, word.lower())
    raise ArffError(
        f"attribute {_shorten(name)} has the unknown type {_shorten(word)}: "
        "expected numeric, real, integer, string, date or {values}"
    )


def _scan_name(declaration: str) -> tuple[str, int]:
    position = _skip(declaration, 0)
    quote = declaration[position : position + 1]
    pattern = _QUOTED.get(quote, _BARE_NAME)
    match = pattern.match(declaration, position)
    if match is None:
        raise ArffError("an attribute needs a name, with its quotes closed, and a type")
    name = _unescape(match.group(1)) if quote in _QUOTED else match.group()
    return name, match.end()


def _parse_categories(name: str, declaration: str, position: int) -> tuple[str, ...]:
    _, values, end = scan_list(declaration, position + 1, ",}")
    rest = declaration[end:].strip()
    if rest and not rest.startswith("%"):
        raise ArffError(f"unexpected {_shorten(rest)} after the values of {_shorten(name)}")
    if ("", False) in values:
        raise ArffError(f"attribute {_shorten(name)} declares an empty value without quotes")
    categories: dict[str, None] = {}
    for text, _ in values:
        if text in categories:
            raise ArffError(f"attribute {_shorten(name)} declares {_shorten(text)} twice")
        categories[text] = None
    return tuple(categories)


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda match: _ESCAPED.get(match.group(1), match.group(1)), text)


def _shorten(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


MAX_CHUNK_LINES = 20_000
"""Lines that are read together."""
MAX_CHUNK_CELLS = 16_000_000
"""Cells of the lines that are read together, where there are many attributes."""
MAX_SPARSE_CELLS = 64_000_000
"""Cells of the table that the sparse rows of one file may become.

A sparse row of two characters becomes as many cells as there are attributes, so the length of a
file says nothing about the memory that it takes.
"""
MISSING_CODE = -1

Column = NDArray[Any]
Row = Sequence[str | None]
"""The texts of a row or column; None is missing."""


def chunk_lines(n_attributes: int) -> int:
    """Return how many lines to read together, at least one."""
    return max(1, min(MAX_CHUNK_LINES, MAX_CHUNK_CELLS // max(n_attributes, 1)))


def read_rows(
    lines: Sequence[str], attributes: Sequence[Attribute], *, first_line: int, source: str
) -> tuple[list[Column], NDArray[np.float64] | None]:
    """Read the lines after ``@data`` into one column per attribute, and the weights of the rows.

    Numeric columns are float64 with NaN for missing, nominal ones int32 codes with -1, others
    objects with None. The weights are None if no row has one.
    """
    reader, step = RowReader(attributes, source), chunk_lines(len(attributes))
    starts = range(0, max(len(lines), 1), step)
    chunks = [reader.read(lines[start : start + step], first_line + start) for start in starts]
    weight = np.concatenate([weights for _, weights in chunks])
    parts: list[Any] = list(zip(*(columns for columns, _ in chunks), strict=True))
    chunks.clear()
    for j, column_parts in enumerate(parts):
        # In place, so that the parts of a column can be forgotten as soon as it is whole.
        parts[j] = np.concatenate(column_parts)
    return parts, (None if (weight == 1).all() else weight)


class RowReader:
    """Reads some lines of the data at a time.

    With `limit_sparse` all sparse rows together may become at most `MAX_SPARSE_CELLS` cells.
    """

    def __init__(
        self, attributes: Sequence[Attribute], source: str, *, limit_sparse: bool = True
    ) -> None:
        self.attributes, self.source, self.limit_sparse = attributes, source, limit_sparse
        self._n_sparse_rows = 0
        self._codes: list[dict[Any, int]] = [
            {None: MISSING_CODE} | {text: code for code, text in enumerate(a.categories or ())}
            for a in attributes
        ]
        self._defaults = [
            "0" if a.kind == "numeric" else next(iter(a.categories or ()), None) for a in attributes
        ]
        self._required = [j for j, default in enumerate(self._defaults) if default is None]

    def read(
        self, lines: Sequence[str], first_line: int
    ) -> tuple[list[Column], NDArray[np.float64]]:
        """Return columns and weights of some lines, the first of which has number `first_line`."""
        rows: list[Row] = []
        numbers, weights = [], []
        for number, line in enumerate(lines, first_line):
            text = line.strip()
            if not text.strip(", \t") or text[0] == "%":
                continue
            try:
                is_sparse = text[0] == "{"
                row, weight = (
                    self._read_sparse(text) if is_sparse else scan_row(text, self.attributes)
                )
            except ArffError as error:
                raise ArffError(error.problem, self.source, number) from None
            rows.append(row)
            numbers.append(number)
            weights.append(weight)
        columns = list(zip(*rows, strict=True)) or [()] * len(self.attributes)
        try:
            return list(map(self._convert, columns, self.attributes, self._codes)), np.array(
                weights
            )
        except (KeyError, ValueError):
            raise self._find_error(rows, numbers) from None

    def _read_sparse(self, text: str) -> tuple[Row, float]:
        """Read the values that a row gives; others are zero or the first category."""
        self._n_sparse_rows += 1
        n_cells = self._n_sparse_rows * len(self.attributes)
        if self.limit_sparse and n_cells > MAX_SPARSE_CELLS:
            raise ArffError(
                f"the sparse rows become a table of more than {MAX_SPARSE_CELLS} cells; "
                "priorwise.data.arff.syntax.MAX_SPARSE_CELLS sets that limit, and open_source "
                "reads the file in batches"
            )
        given, rest = scan_sparse(text, self.attributes)
        for j in self._required:
            if j not in given:
                raise ArffError(f"a sparse row must give the text {self.attributes[j].name!r}")
        row = self._defaults.copy()
        for j, value in given.items():
            row[j] = value
        return row, parse_weight(rest)

    @staticmethod
    def _convert(texts: Row, attribute: Attribute, codes: dict[Any, int]) -> Column:
        """Return one column; KeyError or ValueError if a text is none of its values."""
        if attribute.kind == "nominal":
            return np.fromiter(map(codes.__getitem__, texts), np.int32, len(texts))
        if attribute.kind == "numeric":
            return read_numbers(texts)
        column = np.empty(len(texts), dtype=object)
        column[:] = texts
        return column

    def _find_error(self, rows: Sequence[Row], numbers: Sequence[int]) -> ArffError:
        """Return the error of the first cell that cannot be converted."""
        for number, row in zip(numbers, rows, strict=True):
            for text, attribute, codes in zip(row, self.attributes, self._codes, strict=True):
                try:
                    self._convert([text], attribute, codes)
                except KeyError:
                    problem = f"is not among the declared values of {attribute.name!r}"
                    return ArffError(f"{str(text)[:60]!r} {problem}", self.source, number)
                except ValueError:
                    problem = f"the value of {attribute.name!r} must be a finite number"
                    return ArffError(f"{problem}, got {str(text)[:60]!r}", self.source, number)
        raise AssertionError("every cell can be converted")
