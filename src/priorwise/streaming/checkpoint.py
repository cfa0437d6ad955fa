"""States of passes kept in a folder, so that interrupted work goes on where it was."""

from __future__ import annotations

import json
import os
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BATCHES_BETWEEN_SAVES = 16


@dataclass(frozen=True)
class Saved:
    """A merged state, the batches in it, and whether these are all."""

    state: Any
    n_batches: int
    n_rows: int
    complete: bool


class Checkpoint:
    """The merged state of each pass, saved while it grows and when it is complete.

    A file is written aside, flushed to the disk and renamed: what is in the folder is whole at
    any moment. Whatever happens between passes follows from their results, so the model of
    resumed work is that of work that was never interrupted.

    Parameters
    ----------
    folder : path
        Made if need be. `close` leaves it empty.
    identity : str
        Tells the data and the parameters: a folder with the work of others is refused.
    seed : int
        Of the random numbers to come; that of the interrupted work is used instead.
    """

    def __init__(self, folder: str | os.PathLike[str], identity: str, seed: int) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        about = self.folder / "about.json"
        for unfinished in self.folder.glob("*.part"):
            unfinished.unlink()
        if about.exists():
            told = json.loads(about.read_text())
            if told["identity"] != identity:
                raise ValueError(
                    f"checkpoint {str(self.folder)!r} holds the work on other data or with other "
                    "parameters: resume with the same ones, or name another folder"
                )
            self.seed = int(told["seed"])
            return
        if any(self.folder.iterdir()):
            raise ValueError(
                f"checkpoint must be an empty folder or one of interrupted work, got "
                f"{str(self.folder)!r} with other files in it"
            )
        self.seed = seed
        self._write(about, json.dumps({"identity": identity, "seed": seed}).encode())

    def load(self, number: int) -> Saved | None:
        """What is saved of a pass, if anything."""
        path = self._path(number)
        if not path.exists():
            return None
        with open(path, "rb") as file:
            saved: Saved = pickle.load(file)
        return saved

    def save(self, number: int, saved: Saved) -> None:
        """Save the state of a pass in place of an earlier one."""
        self._write(self._path(number), pickle.dumps(saved, protocol=5))

    def close(self) -> None:
        """Remove what was saved."""
        for path in [*self.folder.glob("pass-*.pickle"), self.folder / "about.json"]:
            path.unlink(missing_ok=True)

    def _path(self, number: int) -> Path:
        return self.folder / f"pass-{number}.pickle"

    def _write(self, path: Path, content: bytes) -> None:
        unfinished = path.with_suffix(".part")
        with open(unfinished, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
        if os.name != "posix":
            return
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
