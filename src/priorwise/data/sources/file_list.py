"""Files of rows: found in folders and by patterns, and opened by what is in them."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from priorwise.common.files import COMPRESSED_ENDINGS, check_regular_file
from priorwise.common.runtime import warn_user
from priorwise.data.sources.csv_part import CsvPart
from priorwise.data.sources.excel_part import ExcelPart
from priorwise.data.sources.file_parts import ArffPart, IpcPart, ParquetPart
from priorwise.data.sources.part import FilePart, SourceError
from priorwise.data.sources.text_dialect import FileOptions

_TEXT_ENDINGS = (".csv", ".tsv", ".tab", ".txt")
_FORMATS: dict[str, type[FilePart]] = {
    ".parquet": ParquetPart,
    **dict.fromkeys((".arrow", ".feather", ".ipc"), IpcPart),
    **dict.fromkeys((".xlsx", ".xlsm"), ExcelPart),
    ".arff": ArffPart,
    **dict.fromkeys(_TEXT_ENDINGS, CsvPart),
}
FILE_ENDINGS = tuple(_FORMATS)
"""What the names of files of rows end in; those of text and ARFF may be compressed."""
_PACKABLE = (".arff", *_TEXT_ENDINGS)
_MAGIC: dict[bytes, type[FilePart]] = {b"PAR1": ParquetPart, b"ARROW1": IpcPart}
_OLD_EXCEL = b"\xd0\xcf\x11\xe0"


class FileNotice(UserWarning):
    """How a file was read, where that was recognised and is not UTF-8 with commas."""


def find_ending(path: Path) -> str | None:
    """Return the ending of a file of rows, that of its compression included; None of others."""
    name = path.name.lower()
    packed = next((end for end in COMPRESSED_ENDINGS if name.endswith(end)), "")
    inner = name.removesuffix(packed)
    ending = next((end for end in FILE_ENDINGS if inner.endswith(end)), None)
    if packed == ".zip" and ending is None:
        return packed
    return None if ending is None or (packed and ending not in _PACKABLE) else ending + packed


def is_found_in_folders(path: Path) -> bool:
    """Return whether a file is one of rows, if it is in a folder that is given.

    Texts (".txt") must be named: most are notes. Hidden files are what other programs leave behind.
    """
    ending = find_ending(path)
    is_note = ending is None or ending.startswith(".txt")
    return not (is_note or path.name[0] in "._" or path.is_dir())


def find_files(given: str | os.PathLike[str]) -> list[Path]:
    """Return a file, the files of rows in a folder, or those that match a pattern (``*``)."""
    path = Path(given)
    if path.is_dir():
        found = sorted(file for file in path.rglob("*") if is_found_in_folders(file))
        if not found:
            raise ValueError(
                "source must be a folder with files that end in one of "
                f"{[end for end in FILE_ENDINGS if end != '.txt']}, got {str(path)!r} with none"
            )
        return found
    if glob.has_magic(os.fspath(path)) and not path.exists():
        matches = sorted(map(Path, glob.glob(os.fspath(path), recursive=True)))
        found = [file for file in matches if not file.is_dir()]
        if not found:
            raise FileNotFoundError(f"source must match a file, got {str(path)!r}")
        return found
    return [path]


def open_files(
    paths: Sequence[str | os.PathLike[str]], options: FileOptions, marks: tuple[str, ...]
) -> list[FilePart]:
    """Open files, folders and patterns; say in one line what is read otherwise than usual.

    Fields that are one of `marks` are missing.
    """
    parts = [_open_file(path, options, marks) for given in paths for path in find_files(given)]
    notices: dict[str, list[str]] = {}
    for part in parts:
        notice = None
        if isinstance(part, CsvPart):
            notice = part.dialect.describe(options)
        elif isinstance(part, ExcelPart):
            notice = part.describe()
        if notice is not None:
            notices.setdefault(notice, []).append(part.name)
    for notice, names in notices.items():
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        warn_user(f"{names[0]}{more}: read as {notice}", FileNotice)
    return parts


def _open_file(path: Path, options: FileOptions, marks: tuple[str, ...]) -> FilePart:
    ending = find_ending(path)
    if ending is None:
        raise ValueError(f"source must end in one of {list(FILE_ENDINGS)}, got {path.name!r}")
    if not path.exists():
        raise FileNotFoundError(f"source must be an existing file, got {str(path)!r}")
    check_regular_file(path)
    kind = _FORMATS.get("." + ending.split(".")[1], CsvPart)
    if kind is CsvPart:
        kind = _recognise_format(path)
    if kind is CsvPart:
        return CsvPart(path, options, marks).recognise()
    return ExcelPart(path, options, marks) if kind is ExcelPart else kind(path)


def _recognise_format(path: Path) -> type[FilePart]:
    """Return what a file is that is called a text."""
    try:
        with open(path, "rb") as file:
            start = file.read(1000)
    except OSError as error:
        raise SourceError(f"the file cannot be read as CSV ({error})", str(path)) from error
    if start.startswith(_OLD_EXCEL):
        raise SourceError("it is an old Excel file (.xls): save it as .xlsx or CSV", str(path))
    if start.startswith(b"PK\x03\x04") and (b"[Content_Types].xml" in start or b"xl/" in start):
        return ExcelPart
    return next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), CsvPart)


def find_decimal_mark(parts: Sequence[Any]) -> str | None:
    """Return the mark before decimals in the first file of text that has some; None if none has."""
    dialects = [part.dialect for part in parts if isinstance(part, CsvPart)]
    return next((dialect.decimal for dialect in dialects if dialect.has_decimals), None)


def reopen(part: Any, texts: frozenset[str], marks: tuple[str, ...] | None = None) -> Any:
    """Return a part whose fields are read in another way, if it has fields of text."""
    if not isinstance(part, CsvPart | ExcelPart):
        return part
    return replace(part, marks=part.marks if marks is None else marks, texts=texts)
