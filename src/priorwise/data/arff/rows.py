"""The data section of an ARFF file: lines of text to one array per attribute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.data.arff.syntax import (
    ArffError,
    Attribute,
    parse_weight,
    read_numbers,
    scan_row,
    scan_sparse,
)

MAX_CHUNK_LINES = 20_000
"""Lines that are read together."""
MAX_CHUNK_CELLS = 2**24
"""Cells of the lines that are read together, where there are many attributes."""
MAX_SPARSE_CELLS = 2**26
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
                "priorwise.data.arff.rows.MAX_SPARSE_CELLS sets that limit, and open_source reads "
                "the file in batches"
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
