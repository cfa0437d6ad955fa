"""ARFF files, some lines at a time."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import IO, Any

from priorwise.common.files import open_data_file
from priorwise.data.arff.reader import ArffData, choose_frame_kind, read_header
from priorwise.data.arff.rows import RowReader, chunk_lines
from priorwise.data.arff.syntax import Attribute
from priorwise.data.sources.part import FilePart, SourceError
from priorwise.data.tables.column_kinds import column_families

_BLOCK_BYTES = 1 << 20
_TEXT_FACTOR = 4
"""A cell as text, in a line, a row and a column, takes so many times a value of a batch."""


@dataclass(frozen=True)
class ArffPart(FilePart):
    """An ARFF file, plain or gzipped; weights of rows are left out.

    The text is UTF-8, or else Latin-1, which takes one look at the whole file.
    """

    @cached_property
    def _encoding(self) -> str:
        decoder = codecs.getincrementaldecoder("utf-8-sig")()
        try:
            with self._open_bytes() as file:
                while block := file.read(_BLOCK_BYTES):
                    decoder.decode(block)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return "latin-1"
        return "utf-8-sig"

    @cached_property
    def _header(self) -> tuple[str, tuple[Attribute, ...], int]:
        """Relation, attributes, and the number of lines up to the data."""
        with self._open_lines() as lines:
            relation, attributes, n_lines = read_header(lines, self.name)
            return relation, tuple(attributes), n_lines

    def families(self) -> dict[str, str]:
        return column_families(self._to_frame([], list(range(len(self._header[1])))))

    def frames(self, names: list[str], batch_rows: int, target: str | None) -> Iterator[Any]:
        _, attributes, n_lines = self._header
        place = {attribute.name: j for j, attribute in enumerate(attributes)}
        chosen = [place[name] for name in names]
        # Sparse rows become cells a chunk at a time.
        reader = RowReader(attributes, self.name, limit_sparse=False)
        within_batch = batch_rows * len(names) // (_TEXT_FACTOR * len(attributes))
        step = min(chunk_lines(len(attributes)), max(1, within_batch))
        with self._open_lines() as lines:
            number = n_lines + 1
            rest = islice(lines, n_lines, None)
            for first in rest:
                chunk = [first, *islice(rest, step - 1)]
                yield self._to_frame(reader.read(chunk, number)[0], chosen)
                number += len(chunk)

    def _to_frame(self, columns: list[Any], chosen: list[int]) -> Any:
        relation, attributes, _ = self._header
        rows = columns or RowReader(attributes, self.name).read([], 0)[0]
        return ArffData(relation, attributes, tuple(rows)).to_frame(choose_frame_kind(), chosen)

    @contextmanager
    def _open_lines(self) -> Iterator[Iterator[str]]:
        with self._open_bytes() as file:
            text = io.TextIOWrapper(file, encoding=self._encoding)
            yield (line.rstrip("\n") for line in text)

    @contextmanager
    def _open_bytes(self) -> Iterator[IO[bytes]]:
        try:
            with open_data_file(self.path) as file:
                yield file
        except OSError as error:
            raise SourceError(f"the file cannot be read ({error})", self.name) from error
