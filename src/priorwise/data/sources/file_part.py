"""A file of rows, and what all formats have in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from priorwise.data.sources.identity import identify_file
from priorwise.data.sources.rebatch import rebatch


@dataclass(frozen=True)
class FilePart:
    """A path, and rows counted from its start."""

    path: Path

    @property
    def name(self) -> str:
        return str(self.path)

    @property
    def n_rows(self) -> int | None:
        return None

    def identity(self, names: list[str], batch_rows: int, target: str | None) -> list[Any]:
        """The file's path, size and time of change, and a digest of its first and last bytes."""
        return identify_file(self.path)

    def _place_batches(
        self, frames: Iterable[Any], batch_rows: int, first_row: int = 0, skip: int = 0
    ) -> Iterator[tuple[Any, str]]:
        """Frames of one size and their places; `skip` rows are dropped to get to `first_row`."""
        row = first_row
        for frame in rebatch(frames, batch_rows, skip):
            n_rows = int(frame.shape[0])
            yield frame, f"{self.path}, rows {row}..{row + n_rows - 1}"
            row += n_rows


def import_arrow(what: str) -> Any:
    """The pyarrow package, or an error that names the extra."""
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError(f"{what} needs pyarrow: pip install priorwise[arrow]") from error
    return pyarrow
