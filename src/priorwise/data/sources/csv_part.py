"""Files of delimited text, such as CSV: read a block at a time, or whole."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import IO, Any

import numpy as np

from priorwise.common.files import open_data_file
from priorwise.common.runtime import MIB
from priorwise.data.columns import MISSING_MARKS
from priorwise.data.sources.csv_problems import (
    RecordCounter,
    describe_problem,
    find_header_lines,
    is_cut,
    list_options,
)
from priorwise.data.sources.number_marks import guess_type, is_grouped, ungroup
from priorwise.data.sources.part import (
    PIECE_BYTES,
    FilePart,
    SourceError,
    check_names,
    import_arrow,
    name_columns,
    naming_the_file,
)
from priorwise.data.sources.row_scan import RowScan, ScannedFile
from priorwise.data.sources.text_dialect import (
    PLAIN,
    RECOGNISED,
    SAMPLE_BYTES,
    DecodedFile,
    FileOptions,
    TextDialect,
    recognise,
)
from priorwise.data.tables.column_kinds import column_families, name_commonest
from priorwise.data.tables.label_keys import parse_number

_FIRST_BLOCKS = tuple(SAMPLE_BYTES * 8**i for i in range(3))
"""Bytes of the block that shows what columns hold: the first of these that has a whole row."""
_MAX_BLOCK_BYTES = MIB
"""Of the blocks that are read, each at least a piece; pyarrow keeps about 40 of them."""


@dataclass(frozen=True)
class CsvPart(FilePart):
    """A file of delimited text, plain or compressed, with a line of names.

    A column holds what the first block of the file with a value of that column holds: numbers,
    booleans, or else text, dates and numbers with leading zeros included. A later value of another
    kind is an error. Columns in `texts` hold text. A field that is one of `marks` is missing.
    """

    options: FileOptions = RECOGNISED
    marks: tuple[str, ...] = MISSING_MARKS
    texts: frozenset[str] = frozenset()
    dialect: TextDialect = PLAIN

    def recognise(self) -> CsvPart:
        """Return the file as it is to be read."""
        with naming_the_file("the file cannot be read as CSV", self.name):
            with open_data_file(self.path) as file:
                sample, more = file.read(SAMPLE_BYTES), file.read(1)
            dialect = recognise(sample, self.options, self.marks, self.name, is_whole=not more)
        return replace(self, dialect=dialect)

    def read_whole(self) -> Any:
        """Return all rows as an Arrow table, whose columns hold what all of their values are."""
        arrow = import_arrow("reading CSV")
        from pyarrow import csv

        with naming_the_file("the file cannot be read as CSV", self.name):
            with self._open_text() as file:
                content = file.read()
            scan, view = RowScan(self.dialect.separator), memoryview(content)
            for start in range(0, len(view), _MAX_BLOCK_BYTES):
                scan.add(view[start : start + _MAX_BLOCK_BYTES])
            scan.finish()
            texts = {self._names[place] for place in scan.zeros} | self.texts
            types, block_bytes = dict.fromkeys(texts, arrow.string()), MIB
            while True:
                options = self._options(types, None, block_bytes)
                options[1].newlines_in_values = scan.has_long_values
                try:
                    source = arrow.BufferReader(arrow.py_buffer(content))
                    table = csv.read_csv(source, *options)
                except arrow.ArrowInvalid as error:
                    if is_cut(error) and block_bytes < _FIRST_BLOCKS[-1]:
                        block_bytes *= 8
                        continue
                    raise SourceError(self._find_problem(error, types)[0], self.name) from error
                dates = [f.name for f in table.schema if arrow.types.is_temporal(f.type)]
                if not dates:
                    return self._drop_unnamed(self._ungroup(table, self._find_grouped(table)))
                types |= dict.fromkeys(dates, arrow.string())

    def _find_grouped(self, table: Any) -> list[str]:
        """Columns of a table of all rows whose texts are numbers with groups of thousands."""
        marks = self.dialect.thousands, self.dialect.decimal
        texts = {field.name for field in table.schema if str(field.type) == "string"} - self.texts
        return [name for name in texts if is_grouped(table.column(name).drop_null(), *marks)]

    def _drop_unnamed(self, table: Any) -> Any:
        empty = [name for name in self._unnamed if table.column(name).null_count == len(table)]
        return table.drop_columns(empty) if empty else table

    @cached_property
    def _names(self) -> list[str]:
        """Names of the columns (`name_columns`)."""
        return name_columns(self._given)

    @property
    def _unnamed(self) -> list[str]:
        """Columns that have no name in the file."""
        return [n for n, given in zip(self._names, self._given, strict=True) if not given.strip()]

    @cached_property
    def _given(self) -> list[str]:
        """Names of the columns in the file."""
        schema = self._first_block[0]
        check_names([name for name in schema.names if name.strip()], self.name)
        return list(schema.names)

    @cached_property
    def _n_header_lines(self) -> int:
        """Number of lines before the rows, if columns are renamed; else those before the names."""
        dialect = self.dialect
        if self._names == self._given:
            return dialect.n_skipped
        with self._open_text() as file:
            for _ in range(dialect.n_skipped):
                file.readline()
            return dialect.n_skipped + find_header_lines(file, dialect.separator)

    @cached_property
    def _first_block(self) -> tuple[Any, int, dict[int, int]]:
        """Names and types of the columns in the first block, its length, and leading zeros.

        The block is made longer until the line of names and a row are in it.
        """
        arrow = import_arrow("reading CSV")
        from pyarrow import csv

        for block_bytes in _FIRST_BLOCKS:
            with self._open_text() as file:
                start = file.read(block_bytes + _MAX_BLOCK_BYTES)
                is_whole = not file.read(1)
            scan = RowScan(self.dialect.separator)
            scan.add(start)
            if is_whole:
                scan.finish()
            options = self._options({}, None, block_bytes, use_threads=False, is_start=True)
            try:
                with csv.open_csv(io.BytesIO(start), *options) as reader:
                    return reader.schema, block_bytes, scan.zeros
            except arrow.ArrowInvalid as error:
                if not is_cut(error) or block_bytes == _FIRST_BLOCKS[-1]:
                    self._check_rows()
                    counter = self._count_records(is_start=True)
                    problem, _ = describe_problem(str(error), [], counter)
                    raise SourceError(problem, self.name) from error
        raise AssertionError

    def _check_rows(self) -> None:
        """Raise if the rest of the file has a quote that is not closed."""
        with self._open_scanned() as file:
            while file.read(_MAX_BLOCK_BYTES):
                pass

    @cached_property
    def _grouped(self) -> set[str]:
        """Columns of numbers with groups of thousands; filled with `_types`."""
        return set()

    @cached_property
    def _types(self) -> dict[str, Any]:
        arrow = import_arrow("reading CSV")
        with naming_the_file("the file cannot be read as CSV", self.name):
            schema, _, zeros = self._first_block
            kinds = dict(zip(self._names, (field.type for field in schema), strict=True))
            texts = [self._names[place] for place in zeros] + [n for n in self.texts if n in kinds]
            kinds |= dict.fromkeys(texts, arrow.string())
            unknown = [name for name, kind in kinds.items() if arrow.types.is_null(kind)]
            if self.dialect.thousands:
                found = [n for n, k in kinds.items() if arrow.types.is_string(k) and n not in texts]
                kinds |= self._resolve(found, whole_block=True)
            return kinds | self._resolve(unknown)

    def _resolve(self, names: list[str], whole_block: bool = False) -> dict[str, Any]:
        """Types of columns by the first values of the file; reads on until each has one."""
        arrow = import_arrow("reading CSV")
        found: dict[str, Any] = {}
        if not names:
            return found
        with self._open(dict.fromkeys(names, arrow.string()), names) as reader:
            for block in reader:
                for name in (n for n in names if n not in found):
                    values = block.column(name).drop_null()
                    if len(values):
                        if is_grouped(values, self.dialect.thousands, self.dialect.decimal):
                            self._grouped.add(name)
                        found[name] = guess_type(
                            values, self.dialect.thousands, self.dialect.decimal
                        )
                if whole_block or len(found) == len(names):
                    break
        return found

    def families(self) -> dict[str, str]:
        arrow = import_arrow("reading CSV")
        types = {name: self._reading_type(name, None) for name in self._types}
        families = column_families(arrow.schema(list(types.items())).empty_table())
        families |= dict.fromkeys(self._grouped, "number")
        # A separator at the end of each line makes a column of nothing.
        empty = {name for name in self._unnamed if families[name] == "unknown"}
        return {
            name: "text" if f == "category" else f
            for name, f in families.items()
            if name not in empty
        }

    def frames(self, names: list[str], batch_rows: int, target: str | None) -> Iterator[Any]:
        block_bytes = max(PIECE_BYTES, min(batch_rows * len(names) // 2, _MAX_BLOCK_BYTES))
        return self._read_blocks(names, target, block_bytes)

    def _read_blocks(
        self, names: list[str], target: str | None, block_bytes: int, n_rows: int = 0
    ) -> Iterator[Any]:
        """Tables of blocks of about `block_bytes` bytes, without the first `n_rows` rows."""
        arrow = import_arrow("reading CSV")
        types = {name: self._reading_type(name, target) for name in names}
        skip = n_rows
        try:
            with self._open(types, names, block_bytes) as reader:
                for block in reader:
                    rest = block.slice(min(skip, block.num_rows))
                    skip -= block.num_rows - rest.num_rows
                    if rest.num_rows:
                        yield self._ungroup(arrow.Table.from_batches([rest]), self._grouped)
                    n_rows += rest.num_rows
        except SourceError:
            raise
        except Exception as error:
            if type(error) is MemoryError:
                raise
            if is_cut(error) and block_bytes < _FIRST_BLOCKS[-1]:
                yield from self._read_blocks(names, target, 8 * block_bytes, n_rows)
                return
            self._check_rows()
            problem, column = self._find_problem(error, types, names)
            raise SourceError(
                f"the rows cannot be read ({problem}); text is missing in a column named in "
                "numeric_features, and a label in one named in categorical_features",
                f"{self.path}, after row {n_rows}",
                column,
            ) from error

    def _ungroup(self, table: Any, names: Collection[str]) -> Any:
        """Make numbers of the columns that have groups of thousands."""
        arrow = import_arrow("reading CSV")
        for name in set(names).intersection(table.column_names):
            texts = table.column(name).combine_chunks()
            try:
                values = ungroup(texts, self.dialect.thousands, self.dialect.decimal)
            except arrow.ArrowInvalid as error:
                raise arrow.ArrowInvalid(f"column {name!r}: {error}") from None
            table = table.set_column(table.column_names.index(name), name, values)
        return table

    def _find_problem(
        self, found: Exception, types: dict[str, Any], names: list[str] | None = None
    ) -> tuple[str, str | None]:
        """What one thread finds at the same place, which knows rows, and the column at fault."""
        try:
            with self._open(types, names, use_threads=False) as reader:
                for _ in reader:
                    pass
        except SourceError as error:
            return error.problem, error.column
        except Exception as error:
            counter = self._count_records()
            problem, column = describe_problem(f"{error!s:.500}", self._names, counter)
            return problem + ("" if column is None else self._name_texts(column)), column
        return str(found), None

    def _count_records(self, is_start: bool = False) -> RecordCounter:
        n_skipped = self.dialect.n_skipped
        n_before = n_skipped if is_start or self._names == self._given else self._n_header_lines - 1
        return RecordCounter(self._open_text, self.dialect.separator, n_skipped, n_before)

    def _name_texts(self, column: str) -> str:
        """Return the commonest texts of a column that are no numbers, for an error."""
        arrow, counts = import_arrow("reading CSV"), Counter[str]()
        try:
            with self._open({column: arrow.string()}, [column]) as reader:
                for block in reader:
                    for pair in block.column(0).drop_null().value_counts().to_pylist():
                        if parse_number(pair["values"]) is None:
                            counts[pair["values"]] += pair["counts"]
        except (arrow.ArrowException, SourceError):
            return ""
        labels, totals = list(counts), np.array(list(counts.values()))
        texts = name_commonest(labels, totals, range(len(labels)))
        return f"; its commonest texts are {texts}" if labels else ""

    def _reading_type(self, name: str, target: str | None) -> Any:
        arrow = import_arrow("reading CSV")
        kind = self._types[name]
        if name not in self._grouped:
            if arrow.types.is_integer(kind) and name != target:
                # Fractions may follow; as a feature both are the same number.
                return arrow.float64()
            if arrow.types.is_floating(kind) or arrow.types.is_integer(kind):
                return kind
            if arrow.types.is_boolean(kind) or arrow.types.is_null(kind):
                return kind
        return arrow.dictionary(arrow.int32(), arrow.string())

    def _open_text(self) -> IO[bytes]:
        """Open the file as UTF-8."""
        file = open_data_file(self.path)
        dialect = self.dialect
        if dialect.encoding == "utf-8" and dialect.line_end == "\n":
            return file
        return io.BufferedReader(DecodedFile(file, dialect, self.name), _MAX_BLOCK_BYTES)

    def _open_scanned(self, types: dict[str, Any] | None = None) -> ScannedFile:
        """Open the file as UTF-8 that is scanned while it is read.

        A leading zero in a column whose type is a number is an error.
        """
        arrow, scan = import_arrow("reading CSV"), RowScan(self.dialect.separator)
        numbers = {
            place: name
            for place, name in enumerate(self._names if types else ())
            if types and name in types and not _is_text(arrow, types[name])
        }

        def check(scan: RowScan) -> None:
            for place, line in scan.zeros.items():
                if place in numbers:
                    raise SourceError(
                        f"line {line}, column {numbers[place]!r}: a number with a leading zero "
                        "among others without; name the column in categorical_features",
                        self.name,
                        numbers[place],
                    )

        return ScannedFile(self._open_text(), scan, self.name, check)

    @contextmanager
    def _open(
        self,
        types: dict[str, Any],
        names: list[str] | None,
        block_bytes: int | None = None,
        use_threads: bool = True,
    ) -> Iterator[Any]:
        """Open the file in blocks, which have the length of the first one by default."""
        from pyarrow import csv

        size = self._first_block[1] if block_bytes is None else block_bytes
        options = self._options(types, names, size, use_threads=use_threads)
        source = io.BufferedReader(self._open_scanned(types), size)
        with source as file, csv.open_csv(file, *options) as reader:
            yield reader

    def _options(
        self,
        types: dict[str, Any],
        names: list[str] | None,
        block_bytes: int,
        *,
        use_threads: bool = True,
        is_start: bool = False,
    ) -> tuple[Any, Any, Any]:
        """Options of pyarrow; at the start names are those in the file."""
        return list_options(
            self.dialect,
            self.marks,
            types,
            names=names,
            all_names=None if is_start or self._names == self._given else self._names,
            n_skipped=self.dialect.n_skipped if is_start else self._n_header_lines,
            block_bytes=block_bytes,
            use_threads=use_threads,
        )


def _is_text(arrow: Any, kind: Any) -> bool:
    return bool(arrow.types.is_dictionary(kind) or arrow.types.is_string(kind))
