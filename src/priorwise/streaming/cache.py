"""A compact copy of the coded rows on disk, so that later passes need not decode the source."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.container import ContainerError, from_bytes, to_bytes
from priorwise.common.private_folder import PrivateFolder
from priorwise.common.runtime import MIB
from priorwise.counts import CodedRows
from priorwise.streaming.passes import Coder
from priorwise.streaming.survey_pass import SurveyedBatch

MIN_FREE_BYTES = 256 * MIB
"""With less free space on the disk than this, a cache that is not required gives up."""
_NAME = re.compile(r"(\d{15})-(\d{1,15})\.(?:rows|labels)")


@dataclass(frozen=True)
class StoredBatch:
    """Packed columns, the class last, and what their codes mean."""

    first_row: int  # place of the first row in the whole source
    place: str  # where the rows are, for messages
    n_rows: int
    widths: list[int]  # bits of a code of each column
    # of the features, all nominal, and of the class; None if the codes are final
    labels: list[list[Hashable]] | None
    packed: bytes  # the codes, column after column


class CodedCache:
    """Batches of coded rows in a folder, one file each, 2 to 32 bits a value.

    The files are containers in a folder below `scratch` that only its owner can use; resumed work
    finds it again by its `name`, random by default. A batch of the first pass is stored by its own
    labels, since the codes that they get are not yet known; reading it back unpacks and recodes in
    one look-up. Unless the cache is `required`, a full disk makes it give up, and rows are read
    from the source again.
    """

    def __init__(
        self, scratch: Path | None = None, *, name: str | None = None, required: bool = False
    ) -> None:
        self.required = required
        self.gave_up = False
        self._tables: tuple[Any, list[NDArray[np.int32] | None]] | None = None
        if scratch is not None:
            scratch.mkdir(parents=True, exist_ok=True)
        if name is None:
            path = Path(tempfile.mkdtemp(prefix="priorwise-rows-", dir=scratch))
        else:
            path = Path(scratch or tempfile.gettempdir()) / name
        # Only files that resumed work reads have to survive a crash of the system.
        self._folder = PrivateFolder(path, role="cache", durable=name is not None)
        matches = [_NAME.fullmatch(file) for file in self._folder.names()]
        self._batches = {match[0]: (int(match[1]), int(match[2])) for match in matches if match}
        """First row and number of rows of each batch, by the name of its file."""

    @property
    def path(self) -> Path:
        """The cache's folder."""
        return self._folder.path

    def write_surveyed(self, batch: SurveyedBatch, *, first_row: int, place: str) -> None:
        """Store a batch of the first pass, if all its features are nominal."""
        if batch.survey.is_nominal.all():
            labels = [*batch.survey.labels(), batch.survey.classes.tolist()]
            arities = [len(column_labels) for column_labels in labels]
            self._write([*batch.codes, batch.y], arities, first_row, place, labels)

    def forget_surveyed(self) -> None:
        """Remove the batches of the first pass: not all of their columns hold labels."""
        for name in [name for name in self._batches if name.endswith(".labels")]:
            self._folder.remove(name)
            del self._batches[name]

    def write_coded(self, batch: Any) -> None:
        """Store a batch of a later pass, with final codes."""
        rows = batch.rows
        columns, arities = list(rows.columns), rows.arities.tolist()
        for i, arity in enumerate(arities):
            if columns[i].min() < 0:
                # A missing value is stored behind the known ones.
                columns[i] = np.where(columns[i] < 0, np.int32(arity), columns[i])
                arities[i] += 1
        columns, arities = [*columns, rows.y], [*arities, rows.n_classes]
        self._write(columns, arities, batch.first_row, batch.place, None)

    def is_complete(self, n_rows: int) -> bool:
        """Whether all rows of a source are stored."""
        if self.gave_up:
            return False
        stored = 0
        for first_row, n_batch_rows in sorted(self._batches.values()):
            if first_row != stored:
                return False
            stored += n_batch_rows
        return stored == n_rows

    def read(self, start: int = 0) -> Iterator[StoredBatch]:
        """Read the batches in order, from number `start` on; ContainerError if one is damaged."""
        for name, (first_row, n_rows) in sorted(self._batches.items())[start:]:
            path = str(self.path / name)
            try:
                content = self._folder.read(name)
            except OSError as error:
                raise ContainerError(f"the file cannot be read ({error.strerror})", path) from error
            stored = _check_stored(from_bytes(content, kind="coded rows", source=path), path)
            if (stored.first_row, stored.n_rows) != (first_row, n_rows):
                raise ContainerError("the file holds other rows than its name states", path)
            yield stored

    def unpack(self, stored: StoredBatch, coder: Coder) -> Any:
        """Return what the coder makes of a stored batch; ContainerError if a code is unknown."""
        columns = []
        at = 0
        # One array: many small ones would be new pages of memory each time.
        out = np.empty((len(stored.widths), stored.n_rows + MAX_PER_UNIT), dtype=np.int32)
        try:
            tables = self._find_tables(stored, coder)
            for width, table, row in zip(stored.widths, tables, out, strict=True):
                size = packed_size(stored.n_rows, width)
                packed = memoryview(stored.packed)[at : at + size]
                columns.append(unpack_codes(packed, stored.n_rows, width, table, row))
                at += size
            ignores_missing = coder.encoder.ignores_missing
            if ignores_missing and stored.labels is None:
                arities = coder.encoder.arities_
                for column, arity in zip(columns, arities, strict=False):
                    column[column == arity] = -1
            batch = coder.coded(columns[:-1], columns[-1], stored.first_row, stored.place)
            if stored.labels is None:  # those of labels are codes of the coder
                _check_codes(batch.rows, -1 if ignores_missing else 0)
        except (LookupError, TypeError, ValueError) as error:
            raise ContainerError(f"the codes do not fit ({error})", str(self.path)) from error
        return batch

    def close(self) -> None:
        """Remove the folder and all in it."""
        self._folder.remove_all()

    def give_up(self) -> None:
        """Store nothing more, and remove what is stored."""
        self.gave_up = True
        # The folder stays open, other threads may be writing to it.
        self._folder.clear()

    def _write(
        self,
        columns: Sequence[NDArray[np.int32]],
        arities: list[int],
        first_row: int,
        place: str,
        labels: list[list[Hashable]] | None,
    ) -> None:
        n_rows = len(columns[0])
        name = f"{first_row:015d}-{n_rows}.{'rows' if labels is None else 'labels'}"
        if self.gave_up or name in self._batches:
            return
        widths = [width_of(arity) for arity in arities]
        packed = b"".join(map(pack_codes, columns, widths))
        stored = StoredBatch(first_row, place, n_rows, widths, labels, packed)
        try:
            content = to_bytes(vars(stored), kind="coded rows")
            if not self.required and shutil.disk_usage(self.path).free < MIN_FREE_BYTES:
                self.give_up()
            else:
                self._folder.write(name, content)
                self._batches[name] = (first_row, n_rows)
        except (OSError, TypeError):
            # A full disk, or labels of a type that no file can hold.
            if self.required:
                raise
            self.give_up()

    def _find_tables(self, stored: StoredBatch, coder: Coder) -> list[NDArray[np.int32] | None]:
        """The codes of the packed units of each column; most batches share them."""
        known, key = self._tables, (coder.encoder, stored.widths, stored.labels)
        if known is None or known[0] != key:
            tables: list[NDArray[np.int32] | None] = [None] * len(stored.widths)
            if stored.labels is not None:
                codes = coder.codes_of(stored.labels)
                tables = [unit_table(*pair) for pair in zip(stored.widths, codes, strict=True)]
            self._tables = known = (key, tables)
        return known[1]


def _check_stored(fields: Any, path: str) -> StoredBatch:
    try:
        stored = StoredBatch(**fields)
        sizes = [packed_size(stored.n_rows, width) for width in stored.widths]
        valid = (
            set(stored.widths) <= set(WIDTHS)
            and stored.n_rows > 0
            and isinstance(stored.place, str)
            and isinstance(stored.packed, bytes)
            and sum(sizes) == len(stored.packed)
        )
    except (TypeError, ValueError):
        valid = False
    if not valid:
        raise ContainerError("the file does not hold coded rows", path)
    return stored


def _check_codes(rows: CodedRows, least: int) -> None:
    columns, arities = [*rows.columns, rows.y], [*rows.arities.tolist(), rows.n_classes]
    leasts = [*([least] * rows.n_features), 0]
    for column, arity, first in zip(columns, arities, leasts, strict=True):
        if column.min() < first or column.max() >= arity:
            raise ValueError(f"codes must lie in {first}..{arity - 1}")


WIDTHS = tuple(2**i for i in range(1, 6))
"""Bits of a code."""
MAX_PER_UNIT = 8 // WIDTHS[0]
"""Most codes of a packed unit."""


def width_of(arity: int) -> int:
    """The fewest bits, of 2, 4, 8, 16 and 32, that hold codes below `arity`.

    >>> [width_of(arity) for arity in (2, 4, 5, 200, 1000)]
    [2, 2, 4, 8, 16]
    """
    return next(width for width in WIDTHS if arity <= 2**width)


def packed_size(n_rows: int, width: int) -> int:
    """Number of bytes that `n` codes take."""
    return -(-n_rows * width // 8)


def pack_codes(codes: NDArray[np.int32], width: int) -> bytes:
    """Put codes of 0 .. 2**width - 1 behind each other, the first in the lowest bits.

    >>> pack_codes(np.array([1, 2, 3, 0, 1], dtype=np.int32), width=2).hex()
    '3901'
    """
    if width >= 8:
        return codes.astype(f"<u{width // 8}").tobytes()
    per_byte = 8 // width
    padded = np.zeros(-(-len(codes) // per_byte) * per_byte, dtype=np.uint8)
    padded[: len(codes)] = codes
    # The codes of a unit are put side by side in the upper bits of one product.
    units = padded.view(f"<u{per_byte}")
    factor = sum(1 << ((per_byte - 1 - place) * (8 - width)) for place in range(per_byte))
    shift = (per_byte - 1) * (8 - width)
    products = units * units.dtype.type(factor)
    return (products >> units.dtype.type(shift)).astype(np.uint8).tobytes()


def unit_table(width: int, codes: NDArray[np.int32] | None = None) -> NDArray[np.int32]:
    """The codes of each packed unit, one row per unit.

    A unit is a byte, or a code where it is wider. `codes` are other codes to put in place of
    0, 1, ...: unpacking with the table then recodes too.
    """
    if codes is None:
        codes = np.arange(2 ** min(width, 16), dtype=np.int32)
    if width > 8:
        return codes[:, None]
    full = np.zeros(2**width, dtype=np.int32)
    full[: len(codes)] = codes[: len(full)]
    if width == 8:
        return full[:, None]
    units = np.arange(256)
    places = [(units >> shift) & (2**width - 1) for shift in range(0, 8, width)]
    return np.ascontiguousarray(full[np.stack(places, axis=1)])


def unpack_codes(
    packed: bytes | memoryview,
    n_rows: int,
    width: int,
    table: NDArray[np.int32] | None = None,
    out: NDArray[np.int32] | None = None,
) -> NDArray[np.int32]:
    """Codes that were packed, looked up in a table of `unit_table`.

    They are put in `out`, if given, of at least ``MAX_PER_UNIT - 1`` rows more.

    >>> packed = pack_codes(np.array([1, 2, 3, 0, 1], dtype=np.int32), width=2)
    >>> unpack_codes(packed, 5, 2, unit_table(2, np.array([7, 6, 5, 4], dtype=np.int32)))
    array([6, 5, 4, 7, 6], dtype=int32)
    """
    units = np.frombuffer(packed, dtype=f"<u{max(width, 8) // 8}")
    if out is None:
        out = np.empty(n_rows + MAX_PER_UNIT, dtype=np.int32)
    if table is None and width >= 8:
        out[:n_rows] = units
        return out[:n_rows]
    if table is None:
        table = unit_table(width)
    looked_up = out[: table[0].size * len(units)].reshape(-1, table[0].size)
    if width > 8 and len(units) and units.max() >= len(table):
        raise IndexError(f"codes must be below {len(table)}, got {units.max()}")
    # A way of NumPy that needs no copy; no unit is outside of the table.
    np.take(table, units, axis=0, out=looked_up, mode="clip")
    return out[:n_rows]
