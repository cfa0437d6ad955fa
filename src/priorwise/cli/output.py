"""What commands print, and the files that they write."""

from __future__ import annotations

import json
import math
import shutil
import sys
import tempfile
import threading
import time
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

from priorwise.common.files import check_regular_file, is_same_file
from priorwise.common.texts import SCORE_NAMES
from priorwise.data.sources.file_list import find_files

STANDARD = "-"
"""The name of standard input and output."""


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown, padded so that it also reads as plain text.

    >>> print(format_table(["model", "rmse"], [["a", "0.25"]]))
    | model | rmse |
    |-------|------|
    | a     | 0.25 |
    """
    cells = [[cell.replace("|", "\\|") for cell in row] for row in (header, *rows)]
    widths = [max(len(row[j]) for row in cells) for j in range(len(header))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in cells
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])


def format_scores(scores: Mapping[str, Mapping[str, float]]) -> str:
    """A table of the scores of each model."""
    names = list(next(iter(scores.values())))
    rows = [[model, *(f"{row[name]:.4f}" for name in names)] for model, row in scores.items()]
    return format_table(["model", *(SCORE_NAMES.get(name, name) for name in names)], rows)


def print_result(options: Namespace, text: str, values: Mapping[str, Any]) -> None:
    """Print what a command has found: a text, or JSON if that is asked for."""
    print(json.dumps(_plain(values), indent=2, ensure_ascii=False) if options.json else text)


def print_note(text: str) -> None:
    """Tell on the error stream what the reader of the results should know."""
    print(f"priorwise: note: {text}", file=sys.stderr)


def check_output(options: Namespace, *inputs: str) -> None:
    """Raise if the output cannot be written or is one of the inputs, before any work is done."""
    if options.output is None:
        return
    if options.output == STANDARD:
        if options.json:
            raise ValueError("--json and --output - both write to standard output; choose one")
        return
    path = Path(options.output)
    if path.is_dir():
        raise ValueError(f"--output must be a file, got the folder {str(path)!r}")
    if not path.parent.is_dir():
        raise ValueError(f"--output must be in an existing folder, got {str(path)!r}")
    if path.exists():
        check_regular_file(path)
        for given in inputs:
            if given != STANDARD and _is_read(path, given):
                raise ValueError(f"--output must not be a file that is read, got {str(path)!r}")
        if not options.overwrite:
            raise ValueError(f"--output {str(path)!r} exists; --overwrite replaces it")


def _is_read(path: Path, given: str) -> bool:
    """Whether a file is a given one, or one of a folder or a pattern that is given."""
    try:
        files = find_files(given)
    except (ValueError, OSError):  # said where it is read
        return False
    return any(is_same_file(path, file) for file in files)


QUIET_SECONDS = 3.0
"""Seconds after which a command says what it is doing; people begin to doubt a silent one."""


@contextmanager
def announce(options: Namespace, work: str) -> Iterator[None]:
    """Say on the error stream what is being done, and for how long, if it takes over 3 seconds.

    On a terminal the line is rewritten every second and cleared at the end; elsewhere a line is
    written each time that the seconds have doubled.
    """
    if getattr(options, "quiet", False) or sys.stderr is None:
        yield
        return
    done, live, start = threading.Event(), sys.stderr.isatty(), time.perf_counter()

    def report() -> None:
        pause, shown = QUIET_SECONDS, False
        while not done.wait(pause):
            seconds = time.perf_counter() - start
            text = f"{work}, {seconds:.0f} s"
            print(f"\r\033[K{text}" if live else text, file=sys.stderr, end="" if live else "\n")
            sys.stderr.flush()
            pause, shown = 1.0 if live else seconds, True
        if shown and live:
            print("\r\033[K", file=sys.stderr, end="", flush=True)

    thread = threading.Thread(target=report, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@contextmanager
def open_output(options: Namespace) -> Iterator[Path]:
    """Give the path of the output, or of a file that is copied to standard output at the end."""
    if options.output != STANDARD:
        yield Path(options.output)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "output"
        yield path
        with open(path, "rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)


def print_output(options: Namespace, **values: Any) -> None:
    """Print name and size of the file that was written, and other values in JSON."""
    if options.output != STANDARD:
        values |= describe_output(options)
        held = values.get("holds", "")
        text = f"{options.output}: {values['bytes']:,} bytes{held and '; ' + held}"
        print_result(options, text, values)


def describe_output(options: Namespace) -> dict[str, Any]:
    """Name and size of the file that was written, for JSON."""
    return {"output": options.output, "bytes": Path(options.output).stat().st_size}


def _plain(value: Any) -> Any:
    """Values as JSON has them: null for numbers that are not finite."""
    if is_dataclass(value):
        return _plain(vars(value))
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
