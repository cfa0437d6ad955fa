"""Predictions written as they come, to a file that is whole or not there."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from priorwise.common.files import check_regular_file, open_whole
from priorwise.data.sources.part import find_duplicate, import_arrow
from priorwise.data.tables.label_keys import is_missing

PREDICTION = "prediction"
"""Name of the column of the predicted class."""


@dataclass(frozen=True)
class Header:
    """The columns of a file of predictions."""

    kept: Sequence[str]
    classes: Sequence[Any]
    has_intervals: bool = False

    @property
    def numbers(self) -> list[str]:
        kinds = ("p", "low", "high") if self.has_intervals else ("p",)
        return [f"{kind}({label})" for kind in kinds for label in self.classes]

    @property
    def names(self) -> list[str]:
        return [*self.kept, PREDICTION, *self.numbers]


@contextmanager
def open_sink(
    out: str | os.PathLike[str] | IO[bytes],
    classes: Sequence[Any],
    *,
    kept: Sequence[str] = (),
    overwrite: bool = False,
    has_intervals: bool = False,
) -> Iterator[PredictionSink]:
    """Open a file for predictions: columns `kept`, the predicted class, and ``p(class)`` for each.

    With intervals there are also ``low(class)`` and ``high(class)`` for each.

    The name tells the format: ".parquet", ".csv" or ".csv.gz"; numbers in CSV are written so
    that reading them gives the same bits. Rows go to a hidden file in the same folder, which
    takes the name when all are safely on the disk; after any error, also an interrupt, it is
    removed, and what had the name before is untouched. Rows go to an open file as CSV at once.

    >>> import pathlib, tempfile
    >>> out = pathlib.Path(tempfile.mkdtemp()) / "predictions.csv"
    >>> with open_sink(out, ["no", "yes"]) as sink:
    ...     sink.write(np.array([1]), np.array([[0.25, 0.75]]))
    >>> out.read_text()
    'prediction,p(no),p(yes)\\nyes,0.25,0.75\\n'
    """
    header = Header(kept, classes, has_intervals)
    twice = find_duplicate(header.names)
    if twice is not None:
        raise ValueError(f"keep must not name {twice!r}, which the file has already")
    if not isinstance(out, (str, os.PathLike)):
        plain = CsvSink(out, header)
        yield plain
        plain.close()
        return
    path = Path(out)
    build = next((_FORMATS[end] for end in _FORMATS if path.name.lower().endswith(end)), None)
    if build is None:
        raise ValueError(f"out must end in one of {list(_FORMATS)}, got {path.name!r}")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"out must be in an existing folder, got {str(path)!r}")
    if path.exists():
        check_regular_file(path)
        if not overwrite:
            rule = "out must not exist yet, or overwrite must be True"
            raise FileExistsError(f"{rule}, got {str(path)!r}")
    with open_whole(path, "the probabilities") as file:
        sink = build(file, header)
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

    def __init__(self, file: IO[bytes], header: Header):
        self._file = file
        self._labels = np.array([_quote(str(label)) for label in header.classes], dtype=object)
        self._file.write((",".join(map(_quote, header.names)) + "\n").encode())

    def write(self, codes: NDArray[np.intp], proba: NDArray[np.float64], kept: Any = None) -> None:
        """Append a batch: predicted classes by number, probabilities, and a frame to keep.

        With intervals, the columns of their lower and of their upper ends follow the probabilities.
        """
        frame = None if kept is None else nw.from_native(kept, eager_only=True)
        kept_columns = [] if frame is None else frame.iter_columns()
        texts = [[_as_text(value) for value in column.to_list()] for column in kept_columns]
        columns = [*texts, self._labels[codes].tolist(), *(map(repr, p) for p in proba.T.tolist())]
        lines = list(map(",".join, zip(*columns, strict=True)))
        self._file.write(("\n".join(lines) + "\n").encode() if lines else b"")

    def close(self) -> None:
        self._file.flush()


class ZippedCsvSink(CsvSink):
    """The same, gzipped."""

    def __init__(self, file: IO[bytes], header: Header):
        # No name and no time inside: the same rows give the same bytes.
        self._zipped = gzip.GzipFile("", "wb", 6, file, mtime=0)
        super().__init__(self._zipped, header)  # type: ignore[arg-type]

    def close(self) -> None:
        self._zipped.close()


class ParquetSink:
    """One row group for each batch; the first one fixes the types of columns that are kept."""

    def __init__(self, file: IO[bytes], header: Header):
        self._arrow = import_arrow("writing Parquet")
        self._file, self._header = file, header
        self._writer: Any = None
        self._labels = self._label_array(header.classes)

    def _label_array(self, classes: Sequence[Any]) -> Any:
        try:
            return self._arrow.array(classes)
        except self._arrow.ArrowException:  # labels of several types
            return self._arrow.array([str(label) for label in classes])

    def write(self, codes: NDArray[np.intp], proba: NDArray[np.float64], kept: Any = None) -> None:
        columns = [self._labels.take(self._arrow.array(codes))]
        columns += [self._arrow.array(np.ascontiguousarray(column)) for column in proba.T]
        if kept is not None:
            table = nw.from_native(kept, eager_only=True).to_arrow()
            columns = [*map(self._decode, table.columns), *columns]
        self._append(columns)

    def _decode(self, column: Any) -> Any:
        is_coded = self._arrow.types.is_dictionary(column.type)
        return column.cast(column.type.value_type) if is_coded else column

    def _append(self, columns: list[Any]) -> None:
        from pyarrow import parquet

        table = self._arrow.table(columns, names=self._header.names)
        if self._writer is None:
            self._writer = parquet.ParquetWriter(self._file, table.schema)
        self._writer.write_table(table.cast(self._writer.schema))

    def close(self) -> None:
        if self._writer is None:
            kept = [self._arrow.array([], self._arrow.string()) for _ in self._header.kept]
            numbers = [self._arrow.array([], self._arrow.float64()) for _ in self._header.numbers]
            self._append([*kept, self._labels[:0], *numbers])
        self._writer.close()


PredictionSink = CsvSink | ParquetSink
_FORMATS: dict[str, Any] = {".parquet": ParquetSink, ".csv": CsvSink, ".csv.gz": ZippedCsvSink}


def _as_text(value: Any) -> str:
    """Return a field of a CSV file: whole numbers without a fraction, nothing for a missing one."""
    if is_missing(value):
        return ""
    return repr(value).removesuffix(".0") if isinstance(value, float) else _quote(str(value))


def _quote(name: str) -> str:
    if any(mark in name for mark in ',"\n\r'):
        return '"' + name.replace('"', '""') + '"'
    return name
