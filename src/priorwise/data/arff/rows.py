"""The data section of an ARFF file: lines of text to one array per attribute."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.data.arff.syntax import (
    ArffError,
    Attribute,
    Value,
    scan_braces,
    scan_row,
    scan_value,
)

# Large enough to amortise, small enough that one odd line sends few others down the slow path.
CHUNK_LINES = 20_000
MISSING_CODE = -1
_REQUIRED = object()

Column = NDArray[Any]


class _NotSimpleError(Exception):
    """The quick reader met something that the exact reader must judge."""


def read_rows(
    lines: Sequence[str], attributes: Sequence[Attribute], first_line: int, source: str
) -> tuple[list[Column], NDArray[np.float64] | None]:
    """Read the lines after ``@data``: columns, and the rows' weights if any row has one.

    Numeric columns are float64 with NaN, nominal ones int32 codes with -1, others objects with
    None for missing. ``first_line`` is the number of the first line in the file ``source``.
    """
    reader = RowReader(attributes, source)
    chunks: list[list[Column]] = []
    weights: list[NDArray[np.float64]] = []
    for start in range(0, len(lines), CHUNK_LINES):
        columns, weight = reader.read(lines[start : start + CHUNK_LINES], first_line + start)
        chunks.append(columns)
        weights.append(weight)
    if not chunks:
        return [_to_column([], attribute) for attribute in attributes], None
    joined = [np.concatenate(parts) for parts in zip(*chunks, strict=True)]
    weight = np.concatenate(weights)
    return joined, (None if (weight == 1).all() else weight)


class RowReader:
    """Reads some lines of the data at a time: quickly where they are plain, else exactly."""

    def __init__(self, attributes: Sequence[Attribute], source: str):
        self.attributes, self.source = attributes, source
        self._quick = QuickReader(attributes)

    def read(
        self, lines: Sequence[str], first_line: int
    ) -> tuple[list[Column], NDArray[np.float64]]:
        """Columns and weights of those lines; the first one has that number in the file."""
        try:
            columns = self._quick.read(lines)
        except _NotSimpleError:
            return _read_exactly(lines, self.attributes, first_line, self.source)
        return columns, np.ones(len(columns[0]))


class QuickReader:
    """Reads plain dense rows column by column; raises :class:`_NotSimpleError` at anything else.

    Whatever it does read, the exact reader would read alike.
    """

    def __init__(self, attributes: Sequence[Attribute]):
        self.attributes = attributes
        self.has_text = any(attribute.kind in ("string", "date") for attribute in attributes)
        self.codes = [_code_of(attribute) for attribute in attributes]
        for codes in self.codes:
            codes.pop("", None)  # an empty category is only an empty value when quoted

    def read(self, chunk: Sequence[str]) -> list[Column]:
        lines = [line for line in map(str.strip, chunk) if line and line[0] != "%"]
        text = "\n".join(lines)
        if any(mark in text for mark in '"\\{%'):
            raise _NotSimpleError
        lines = [line for line in lines if line[0] != "," or line.strip(", \t")]
        if not lines:
            return [_to_column([], attribute) for attribute in self.attributes]
        quoted = "'" in text
        rows = self._split_quoted(text, lines) if quoted else [line.split(",") for line in lines]
        if set(map(len, rows)) != {len(self.attributes)}:
            raise _NotSimpleError
        columns = zip(*rows, strict=True)
        return [
            self._convert(tokens, attribute, codes, quoted)
            for tokens, attribute, codes in zip(columns, self.attributes, self.codes, strict=True)
        ]

    def _split_quoted(self, text: str, lines: Sequence[str]) -> list[list[str]]:
        # Only the exact reader can tell '?' from ?, and a quoted blank from a bare one. To csv
        # two quotes may be one inside a value, which ARFF does not know.
        if "'?'" in text or "''" in text or self.has_text:
            raise _NotSimpleError
        try:
            rows = list(csv.reader(lines, quotechar="'", skipinitialspace=True, strict=True))
        except csv.Error:
            raise _NotSimpleError from None
        if len(rows) != len(lines):  # a quote left open swallowed the next line
            raise _NotSimpleError
        return rows

    def _convert(
        self, tokens: Sequence[str], attribute: Attribute, codes: dict[str, int], quoted: bool
    ) -> Column:
        if attribute.kind == "numeric":
            return self._convert_numbers(tokens, quoted)
        if attribute.kind == "nominal":
            try:
                return np.fromiter(map(codes.__getitem__, tokens), np.int32, len(tokens))
            except KeyError:
                if quoted:
                    raise _NotSimpleError from None
            try:
                stripped = map(codes.__getitem__, map(str.strip, tokens))
                return np.fromiter(stripped, np.int32, len(tokens))
            except KeyError:
                raise _NotSimpleError from None
        words = [token.strip() for token in tokens]
        if "" in words:
            raise _NotSimpleError
        return _to_column([None if word == "?" else word for word in words], attribute)

    @staticmethod
    def _convert_numbers(tokens: Sequence[str], quoted: bool) -> Column:
        try:
            numbers = np.fromiter(map(float, tokens), np.float64, len(tokens))
        except ValueError:
            words = tokens if quoted else [token.strip() for token in tokens]
            try:
                numbers = np.array([math.nan if word == "?" else float(word) for word in words])
            except ValueError:
                raise _NotSimpleError from None
            tokens = [word for word in words if word != "?"]
        if np.isfinite(numbers).sum() != len(tokens) or "_" in "".join(tokens):
            raise _NotSimpleError
        return numbers


def _read_exactly(
    chunk: Sequence[str], attributes: Sequence[Attribute], first_line: int, source: str
) -> tuple[list[Column], NDArray[np.float64]]:
    columns: list[list[Any]] = [[] for _ in attributes]
    weights: list[float] = []
    codes = [_code_of(attribute) for attribute in attributes]
    for number, line in zip(count(first_line), chunk, strict=False):
        text = line.strip()
        if not text or text[0] == "%" or not text.strip(", \t"):
            continue
        try:
            cells, weight = _parse_row(text, attributes, codes)
        except ArffError as error:
            raise ArffError(error.problem, source, number) from None
        for column, cell in zip(columns, cells, strict=True):
            column.append(cell)
        weights.append(weight)
    pairs = zip(columns, attributes, strict=True)
    return [_to_column(cells, attribute) for cells, attribute in pairs], np.array(weights)


def _parse_row(
    text: str, attributes: Sequence[Attribute], codes: Sequence[dict[str, int]]
) -> tuple[list[Any], float]:
    if text[0] == "{":
        return _parse_sparse_row(text, attributes, codes)
    weight = 1.0
    values = scan_row(text)
    if len(values) == len(attributes) + 1 and not values[-1].quoted and values[-1].text[:1] == "{":
        weight = _parse_weight(values.pop().text)
    if len(values) != len(attributes):
        raise ArffError(f"expected {len(attributes)} values, got {len(values)}")
    pairs = zip(values, attributes, codes, strict=True)
    return [_parse_cell(value, attribute, known) for value, attribute, known in pairs], weight


def _parse_sparse_row(
    text: str, attributes: Sequence[Attribute], codes: Sequence[dict[str, int]]
) -> tuple[list[Any], float]:
    pieces, end = _scan_sparse(text)
    rest = text[end:].strip().removeprefix(",").strip()
    weight = _parse_weight(rest) if rest and rest[0] != "%" else 1.0
    cells: list[Any] = [_sparse_default(attribute) for attribute in attributes]
    given = set()
    for index_word, value in pieces:
        if not (index_word.isascii() and index_word.isdigit() and len(index_word) < 10):
            raise ArffError(f"a sparse row needs 'index value' pairs, got index {index_word!r}")
        index = int(index_word)
        if index >= len(attributes):
            raise ArffError(f"index {index} is too large for {len(attributes)} attributes")
        if index in given:
            raise ArffError(f"index {index} is given twice")
        given.add(index)
        cells[index] = _parse_cell(value, attributes[index], codes[index])
    for index, cell in enumerate(cells):
        if cell is _REQUIRED:
            raise ArffError(f"a sparse row must give the text {attributes[index].name!r}")
    return cells, weight


def _scan_sparse(text: str) -> tuple[list[tuple[str, Value]], int]:
    """Pairs of index and value; the index is cut off before the value is read."""
    pieces: list[tuple[str, Value]] = []
    position = 1
    while True:
        while position < len(text) and text[position].isspace():
            position += 1
        if text[position : position + 1] == "}":
            return pieces, position + 1
        start = position
        while position < len(text) and not text[position].isspace() and text[position] not in ",}":
            position += 1
        # The brace reader takes the value up to its comma or brace, quotes respected.
        values, end = _scan_one(text, position)
        pieces.append((text[start:position], values))
        if text[end] == "}":
            return pieces, end + 1
        position = end + 1


def _scan_one(text: str, position: int) -> tuple[Value, int]:
    value, end = scan_value(text, position, ",}")
    if end >= len(text):
        raise ArffError("the brace { is not closed")
    return value, end


def _sparse_default(attribute: Attribute) -> Any:
    """What a value left out of a sparse row means: zero, or the first category."""
    if attribute.kind == "numeric":
        return 0.0
    if attribute.kind == "nominal" and attribute.categories:
        return 0
    return _REQUIRED


def _parse_weight(word: str) -> float:
    if not word.startswith("{"):
        raise ArffError(f"unexpected {word[:60]!r} at the end of the row")
    values, end = scan_braces(word, 0)
    if len(values) != 1 or word[end:].strip():
        raise ArffError(f"a row's weight must be one number in braces, got {word[:60]!r}")
    weight = _parse_number(values[0].text, "the row's weight")
    if not weight >= 0:
        raise ArffError(f"the row's weight must not be negative, got {word[:60]}")
    return weight


def _parse_cell(value: Value, attribute: Attribute, codes: dict[str, int]) -> Any:
    if value.missing:
        return {"numeric": math.nan, "nominal": MISSING_CODE}.get(attribute.kind)
    if value.text == "" and not value.quoted:
        raise ArffError(f"the value of {attribute.name!r} is empty; a missing value is written ?")
    if attribute.kind == "numeric":
        return _parse_number(value.text, f"the value of {attribute.name!r}")
    if attribute.kind != "nominal":
        return value.text
    if value.text == "?" and "?" in (attribute.categories or ()):
        return (attribute.categories or ()).index("?")
    if value.text not in codes or value.text == "?":
        raise ArffError(
            f"{value.text[:60]!r} is not among the declared values of {attribute.name!r}"
        )
    return codes[value.text]


def _parse_number(word: str, what: str) -> float:
    try:
        number = float(word)
    except ValueError:
        raise ArffError(f"{what} must be a number, got {word[:60]!r}") from None
    if "_" in word or math.isinf(number):
        raise ArffError(f"{what} must be a finite number, got {word[:60]!r}")
    return number


def _code_of(attribute: Attribute) -> dict[str, int]:
    codes = {category: code for code, category in enumerate(attribute.categories or ())}
    # The mark of a missing value shadows a category of that name, which must be quoted.
    return {**codes, "?": MISSING_CODE}


def _to_column(cells: list[Any], attribute: Attribute) -> Column:
    if attribute.kind == "numeric":
        return np.array(cells, dtype=np.float64)
    if attribute.kind == "nominal":
        return np.array(cells, dtype=np.int32)
    column = np.empty(len(cells), dtype=object)
    column[:] = cells
    return column
