"""From files, folders, frames and streams to a source of batches."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from priorwise.data.file_part import FILE_ENDINGS, open_file
from priorwise.data.source import BATCH_ROWS, Part, Source, build_source


def open_source(
    source: Any,
    *,
    target: str | None,
    features: Sequence[str] | None = None,
    batch_rows: int = BATCH_ROWS,
) -> Source:
    """Open data that need not fit in memory, to be read in batches as often as needed.

    Parameters
    ----------
    source : path, list of paths, folder, pyarrow Dataset, callable, polars LazyFrame, Dask frame
        Files are Parquet (".parquet"), CSV (".csv", ".csv.gz"), Arrow IPC (".arrow", ".feather",
        ".ipc") or ARFF (".arff", ".arff.gz"); those of a folder are read in the order of their
        names. A callable takes no argument and returns a new iterator of frames each time.
        A frame in memory is a source too.
    target : str or None
        Column of the labels; None if there is none.
    features : sequence of str, optional
        Columns to read; all but the target by default, as the first file orders them.
    batch_rows : int
        Most rows of a batch.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "label": ["x", "y", "x"]})
    >>> source = open_source(lambda: iter([frame]), target="label", batch_rows=2)
    >>> [(batch.place, batch.y.tolist()) for batch in source.read()]
    [('frames, rows 0..1', ['x', 'y']), ('frames, rows 2..2', ['x'])]
    """
    if isinstance(source, Source):
        return source.with_batch_rows(batch_rows)
    return build_source(_open_parts(source), target, features, batch_rows)


def _open_parts(source: Any) -> list[Part]:
    if isinstance(source, (str, os.PathLike)):
        return [open_file(path) for path in _find_files(Path(source))]
    if isinstance(source, Sequence) and all(isinstance(p, (str, os.PathLike)) for p in source):
        return [open_file(path) for given in source for path in _find_files(Path(given))]
    raise TypeError(
        "source must be a path, a list of paths, a folder, a pyarrow Dataset, a callable that "
        f"returns an iterator of frames, or a lazy or Dask frame, got {type(source).__name__}"
    )


def _find_files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(
        file
        for file in path.rglob("*")
        # Hidden files are what other programs leave behind.
        if file.is_file() and file.name.lower().endswith(FILE_ENDINGS) and file.name[0] not in "._"
    )
    if not found:
        raise ValueError(
            f"source must be a folder with files that end in one of {list(FILE_ENDINGS)}, "
            f"got {str(path)!r} with none"
        )
    return found
