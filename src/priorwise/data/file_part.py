"""One file of rows, in any format that can be read piece by piece."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from priorwise.data.arrow_file import ParquetPart
from priorwise.data.source import Part

_READERS: dict[str, Any] = {
    ".parquet": ParquetPart,
}
FILE_ENDINGS = tuple(_READERS)


def open_file(path: Path) -> Part:
    """Open a file by the ending of its name."""
    name = path.name.lower()
    for ending, reader in _READERS.items():
        if name.endswith(ending):
            if not path.exists():
                raise FileNotFoundError(f"source must be an existing file, got {str(path)!r}")
            part: Part = reader(path)
            return part
    raise ValueError(f"source must end in one of {list(FILE_ENDINGS)}, got {path.name!r}")
