"""Tables in files: ARFF, CSV and Parquet, one at a time or a folder of them."""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from priorwise.common.documents import Collection
from priorwise.common.files import check_regular_file, open_data_file
from priorwise.common.runtime import warn_user
from priorwise.common.texts import count
from priorwise.common.validation import check_choice, name_near
from priorwise.data.arff.reader import FRAME_KINDS, choose_frame_kind, read_arff
from priorwise.data.sources.csv_part import check_quotes
from priorwise.data.sources.part import import_arrow, naming_the_file
from priorwise.data.survey import LabelCounts
from priorwise.data.tables import RawTable
from priorwise.data.tables.label_keys import list_marks

_FORMATS = {
    ".arff": "arff",
    ".arff.gz": "arff",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".parquet": "parquet",
}


def read_table(
    path: str | os.PathLike[str], *, kind: str = "auto", missing_values: Any = "usual"
) -> Any:
    """Read an ARFF, CSV or Parquet file into a data frame; the name of the file tells its format.

    A column of a CSV file is numeric if all its known fields are numbers, whatever library reads
    it. A few texts among many numbers are warned of, by the name of the column. Dates in a CSV file
    stay text.

    Parameters
    ----------
    path : path
        A file that ends in ".arff", ".arff.gz", ".csv", ".csv.gz" or ".parquet".
    kind : {"auto", "pandas", "polars", "pyarrow"}
        Library of the frame; "auto" is the first of them that is installed.
    missing_values : "usual" or list of str and float
        Fields of a CSV file that are missing. The usual ones are empty, "?", "NA", "N/A", "NaN",
        "null", "None" and the like.

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
    file_format, kind = _file_format(Path(path)), _choose_kind(kind)
    check_regular_file(path)
    if file_format == "arff":
        return read_arff(path).to_frame(kind)
    try:
        with naming_the_file(f"the file cannot be read as {file_format.upper()}", os.fspath(path)):
            if file_format == "csv":
                check_quotes(open_data_file(path), os.fspath(path))
                with open_data_file(path) as file:
                    frame = _read_csv(file, kind, list(list_marks(missing_values)))
                return _settle_columns(frame)
            return _read_parquet(path, kind)
    except ModuleNotFoundError as error:
        extra = "arrow" if kind == "pyarrow" else kind
        raise ImportError(f"reading {path} needs {kind}: pip install priorwise[{extra}]") from error


def _settle_columns(frame: Any) -> Any:
    """Make numbers of text that is all numbers; warn of text that nearly is."""
    table = RawTable(frame, marks=frozenset())
    numbers = {}
    for i, name in enumerate(table.names):
        if table.kind(i) == "text":
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


def _read_csv(file: IO[bytes], kind: str, marks: list[str]) -> Any:
    library = importlib.import_module(kind)
    if kind == "pandas":
        return library.read_csv(file, na_values=marks, keep_default_na=False, low_memory=False)
    if kind == "polars":
        # Every row is looked at to find the type of a column.
        return library.read_csv(file, null_values=marks, infer_schema_length=None)
    csv, content = importlib.import_module("pyarrow.csv"), library.py_buffer(file.read())
    options = csv.ConvertOptions(null_values=marks, strings_can_be_null=True)
    table = csv.read_csv(library.BufferReader(content), convert_options=options)
    dates = {f.name: library.string() for f in table.schema if library.types.is_temporal(f.type)}
    if dates:
        options.column_types = dates
        table = csv.read_csv(library.BufferReader(content), convert_options=options)
    return table


def _read_parquet(path: str | os.PathLike[str], kind: str) -> Any:
    if kind == "polars" and importlib.util.find_spec("pyarrow") is None:
        # It ends the process at some damaged files, which pyarrow refuses.
        return importlib.import_module("polars").read_parquet(path)
    import_arrow("reading Parquet")
    parquet = importlib.import_module("pyarrow.parquet")
    with parquet.ParquetFile(path, page_checksum_verification=True) as file:
        table = file.read()
    # Offsets and codes of a damaged file may lead to other memory.
    table.validate(full=True)
    if kind == "polars":
        return importlib.import_module("polars").from_arrow(table)
    return table.to_pandas() if kind == "pandas" else table


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

    def __call__(self) -> tuple[Any, NDArray[Any]]:
        native = read_table(self.path, kind=self.kind)
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
    folder: str | os.PathLike[str], target: str | int = -1, *, kind: str = "auto"
) -> dict[str, FileDataset]:
    """Find every ARFF, CSV and Parquet file under a folder; each is read when it is called.

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
        return {_stem(root): FileDataset(str(root), target, kind)}
    if not root.is_dir():
        raise ValueError(f"folder must be a directory, got {str(folder)!r}")
    found = sorted(path for path in root.rglob("*") if find_ending(path) and not path.is_dir())
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
        datasets[name] = FileDataset(str(path), target, kind)
    return Collection(sorted(datasets.items()))


def find_ending(path: Path) -> str | None:
    """Return the ending of a file that `read_table` reads, None of others."""
    name = path.name.lower()
    return next((end for end in sorted(_FORMATS, key=len)[::-1] if name.endswith(end)), None)


def _stem(path: Path) -> str:
    return path.name[: -len(find_ending(path) or "")]


def _file_format(path: Path) -> str:
    ending = find_ending(path)
    if ending is None:
        raise ValueError(f"path must end in one of {sorted(_FORMATS)}, got {path.name!r}")
    return _FORMATS[ending]


def _choose_kind(kind: str) -> str:
    check_choice("kind", kind, ("auto", *FRAME_KINDS))
    chosen = choose_frame_kind(FRAME_KINDS, "") if kind == "auto" else kind
    if not chosen:
        raise ImportError(
            "reading a table needs a data frame library: pip install priorwise[pandas]"
        )
    return chosen
