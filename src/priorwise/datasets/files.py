"""Tables in files, one at a time or a folder of them."""

from __future__ import annotations

import importlib
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from priorwise.common.documents import Collection
from priorwise.common.files import check_regular_file
from priorwise.common.runtime import warn_user
from priorwise.common.texts import count
from priorwise.common.validation import check_choice, name_near
from priorwise.data.arff.reader import FRAME_KINDS, choose_frame_kind, read_arff
from priorwise.data.sources.csv_part import CsvPart
from priorwise.data.sources.excel_part import ExcelPart
from priorwise.data.sources.file_list import find_ending, is_found_in_folders, open_files, reopen
from priorwise.data.sources.file_parts import ArffPart, ParquetPart
from priorwise.data.sources.part import FilePart, SourceError, import_arrow, naming_the_file
from priorwise.data.sources.text_dialect import FileOptions
from priorwise.data.survey import LabelCounts
from priorwise.data.tables import RawTable
from priorwise.data.tables.label_keys import list_marks


def read_table(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    kind: str = "auto",
    missing_values: Any = "usual",
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    sheet: str | int | None = None,
) -> Any:
    """Read files into one data frame: delimited text, Excel, Parquet, Arrow or ARFF.

    How a text is written is recognised, and a warning says it in one line unless it is UTF-8 with
    commas. A column of it is numeric if all its known fields are numbers without leading zeros. A
    few texts among many numbers are warned of, by the name of the column. Dates in a text stay
    text.

    Parameters
    ----------
    path : path or list of paths
        A file, a folder, or a pattern with ``*``, as `priorwise.data.open_source` reads them. All
        files must have the same columns.
    kind : {"auto", "pandas", "polars", "pyarrow"}
        Library of the frame; "auto" is the first of them that is installed.
    missing_values : "usual" or list of str and float
        Fields of a text that are missing. The usual ones are empty, "?", "NA", "N/A", "NaN",
        "null", "None" and the like.
    separator : str, optional
        What is between fields of text; recognised by default.
    decimal : "." or ",", optional
        The mark before decimals; recognised by default.
    encoding : str, optional
        Encoding of the text; recognised by default.
    sheet : str or int, optional
        Name or position of the sheet of an Excel file; the first one by default.

    Returns
    -------
    frame
        A pandas or polars data frame or a pyarrow table.

    Raises
    ------
    SourceError
        The file cannot be read; the message names it. For ARFF it is an `ArffError`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "small.csv"
    >>> _ = path.write_text("a,label\\n1.5,x\\nNA,y\\n")
    >>> read_table(path, kind="polars").rows()
    [(1.5, 'x'), (None, 'y')]
    """
    kind = choose_kind(kind)
    options = FileOptions(separator, decimal, encoding, sheet)
    paths = [path] if isinstance(path, str | os.PathLike) else list(path)
    parts = open_files(paths, options, tuple(list_marks(missing_values)))
    return read_files(parts, kind)


def read_files(parts: Sequence[FilePart], kind: str) -> Any:
    """Read open files of the same columns into one frame of a library."""
    try:
        if any(isinstance(part, ArffPart) for part in parts):
            frames = [
                nw.from_native(read_arff(part.path).to_frame(kind), eager_only=True)
                if isinstance(part, ArffPart)
                else nw.from_native(_to_kind(part.read_whole(), kind), eager_only=True)
                for part in parts
            ]
            return (frames[0] if len(frames) == 1 else nw.concat(frames)).to_native()
        table = _read_tables(parts, keep_index=kind == "pandas")
        if any(isinstance(part, CsvPart | ExcelPart) for part in parts):
            if not len(table):
                raise SourceError("there are no rows below the names of the columns", parts[0].name)
            with naming_the_file("the columns cannot be used", parts[0].name):
                table = _settle_columns(table)
        with naming_the_file("the columns cannot be used", parts[0].name):
            return _to_kind(table, kind)
    except ModuleNotFoundError as error:
        extra = "arrow" if kind == "pyarrow" else kind
        raise ImportError(
            f"reading {parts[0].name} needs {kind}: pip install priorwise[{extra}]"
        ) from error


def _read_tables(parts: Sequence[FilePart], keep_index: bool) -> Any:
    """Return the rows of files of the same columns as one Arrow table.

    Row labels of pandas are kept if they are asked for and there is one file.
    """
    tables = [part.read_whole() for part in parts]
    if not keep_index or len(parts) > 1:
        tables = [
            part.without_index(table) if isinstance(part, ParquetPart) else table
            for part, table in zip(parts, tables, strict=True)
        ]
    if len(tables) == 1:
        return tables[0]
    arrow = import_arrow("reading files")
    for part, table in zip(parts[1:], tables[1:], strict=True):
        if set(table.column_names) != set(tables[0].column_names):
            raise SourceError(
                f"the columns must be those of {parts[0].name}, {tables[0].column_names}, got "
                f"{table.column_names}",
                part.name,
            )
    # A column that is text in one file is text in each.
    texts = {f.name for table in tables for f in table.schema if arrow.types.is_string(f.type)}
    for i, part in enumerate(parts):
        others = {f.name for f in tables[i].schema if not arrow.types.is_null(f.type)} & texts
        if any(not arrow.types.is_string(tables[i].schema.field(name).type) for name in others):
            tables[i] = reopen(part, frozenset(others)).read_whole()
    return arrow.concat_tables(
        [table.select(tables[0].column_names) for table in tables], promote_options="permissive"
    )


def _to_kind(table: Any, kind: str) -> Any:
    if kind == "polars":
        return importlib.import_module("polars").from_arrow(table)
    return table.to_pandas() if kind == "pandas" else table


def _may_hold_numbers(texts: Any) -> bool:
    """Return whether half of the texts of an Arrow column begin as numbers do.

    With fewer the column holds labels, and nothing is to be warned of.
    """
    if str(texts.type) != "string":
        return True
    n_known = n_numbers = 0
    for chunk in texts.chunks:
        _, offsets, content = chunk.buffers()
        if content is None:
            continue
        ends = np.frombuffer(offsets, dtype=np.int32)[chunk.offset : chunk.offset + len(chunk) + 1]
        starts = ends[:-1][np.diff(ends) > 0]
        n_known += len(starts)
        n_numbers += int(_BEGINS_NUMBER[np.frombuffer(content, dtype=np.uint8)[starts]].sum())
    return 2 * n_numbers >= n_known


_BEGINS_NUMBER = np.isin(np.arange(256), list(b"0123456789+-. \t\xc2\xe2\xe3"))
"""Of each byte, whether a text that is a number may begin with it; spaces may be of any kind."""


def _settle_columns(frame: Any) -> Any:
    """Make numbers of text that is all numbers; warn of text that nearly is."""
    table = RawTable(frame, marks=frozenset())
    numbers = {}
    for i, name in enumerate(table.names):
        if table.kind(i) == "text" and _may_hold_numbers(frame.column(i)):
            try:
                column = replace(LabelCounts.of(table.nominal(i)), is_text=True)
                if column.is_numeric(table.name(i), []):
                    numbers[name] = table.numeric(i)
            except ValueError as error:
                warn_user(str(error))
    if not numbers:
        return frame
    read = nw.from_native(frame, eager_only=True)
    backend = read.implementation
    columns = [nw.new_series(name, values, backend=backend) for name, values in numbers.items()]
    return read.with_columns(*columns).to_native()


@dataclass(frozen=True)
class FileDataset:
    """A data set in a file, read when called: ``dataset()`` returns ``(X, y)``.

    Rows without a target are left out, with a warning that counts them.

    Parameters
    ----------
    path : str
        A file that `read_table` reads.
    target : str or int
        Name or position of the column of the class labels; by default the last.
    kind : {"auto", "pandas", "polars", "pyarrow"}
        Library of the frame X.
    separator, decimal, encoding : str, optional
        How a text is written, as `read_table` takes it.
    sheet : str or int, optional
        Sheet of an Excel file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "days.csv").write_text("sky,degrees,place\\nsun,21.5,out\\nrain,9,in")
    ...     X, y = FileDataset(f"{folder}/days.csv")()
    >>> X.shape, y.tolist()
    ((2, 2), ['out', 'in'])
    """

    path: str
    target: str | int = -1
    kind: str = "auto"
    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    sheet: str | int | None = None

    def __call__(self) -> tuple[Any, NDArray[Any]]:
        native = read_table(
            self.path,
            kind=self.kind,
            separator=self.separator,
            decimal=self.decimal,
            encoding=self.encoding,
            sheet=self.sheet,
        )
        with naming_the_file("the columns cannot be used", self.path):
            table = nw.from_native(native, eager_only=True)
            columns = table.columns
        name = self._target_name(columns)
        with naming_the_file(f"the column {name!r} cannot be used", self.path):
            known = table.filter(~nw.col(name).is_null())
            y = np.asarray(known[name].to_numpy())
            # Text comes back as objects or as fixed-width strings, depending on the library.
            y = y.astype(object) if y.dtype.kind not in "biuf" else y
            X = known.drop(name).to_native()
        if len(y) < len(table):
            text = f"{self.path}: left out {count(len(table) - len(y), 'row')} without a target"
            warn_user(text)
        return X, y

    def _target_name(self, columns: list[str]) -> str:
        if isinstance(self.target, int):
            if not -len(columns) <= self.target < len(columns):
                raise ValueError(f"target must index {len(columns)} columns, got {self.target}")
            return columns[self.target]
        if self.target not in columns:
            near = name_near(self.target, columns)
            raise ValueError(f"target must be one of {columns}, got {self.target!r}{near}")
        return self.target


def find_datasets(
    folder: str | os.PathLike[str], target: str | int = -1, *, kind: str = "auto", **reading: Any
) -> dict[str, FileDataset]:
    """Find every file of rows under a folder; each is read when it is called.

    A file instead of a folder is one data set.

    Files without a target column, such as a list of the data sets, are not told from others: keep
    them elsewhere, or choose data sets by name.

    Parameters
    ----------
    folder : path
        The folder; folders in it are searched too. Or one file.
    target : str or int
        Name or position of the column of the class labels; by default the last.
    kind : {"auto", "pandas", "polars", "pyarrow"}
        Library of the frames.
    **reading : str or int
        How texts are written: `separator`, `decimal`, `encoding` and `sheet` of `read_table`.

    Returns
    -------
    dict of str to FileDataset
        By the name of the file without its ending. Files of the same name are called by their
        path from the folder ("uci/iris" and "weka36/iris").

    Raises
    ------
    OSError
        One of the files is no regular file, such as a pipe or a link to a device.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "small.csv").write_text("a,label\\n1.5,x\\n2.0,y\\n")
    >>> find_datasets(folder)["small"]()[1].tolist()
    ['x', 'y']
    """
    root = Path(folder)
    if root.is_file() and find_ending(root):
        return {_stem(root): FileDataset(str(root), target, kind, **reading)}
    if not root.is_dir():
        raise ValueError(f"folder must be a directory, got {str(folder)!r}")
    found = sorted(path for path in root.rglob("*") if is_found_in_folders(path))
    for path in found:
        check_regular_file(path)
    n_files = Counter(_stem(path) for path in found)
    datasets = {}
    for path in found:
        name = _stem(path)
        if n_files[name] > 1:
            name = (path.parent.relative_to(root) / name).as_posix()
        if name in datasets:
            raise ValueError(f"two files in {folder} are called {name!r}: {path.name}")
        datasets[name] = FileDataset(str(path), target, kind, **reading)
    return Collection(sorted(datasets.items()))


def _stem(path: Path) -> str:
    return path.name[: -len(find_ending(path) or "")]


def choose_kind(kind: str) -> str:
    """Return the library of a frame, of which "auto" is the first that is installed."""
    check_choice("kind", kind, ("auto", *FRAME_KINDS))
    chosen = choose_frame_kind(FRAME_KINDS, "") if kind == "auto" else kind
    if not chosen:
        raise ImportError(
            "reading a table needs a data frame library: pip install priorwise[pandas]"
        )
    return chosen
