"""From files, folders, frames and streams to a source of batches."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from priorwise.common.data_file import check_regular_file
from priorwise.data.sources.arff_part import ArffPart
from priorwise.data.sources.csv_part import CsvPart
from priorwise.data.sources.frame_part import open_frames
from priorwise.data.sources.ipc_part import IpcPart
from priorwise.data.sources.parquet_part import ParquetPart
from priorwise.data.sources.part import Part
from priorwise.data.sources.source import Source, build_source
from priorwise.data.sources.spark_part import SparkPart
from priorwise.data.sources.sql.sql_source import SqlPart, SqlSource
from priorwise.data.tables.label_keys import list_marks

_READERS: dict[str, Any] = {
    ".parquet": ParquetPart,
    ".csv": CsvPart,
    ".csv.gz": CsvPart,
    ".arrow": IpcPart,
    ".feather": IpcPart,
    ".ipc": IpcPart,
    ".arff": ArffPart,
    ".arff.gz": ArffPart,
}
FILE_ENDINGS = tuple(_READERS)


def open_source(
    source: Any,
    *,
    target: str | None,
    features: Sequence[str] | None = None,
    batch_rows: int | None = None,
    missing_values: Any = "usual",
    texts: Collection[str] = (),
) -> Source:
    """Open data that need not fit in memory, to be read in batches as often as needed.

    Parameters
    ----------
    source : path, folder, Dataset, callable, LazyFrame, Dask or Spark frame, SqlSource
        Files are Parquet (".parquet"), CSV (".csv", ".csv.gz"), Arrow IPC (".arrow", ".feather",
        ".ipc") or ARFF (".arff", ".arff.gz"), one or a list of paths; those of a folder are read in
        the order of their names. A callable takes no argument and returns a new iterator of the
        same frames each time. A frame in memory is a source too, and so is an open source.
    target : str or None
        Column of the labels; None if there is none.
    features : sequence of str, optional
        Columns to read; all but the target by default, as the first file orders them.
    batch_rows : int, optional
        Largest number of rows of a batch; 65,536 by default, fewer with more than 512 columns.
    missing_values : "usual" or list of str and float
        Fields of a CSV file that are missing values: "", "?", "NA" and the like by default.
    texts : collection of str
        Columns of a CSV file to read as text. Others are what their first values are, and a later
        value of another kind is an error.

    Returns
    -------
    Source
        Its method `read` iterates over the batches, as often as it is called.

    Raises
    ------
    SourceError
        A file that cannot be read, or a column that is missing in one of them or holds another
        kind of value there; reading raises it too. It names the file and the place.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "label": ["x", "y", "x"]})
    >>> source = open_source(lambda: iter([frame]), target="label", batch_rows=2)
    >>> [(batch.place, batch.y.tolist()) for batch in source.read()]
    [('frame 0, rows 0..1', ['x', 'y']), ('frame 0, rows 2..2', ['x'])]
    """
    if isinstance(source, Source):
        features = source.feature_names if features is None else features
    parts = source.parts if isinstance(source, Source) else _open_parts(source)
    marks = list_marks(missing_values)
    parts = [
        replace(part, marks=marks, texts=frozenset(texts)) if isinstance(part, CsvPart) else part
        for part in parts
    ]
    return build_source(parts, target, features, batch_rows)


def _open_parts(source: Any) -> Sequence[Part]:
    if isinstance(source, (str, os.PathLike)):
        return [_open_file(path) for path in _find_files(Path(source))]
    if isinstance(source, SqlSource):
        return [SqlPart(source)]
    if hasattr(source, "mapInArrow"):
        return [SparkPart(source)]
    if isinstance(source, (list, tuple)):
        if not all(isinstance(path, (str, os.PathLike)) for path in source):
            raise TypeError(f"source as a list must hold paths, got {source!r:.80}")
        return [_open_file(path) for given in source for path in _find_files(Path(given))]
    return open_frames(source)


def _open_file(path: Path) -> Part:
    name = path.name.lower()
    for ending, reader in _READERS.items():
        if name.endswith(ending):
            if not path.exists():
                raise FileNotFoundError(f"source must be an existing file, got {str(path)!r}")
            check_regular_file(path)
            part: Part = reader(path)
            return part
    raise ValueError(f"source must end in one of {list(FILE_ENDINGS)}, got {path.name!r}")


def _find_files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(
        file
        for file in path.rglob("*")
        # Hidden files are what other programs leave behind.
        if not file.is_dir()
        and file.name.lower().endswith(FILE_ENDINGS)
        and file.name[0] not in "._"
    )
    if not found:
        raise ValueError(
            f"source must be a folder with files that end in one of {list(FILE_ENDINGS)}, "
            f"got {str(path)!r} with none"
        )
    return found
