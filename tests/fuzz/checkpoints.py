"""Fuzz target: damaged and forged files in the folders of interrupted work.

Work that goes on from a damaged checkpoint or cache gives the model that undamaged work gives, or
is refused by name. A forged file has the right checksum, so its numbers are believed if they can be
those of a state; it must not lead to anything but a model or a refusal either.
"""

from __future__ import annotations

import json
import os
import pickle
import random
import tempfile
import warnings
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from fuzz.mutate import INTS, OTHERS, Mutator
from fuzz.outcomes import attempt
from fuzz.readers import damage
from priorwise import AODEClassifier, ESKDBClassifier, KDBClassifier, SelectiveKDBClassifier
from priorwise.common import container
from priorwise.streaming import checkpoint
from priorwise.streaming.cache import CodedCache
from priorwise.streaming.passes import CountPass

Files = dict[str, bytes]
STORED_TYPES = ("<i4", "<i8", "<f8", "<f4", "|u1", "<u8", "<i2")


@dataclass(frozen=True)
class Interrupted:
    """Work that was interrupted: its files, its options, and the model it would have given."""

    model: Any
    source: Any
    options: dict[str, Any]
    saved: Files
    cached: Files
    whole: bytes

    def go_on(self, folder: Path) -> bytes:
        """Go on with what is in a folder, and return the model."""
        model = pickle.loads(pickle.dumps(self.model))
        paths = {"checkpoint": folder / "saved", "scratch": folder / "scratch"}
        model.fit_dataset(self.source, "label", **self.options, **paths)
        return pickle.dumps(model)


def case(seed: int, index: int) -> str:
    """Go on with one damaged folder, and return "accepted" or the name of the exception."""
    rng = random.Random(f"{seed} {index}")
    works = interrupted_works()
    work = works[index % len(works)]
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings(action="ignore"):
        folder = Path(name)
        write(folder / "saved", work.saved)
        write(folder / "scratch", work.cached)
        is_forged = spoil(folder, rng)
        results: list[bytes] = []

        def go_on() -> None:
            with (
                patch.object(checkpoint, "BATCHES_BETWEEN_SAVES", 2),
                patch.object(os, "fsync", lambda file: None),
            ):
                results.append(work.go_on(folder))

        naming = "" if is_forged else "checkpoint"
        outcome = attempt(go_on, ValueError, TypeError, naming=naming)
        if results and not is_forged:
            assert results[0] == work.whole, "the folder was damaged, and the model is another one"
    return outcome


@cache
def interrupted_works() -> list[Interrupted]:
    """Work of some classifiers, on labels and on numbers, with and without a cache."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 120)
    labels = {f"f{i}": np.array(list("abcd"))[(y + rng.integers(0, 3, 120)) % 4] for i in range(3)}
    numbers = {f"f{i}": y + rng.normal(size=120).round(1) for i in range(2)}
    works = []
    for model, columns, cache_use in (
        (SelectiveKDBClassifier(1), labels, "off"),
        (KDBClassifier(1), labels, "on"),
        (AODEClassifier(), numbers, "on"),
        (ESKDBClassifier(2, random_state=0), {**labels, **numbers}, "off"),
    ):
        frame = pd.DataFrame({**columns, "label": np.array(["no", "yes"])[y]})
        options = {"batch_rows": 17, "cache": cache_use}
        works.append(interrupt(model, frame, options))
    return works


prepare = interrupted_works
"""What is done once, before the first input."""


def interrupt(model: Any, source: Any, options: dict[str, Any]) -> Interrupted:
    """Learn until some tables have been counted, and keep the files."""
    original, calls = CountPass.map, []

    def map_or_raise(self: Any, batch: Any) -> Any:
        calls.append(batch)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return original(self, batch)

    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings(action="ignore"):
        folder = Path(name)
        work = Interrupted(model, source, options, {}, {}, b"")
        whole = work.go_on(folder)
        with (
            patch.object(checkpoint, "BATCHES_BETWEEN_SAVES", 2),
            patch.object(CountPass, "map", map_or_raise),
            patch.object(CodedCache, "close", lambda self: None),
            suppress(KeyboardInterrupt),
        ):
            work.go_on(folder)
        saved, cached = read(folder / "saved"), read(folder / "scratch")
    assert len(saved) > 1
    return Interrupted(model, source, options, saved, cached, whole)


def read(folder: Path) -> Files:
    """The content of all files in a folder and the folders in it."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(files)}


def write(folder: Path, files: Files) -> None:
    """Make a folder with files that only the owner may use."""
    folder.mkdir(mode=0o700)
    for name, content in files.items():
        (folder / name).parent.mkdir(mode=0o700, exist_ok=True)
        (folder / name).write_bytes(content)
        (folder / name).chmod(0o600)


def spoil(folder: Path, rng: random.Random) -> bool:
    """Damage or forge up to three files; returns whether one was forged."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    is_forged = False
    for _ in range(rng.choice((1, 1, 2, 3))):
        path, other = rng.choice(paths), rng.choice(paths)
        content = path.read_bytes() if path.is_file() else b""
        way = rng.randrange(10)
        if path.is_symlink():
            continue
        if way < 4:
            path.write_bytes(damage(content, np.random.default_rng(rng.randrange(2**32))))
        elif way < 7 and content:
            path.write_bytes(forge(content, rng))
            is_forged = True
        elif way == 7:
            path.unlink(missing_ok=True)
            if rng.random() < 0.5:
                path.symlink_to(other)
        elif way == 8:
            path.write_bytes(other.read_bytes() if other.is_file() else b"")
        else:
            name = rng.choice(("x", "pass-7.safetensors", "000000000000000-7.rows", "x.part"))
            (path.parent / name).write_bytes(rng.choice((b"", content)))
    os.chmod(folder / "saved", 0o700)
    return is_forged


def forge(content: bytes, rng: random.Random) -> bytes:
    """Change an array or the structure of a container, and give it the checksum that fits."""
    try:
        header, arrays = container._unpack(content)
    except Exception:  # it has been damaged before
        return content
    name = rng.choice(sorted(arrays))
    if name == container._STRUCTURE:
        structure = json.loads(arrays[name].tobytes())
        text = json.dumps(change_json(structure, rng))
        arrays[name] = np.frombuffer(text.encode(), dtype=np.uint8)
    else:
        changed = Mutator(rng, lambda value: [], lambda value, change: None).change(arrays[name])
        if isinstance(changed, np.ndarray) and changed.dtype.str in STORED_TYPES:
            # An array of another type is refused by its name.
            kept = arrays[name].dtype if rng.random() < 0.9 else changed.dtype
            with np.errstate(all="ignore"):
                arrays[name] = np.array(changed.ravel(), dtype=kept)
    return container._pack(header, arrays)


def change_json(value: Any, rng: random.Random) -> Any:
    """Replace one of the values inside a value."""
    if isinstance(value, dict) and value and rng.random() < 0.97:
        key = rng.choice(sorted(value))
        return {**value, key: change_json(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.97:
        place = rng.randrange(len(value))
        return [*value[:place], change_json(value[place], rng), *value[place + 1 :]]
    if isinstance(value, int) and rng.random() < 0.5:
        return rng.choice(INTS)
    plain = [other for other in OTHERS if isinstance(other, int | float | str | list | None)]
    others = [{"array": ["f8", [1]]}, {"shared": 0}, {"tuple": []}, {"dict": []}]
    return rng.choice([*plain, "0", "1", *others])
