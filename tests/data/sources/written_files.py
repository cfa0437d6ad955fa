"""Contents of files as programs write them: delimited text, workbooks, archives."""

from __future__ import annotations

import csv
import io
import zipfile
from typing import Any

import openpyxl
import pandas as pd

NAMES = ["size", "plz", "place", "label"]
ROWS: list[list[Any]] = [
    [1.5, "01234", "Zürich", "a"],
    [1234.25, "10115", 'the "old" town', "b"],
    [None, "80331", "Aix; or, so", "a"],
    [0.75, "00501", "São Paulo", "b"],
]
PLAIN = [
    [size, plz, place, label] for (size, plz, _, label), place in zip(ROWS, "uvwx", strict=True)
]
FRAME = pd.DataFrame(ROWS, columns=NAMES)
LEVELS = [["wxyz"[i], i, *row] for i, row in enumerate(ROWS)]
INDEX = pd.MultiIndex.from_tuples([(letter, i) for letter, i, *_ in LEVELS])
LEVEL_NAMES = ["column 1", "column 2", *NAMES]


def text(
    rows: list[list[Any]] = ROWS,
    separator: str = ",",
    decimal: str = ".",
    thousands: str = "",
    missing: str = "",
    line_end: str = "\n",
    quote_all: bool = False,
    names: bool = True,
) -> str:
    """Delimited text, as a program would write it."""

    def spell(value: Any) -> str:
        if value is None:
            return missing
        if isinstance(value, float):
            spelt = f"{value:,}" if thousands else str(value)
            return spelt.replace(",", "_").replace(".", decimal).replace("_", thousands)
        return str(value)

    out = io.StringIO()
    writer = csv.writer(
        out,
        delimiter=separator,
        lineterminator=line_end,
        quoting=csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL,
    )
    if names:
        writer.writerow(NAMES)
    writer.writerows([spell(value) for value in row] for row in rows)
    return out.getvalue()


def workbook(rows: list[list[Any]], names: list[str] = NAMES, sheets: int = 1) -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in [names, *rows]:
        sheet.append(row)
    for _ in range(sheets - 1):
        book.create_sheet()
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def archive(*contents: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for i, content in enumerate(contents):
            file.writestr(f"{i}.csv", content)
    return out.getvalue()


def r_rows(separator: str, decimal: str, row_names: bool = True, corner: bool = True) -> str:
    """As write.table of R, and write.csv and write.csv2, which name the column of row names ""."""
    lines = [separator.join(f'"{name}"' for name in [""] * (row_names and corner) + NAMES)]
    for i, (size, *texts) in enumerate(PLAIN):
        number = "NA" if size is None else str(size).replace(".", decimal)
        fields = [f'"{i + 1}"'] * row_names + [number, *(f'"{value}"' for value in texts)]
        lines.append(separator.join(fields))
    return "\n".join(lines) + "\n"
