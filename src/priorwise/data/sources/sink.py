"""Probabilities written as they come, to a file that is whole or not there."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from priorwise.common.whole_file import open_whole
from priorwise.data.sources.part import import_arrow


class ProbabilitySink(Protocol):
    """Where batches of probabilities go, one row for each row of the data."""

    def write(self, proba: NDArray[np.float64]) -> None:
        """Append the rows of a batch; columns in the order of the classes."""

    def close(self) -> None:
        """Write what is still held back."""


@contextmanager
def open_sink(out: str | os.PathLike[str], classes: Sequence[Any]) -> Iterator[ProbabilitySink]:
    """Open a file for probabilities, one column ``p(class)`` for each class.

    The name tells the format: ".parquet", ".csv" or ".csv.gz"; numbers in CSV are written so
    that reading them gives the same bits. Rows go to a hidden file in the same folder, which
    takes the name when all are safely on the disk; after any error, also an interrupt, it is
    removed, and what had the name before is untouched.

    >>> import pathlib, tempfile
    >>> out = pathlib.Path(tempfile.mkdtemp()) / "answers.csv"
    >>> with open_sink(out, ["no", "yes"]) as sink:
    ...     sink.write(np.array([[0.25, 0.75]]))
    >>> out.read_text()
    'p(no),p(yes)\\n0.25,0.75\\n'
    """
    path = Path(out)
    build = _find_format(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"out must be in an existing folder, got {str(path)!r}")
    names = [f"p({label})" for label in classes]
    with open_whole(path, "the probabilities") as file:
        sink = build(file, names)
        try:
            yield sink
            sink.close()
        except BaseException:
            # Files on a full disk refuse to be closed, too; the first error is the one to see.
            with suppress(Exception):
                sink.close()
            raise


class CsvSink:
    """Rows as text; the shortest digits that give the same number."""

    def __init__(self, file: IO[bytes], names: list[str]):
        self._file = file
        self._file.write((",".join(map(_quote, names)) + "\n").encode())

    def write(self, proba: NDArray[np.float64]) -> None:
        lines = [",".join(map(repr, row)) for row in proba.tolist()]
        self._file.write(("\n".join(lines) + "\n").encode() if lines else b"")

    def close(self) -> None:
        self._file.flush()


class ZippedCsvSink(CsvSink):
    """The same, gzipped."""

    def __init__(self, file: IO[bytes], names: list[str]):
        # No name and no time inside: the same rows give the same bytes.
        self._zipped = gzip.GzipFile("", "wb", 6, file, mtime=0)
        super().__init__(self._zipped, names)  # type: ignore[arg-type]

    def close(self) -> None:
        self._zipped.close()


class ParquetSink:
    """One row group for each batch."""

    def __init__(self, file: IO[bytes], names: list[str]):
        self._arrow = import_arrow("writing Parquet")
        from pyarrow import parquet

        self._schema = self._arrow.schema([(name, self._arrow.float64()) for name in names])
        self._writer = parquet.ParquetWriter(file, self._schema)

    def write(self, proba: NDArray[np.float64]) -> None:
        columns = [self._arrow.array(np.ascontiguousarray(column)) for column in proba.T]
        self._writer.write_table(self._arrow.Table.from_arrays(columns, schema=self._schema))

    def close(self) -> None:
        self._writer.close()


_FORMATS: dict[str, Any] = {".parquet": ParquetSink, ".csv": CsvSink, ".csv.gz": ZippedCsvSink}


def _find_format(path: Path) -> Any:
    for ending, sink in _FORMATS.items():
        if path.name.lower().endswith(ending):
            return sink
    raise ValueError(f"out must end in one of {list(_FORMATS)}, got {path.name!r}")


def _quote(name: str) -> str:
    if any(mark in name for mark in ',"\n\r'):
        return '"' + name.replace('"', '""') + '"'
    return name
