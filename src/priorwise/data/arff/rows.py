"""The data section of an ARFF file: lines of text to one array per attribute."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.data.arff.cells import code_categories, may_be_left_out, parse_row
from priorwise.data.arff.syntax import ArffError, Attribute

MAX_CHUNK_LINES = 20_000
"""Lines that are read together; one odd line makes all of them be read the slow way."""
MAX_CHUNK_CELLS = 2**24
"""Cells of the lines that are read together, where there are many attributes."""
MAX_SPARSE_CELLS = 2**26
"""Cells of the table that the sparse rows of one file may become.

A sparse row of two characters becomes as many cells as there are attributes, so the length of a
file says nothing about the memory that it takes.
"""

Column = NDArray[Any]


class _NotSimpleError(Exception):
    """The quick reader met something that the exact reader must judge."""


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
    reader = RowReader(attributes, source)
    chunks: list[list[Column]] = []
    weights: list[NDArray[np.float64]] = []
    step = chunk_lines(len(attributes))
    for start in range(0, len(lines), step):
        columns, weight = reader.read(lines[start : start + step], first_line + start)
        chunks.append(columns)
        weights.append(weight)
    if not chunks:
        return [_to_column([], attribute) for attribute in attributes], None
    parts: list[Any] = list(zip(*chunks, strict=True))
    chunks.clear()
    for j, column_parts in enumerate(parts):
        # In place, so that the parts of a column can be forgotten as soon as it is whole.
        parts[j] = np.concatenate(column_parts)
    weight = np.concatenate(weights)
    return parts, (None if (weight == 1).all() else weight)


class RowReader:
    """Reads some lines of the data at a time: quickly where they are plain, else exactly.

    With `limit_sparse` all sparse rows together may become at most `MAX_SPARSE_CELLS` cells.
    """

    def __init__(
        self,
        attributes: Sequence[Attribute],
        source: str,
        *,
        limit_sparse: bool = True,
    ):
        self.attributes, self.source = attributes, source
        self.limit_sparse = limit_sparse
        self._n_sparse_rows = 0
        self._codes = [code_categories(attribute) for attribute in attributes]
        self._required = [j for j, a in enumerate(attributes) if not may_be_left_out(a)]
        self.quick = QuickReader(attributes, self._codes)

    def read(
        self, lines: Sequence[str], first_line: int
    ) -> tuple[list[Column], NDArray[np.float64]]:
        """Read some lines, the first of which is number `first_line` of the file."""
        try:
            columns = self.quick.read(lines)
        except _NotSimpleError:
            return self.read_exactly(lines, first_line)
        return columns, np.ones(len(columns[0]))

    def read_exactly(
        self, lines: Sequence[str], first_line: int
    ) -> tuple[list[Column], NDArray[np.float64]]:
        """Read some lines by the whole syntax of ARFF; see `read`."""
        given: list[tuple[list[int], list[Any]]] = [([], []) for _ in self.attributes]
        weights: list[float] = []
        for number, line in zip(count(first_line), lines, strict=False):
            text = line.strip()
            if not text or text[0] == "%" or not text.strip(", \t"):
                continue
            try:
                if text[0] == "{":
                    self._count_sparse_row()
                cells, weight = parse_row(text, self.attributes, self._codes, self._required)
            except ArffError as error:
                raise ArffError(error.problem, self.source, number) from None
            for j, cell in cells:
                rows, values = given[j]
                rows.append(len(weights))
                values.append(cell)
            weights.append(weight)
        columns = [
            _fill_column(rows, values, attribute, len(weights))
            for (rows, values), attribute in zip(given, self.attributes, strict=True)
        ]
        return columns, np.array(weights)

    def _count_sparse_row(self) -> None:
        self._n_sparse_rows += 1
        n_cells = self._n_sparse_rows * len(self.attributes)
        if self.limit_sparse and n_cells > MAX_SPARSE_CELLS:
            raise ArffError(
                f"the sparse rows become a table of more than {MAX_SPARSE_CELLS} cells; "
                "priorwise.data.arff.rows.MAX_SPARSE_CELLS sets that limit, and open_source reads "
                "the file in batches"
            )


class QuickReader:
    """Reads plain dense rows column by column; raises :class:`_NotSimpleError` at anything else.

    Whatever it does read, the exact reader would read alike.
    """

    def __init__(self, attributes: Sequence[Attribute], codes: Sequence[dict[str, int]]):
        self.attributes = attributes
        self.has_text = any(attribute.kind in ("string", "date") for attribute in attributes)
        # An empty category is only an empty value when it is quoted.
        self.codes = [
            {text: code for text, code in known.items() if text} if "" in known else known
            for known in codes
        ]

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


def _to_column(cells: list[Any], attribute: Attribute) -> Column:
    if attribute.kind == "numeric":
        return np.array(cells, dtype=np.float64)
    if attribute.kind == "nominal":
        return np.array(cells, dtype=np.int32)
    column = np.empty(len(cells), dtype=object)
    column[:] = cells
    return column


def _fill_column(rows: list[int], values: list[Any], attribute: Attribute, n_rows: int) -> Column:
    """A column of which some rows are given and the others are zero or the first category."""
    given = _to_column(values, attribute)
    if len(rows) == n_rows:
        return given
    column = np.zeros(n_rows, dtype=given.dtype)
    column[rows] = given
    return column
