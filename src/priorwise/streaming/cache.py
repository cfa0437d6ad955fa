"""A compact copy of the coded rows on disk, so that later passes need not decode the source."""

from __future__ import annotations

import os
import pickle
import shutil
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.streaming.bit_packing import (
    pack_codes,
    packed_size,
    unit_table,
    unpack_codes,
    width_of,
)
from priorwise.streaming.passes import BatchCoder
from priorwise.streaming.survey import SurveyedBatch

MIN_FREE_BYTES = 2**28
"""Where less is left on the disk, a cache that is not required gives up."""


@dataclass(frozen=True)
class StoredBatch:
    """Packed columns, the class last, and what their codes mean."""

    first_row: int
    place: str
    n_rows: int
    widths: list[int]
    labels: list[list[Hashable]] | None
    """Of the features, all nominal, and of the class; None where the codes are final."""
    packed: bytes


class CodedCache:
    """Batches of coded rows in a folder, one file each, 2 to 32 bits a value.

    A batch of the first pass is stored by its own labels, since the codes that they get are
    not yet known; reading it back unpacks and recodes in one look-up.

    Parameters
    ----------
    folder : Path
        Made when needed, and removed by `close`.
    required : bool
        Whether a full disk is an error; else the cache gives up, and rows are read from the
        source again.
    """

    def __init__(self, folder: Path, *, required: bool = False) -> None:
        self.folder = folder
        self.required = required
        self.gave_up = False
        self._tables: tuple[Any, list[NDArray[np.int32] | None]] | None = None

    def write_surveyed(self, batch: SurveyedBatch, first_row: int, place: str) -> None:
        """Store a batch of the first pass, if all its features are nominal."""
        if batch.survey.is_nominal.all():
            labels = [*batch.survey.labels(), batch.survey.classes.tolist()]
            arities = [len(of_column) for of_column in labels]
            self._write([*batch.codes, batch.y], arities, first_row, place, labels)

    def write_coded(self, batch: Any) -> None:
        """Store a batch of a later pass."""
        rows = batch.rows
        arities = [*rows.arities.tolist(), rows.n_classes]
        self._write([*rows.columns, rows.y], arities, batch.first_row, batch.place, None)

    def is_complete(self, n_rows: int) -> bool:
        """Whether all of so many rows are stored."""
        stored = sum(int(path.stem.split("-")[1]) for path in self._paths())
        return not self.gave_up and stored == n_rows

    def read(self, start: int = 0) -> Iterator[StoredBatch]:
        """The batches in order, from batch number `start` on."""
        for path in self._paths()[start:]:
            with open(path, "rb") as file:
                yield pickle.load(file)

    def unpack(self, stored: StoredBatch, coder: BatchCoder) -> Any:
        """The coded rows of a stored batch."""
        columns = []
        at = 0
        for width, table in zip(stored.widths, self._find_tables(stored, coder), strict=True):
            size = packed_size(stored.n_rows, width)
            packed = memoryview(stored.packed)[at : at + size]
            columns.append(unpack_codes(packed, stored.n_rows, width, table))
            at += size
        return coder.coded(columns[:-1], columns[-1], stored.first_row, stored.place)

    def close(self) -> None:
        """Remove the folder and all in it."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _write(
        self,
        columns: Sequence[NDArray[np.int32]],
        arities: list[int],
        first_row: int,
        place: str,
        labels: list[list[Hashable]] | None,
    ) -> None:
        n_rows = len(columns[0])
        path = self.folder / f"{first_row:015d}-{n_rows}.rows"
        if self.gave_up or path.exists():
            return
        widths = [width_of(arity) for arity in arities]
        packed = b"".join(map(pack_codes, columns, widths))
        stored = StoredBatch(first_row, place, n_rows, widths, labels, packed)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if not self.required and shutil.disk_usage(self.folder).free < MIN_FREE_BYTES:
                self._give_up()
                return
            # Renamed when whole: no file of the cache is half a batch.
            unfinished = path.with_suffix(".part")
            with open(unfinished, "wb") as file:
                pickle.dump(stored, file, protocol=5)
            os.replace(unfinished, path)
        except OSError as error:
            if self.required:
                raise OSError(
                    error.errno, f"cache cannot be written: {error.strerror}", str(self.folder)
                ) from error
            self._give_up()

    def _find_tables(
        self, stored: StoredBatch, coder: BatchCoder
    ) -> list[NDArray[np.int32] | None]:
        """For each column what its packed units stand for; batches mostly share them."""
        known = self._tables
        if known is None or known[0] != (stored.widths, stored.labels):
            tables: list[NDArray[np.int32] | None] = [None] * len(stored.widths)
            if stored.labels is not None:
                codes = coder.codes_of(stored.labels)
                tables = [unit_table(*pair) for pair in zip(stored.widths, codes, strict=True)]
            self._tables = known = ((stored.widths, stored.labels), tables)
        return known[1]

    def _paths(self) -> list[Path]:
        return sorted(self.folder.glob("*.rows"))

    def _give_up(self) -> None:
        self.gave_up = True
        self.close()
