"""Tables in files: ARFF, CSV and Parquet, one at a time or a folder of them."""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from priorwise.data.arff.reader import read_arff

FRAME_KINDS = ("pandas", "polars", "pyarrow")
_FORMATS = {
    ".arff": "arff",
    ".arff.gz": "arff",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".parquet": "parquet",
}


def read_table(path: str | os.PathLike[str], kind: str = "auto") -> Any:
    """Read an ARFF, CSV or Parquet file into a data frame.

    Parameters
    ----------
    path : path
        A file whose name ends in ".arff", ".arff.gz", ".csv", ".csv.gz" or ".parquet".
    kind : {"auto", "pandas", "polars", "pyarrow"}
        Library of the frame; "auto" is the first that is installed.

    Returns
    -------
    frame
        The rows.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "small.csv"
    >>> _ = path.write_text("a,label\\n1.5,x\\n2.0,y\\n")
    >>> read_table(path, kind="polars").rows()
    [(1.5, 'x'), (2.0, 'y')]
    """
    file_format, kind = _file_format(Path(path)), _choose_kind(kind)
    if file_format == "arff":
        return read_arff(path).to_frame(kind)
    read: Any = nw.read_csv if file_format == "csv" else nw.read_parquet
    try:
        return read(str(path), backend=kind).to_native()
    except ImportError as error:
        raise ImportError(
            f"reading {path} needs {kind}: pip install priorwise[{_extra(kind)}]"
        ) from error


@dataclass(frozen=True)
class FileDataset:
    """A data set in a file, read when called: ``dataset()`` returns ``(X, y)``.

    Rows without a target are left out.

    Parameters
    ----------
    path : str
        The file.
    target : str or int
        Name or position of the column of classes; by default the last.
    kind : {"auto", "pandas", "polars", "pyarrow"}
        Library of the frame; "auto" is the first that is installed.
    """

    path: str
    target: str | int = -1
    kind: str = "auto"

    def __call__(self) -> tuple[Any, NDArray[Any]]:
        if _file_format(Path(self.path)) == "arff":
            return read_arff(self.path).to_X_y(self.target, self.kind, missing_target="drop")
        table = nw.from_native(read_table(self.path, self.kind), eager_only=True)
        name = self._target_name(table.columns)
        table = table.filter(~nw.col(name).is_null())
        if table[name].dtype == nw.String:  # some readers of CSV keep an empty field as text
            table = table.filter(nw.col(name) != "")
        y = np.asarray(table[name].to_numpy())
        # Text comes back as objects or as fixed-width strings, depending on the library.
        y = y.astype(object) if y.dtype.kind not in "biuf" else y
        return table.drop(name).to_native(), y

    def _target_name(self, columns: list[str]) -> str:
        if isinstance(self.target, int):
            if not -len(columns) <= self.target < len(columns):
                raise ValueError(f"target must index {len(columns)} columns, got {self.target}")
            return columns[self.target]
        if self.target not in columns:
            raise ValueError(f"target must be one of {columns}, got {self.target!r}")
        return self.target


def find_datasets(
    folder: str | os.PathLike[str], target: str | int = -1, kind: str = "auto"
) -> dict[str, FileDataset]:
    """Find every ARFF, CSV and Parquet file in a folder and its subfolders.

    The name of a data set is that of its file without the ending, or the path from the folder if
    two files have the same name ("uci/iris" and "weka36/iris").

    Parameters
    ----------
    folder : path
        The folder.
    target : str or int
        Name or position of the column of classes; by default the last.
    kind : {"auto", "pandas", "polars", "pyarrow"}
        Library of the frames; "auto" is the first that is installed.

    Returns
    -------
    dict of str to FileDataset
        Data sets by name, to be read when called.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "small.csv").write_text("a,label\\n1.5,x\\n2.0,y\\n")
    >>> find_datasets(folder)["small"]()[1].tolist()
    ['x', 'y']
    """
    root = Path(folder)
    if not root.is_dir():
        raise ValueError(f"folder must be a directory, got {str(folder)!r}")
    found = sorted(path for path in root.rglob("*") if path.is_file() and _ending(path))
    short = [_stem(path) for path in found]
    datasets = {}
    for path, name in zip(found, short, strict=True):
        if short.count(name) > 1:
            name = (path.parent.relative_to(root) / name).as_posix()
        if name in datasets:
            raise ValueError(f"two files in {folder} are called {name!r}: {path.name}")
        datasets[name] = FileDataset(str(path), target, kind)
    return dict(sorted(datasets.items()))


def _ending(path: Path) -> str | None:
    name = path.name.lower()
    return next((end for end in sorted(_FORMATS, key=len)[::-1] if name.endswith(end)), None)


def _stem(path: Path) -> str:
    return path.name[: -len(_ending(path) or "")]


def _file_format(path: Path) -> str:
    ending = _ending(path)
    if ending is None:
        raise ValueError(f"path must end in one of {sorted(_FORMATS)}, got {path.name!r}")
    return _FORMATS[ending]


def _choose_kind(kind: str) -> str:
    if kind == "auto":
        found = [name for name in FRAME_KINDS if importlib.util.find_spec(name) is not None]
        if not found:
            raise ImportError(
                "reading a table needs a data frame library: pip install priorwise[pandas]"
            )
        return found[0]
    if kind not in FRAME_KINDS:
        raise ValueError(f"kind must be 'auto' or one of {FRAME_KINDS}, got {kind!r}")
    return kind


def _extra(kind: str) -> str:
    return "arrow" if kind == "pyarrow" else kind
