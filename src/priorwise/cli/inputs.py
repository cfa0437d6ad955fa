"""The tables and models that commands read."""

from __future__ import annotations

import importlib.util
import shutil
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from priorwise import load
from priorwise.cli.output import STANDARD, print_note
from priorwise.common.validation import name_near
from priorwise.data import open_source
from priorwise.data.tables.column_kinds import read_labels
from priorwise.datasets import read_table
from priorwise.datasets.files import find_ending

_MAGIC = {
    b"PAR1": ".parquet",
    b"ARRO": ".arrow",
    b"\x1f\x8b": ".csv.gz",
    b"@": ".arff",
    b"%": ".arff",
}
"""First bytes of formats; standard input that begins otherwise is CSV."""


@dataclass(frozen=True)
class LabelledRows:
    """Rows to learn from or to score on."""

    X: Any
    y: NDArray[Any]
    weight: NDArray[np.float64] | None
    target: str

    @property
    def n_rows(self) -> int:
        return len(self.y)

    @property
    def names(self) -> list[str]:
        return nw.from_native(self.X, eager_only=True).columns

    @property
    def weights(self) -> dict[str, Any]:
        """What `fit` is given besides X and y."""
        return {} if self.weight is None else {"sample_weight": self.weight}

    def take(self, rows: NDArray[np.intp]) -> LabelledRows:
        """Return some of the rows."""
        X = nw.from_native(self.X, eager_only=True)[rows].to_native()
        weight = None if self.weight is None else self.weight[rows]
        return LabelledRows(X, self.y[rows], weight, self.target)


@contextmanager
def local_files(paths: Sequence[str]) -> Iterator[list[str]]:
    """Give paths of files, of which - is what standard input holds, in a file that is removed."""
    if STANDARD not in paths:
        yield list(paths)
        return
    if paths.count(STANDARD) > 1:
        raise ValueError("standard input (-) can be read once, but is named twice")
    with tempfile.TemporaryDirectory(prefix="priorwise-") as folder:
        if sys.stdin is None:
            raise ValueError("standard input is closed")
        start = sys.stdin.buffer.read(4)
        ending = next((end for magic, end in _MAGIC.items() if start.startswith(magic)), ".csv")
        path = Path(folder) / f"standard-input{ending}"
        with open(path, "wb") as file:
            file.write(start)
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield [str(path) if given == STANDARD else given for given in paths]


def load_model(options: Namespace) -> Any:
    """Read a fitted classifier from a file; it has ``--jobs`` threads."""
    with local_files([options.model]) as (path,):
        model = load(path)
    if not (hasattr(model, "predict_proba") and hasattr(model, "encoder_")):
        kind = type(model).__name__
        raise ValueError(f"{options.model}: the file must hold a fitted classifier, got {kind}")
    if hasattr(options, "jobs"):
        model.set_params(n_jobs=options.jobs)
    return model


def read_frame(paths: Sequence[str]) -> Any:
    """Read tables of the same columns into one frame in memory.

    Arrow reads CSV where it is installed: unlike pandas it refuses rows of too few fields, and
    `predict_dataset` uses it too.
    """
    kind = "pyarrow" if importlib.util.find_spec("pyarrow") else "auto"
    if len(paths) == 1 and not Path(paths[0]).is_dir() and find_ending(Path(paths[0])):
        if not Path(paths[0]).exists():
            raise FileNotFoundError(f"{paths[0]}: there is no such file")
        frame = read_table(paths[0], kind=kind)
    else:
        batches = open_source(list(paths), target=None).read()
        frame = nw.concat([nw.from_native(batch.X, eager_only=True) for batch in batches])
    frame = nw.from_native(frame, eager_only=True)
    if len(frame) == 0:
        raise ValueError(f"{', '.join(paths)}: there are no rows")
    return frame.to_native()


def label_rows(
    native: Any,
    target: str,
    *,
    features: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    weights: str | None = None,
) -> LabelledRows:
    """Part a frame into features, classes and weights.

    Rows without a class are left out, with a note.
    """
    frame = nw.from_native(native, eager_only=True)
    names = frame.columns
    target = find_target(names, target)
    for option, given in (("--features", features or ()), ("--drop", drop)):
        for name in given:
            check_column(name, names, option)
    if features is not None and target in features:
        raise ValueError(f"--features must not name the target {target!r}")
    y, missing = read_labels(native, target)
    if missing.any():
        print_note(f"{int(missing.sum())} of {len(frame)} rows have no {target!r} and are left out")
        frame = frame[np.flatnonzero(~missing)]
        # Whole numbers beside missing ones are read as floats: once more without these.
        y, _ = read_labels(frame.to_native(), target)
    if len(y) == 0:
        raise ValueError(f"--target {target!r} has no known values")
    weight = None
    if weights is not None:
        check_column(weights, names, "--weights")
        if not frame[weights].dtype.is_numeric():
            raise ValueError(f"--weights must name a column of numbers, got {weights!r}")
        weight = frame[weights].to_numpy().astype(np.float64)
    left_out = {target, weights, *drop}
    chosen = [name for name in features or names if name not in left_out]
    if not chosen:
        raise ValueError("no column is left to learn from")
    return LabelledRows(frame.select(chosen).to_native(), np.asarray(y), weight, target)


def find_target(names: Sequence[str], target: str) -> str:
    """Return the name of a column that is given by name or by position."""
    if target not in names and target.lstrip("-").isdecimal():
        if not -len(names) <= int(target) < len(names):
            raise ValueError(f"--target must be a position of {len(names)} columns, got {target}")
        return names[int(target)]
    check_column(target, names, "--target")
    return target


def check_column(name: str, names: Sequence[str], option: str) -> None:
    """Raise unless a name is that of a column."""
    if name not in names:
        shown = ", ".join(map(repr, names[:12])) + (", ..." if len(names) > 12 else "")
        near = name_near(name, names)
        raise ValueError(f"{option} must be one of the columns {shown}, got {name!r}{near}")


def select_features(model: Any, native: Any) -> Any:
    """Return the columns that a model was learnt from."""
    frame = nw.from_native(native, eager_only=True)
    names = [str(name) for name in getattr(model, "feature_names_in_", frame.columns)]
    for name in names:
        if name not in frame.columns:
            near = name_near(name, frame.columns)
            raise ValueError(f"the data must have the column {name!r} of the model{near}")
    return frame.select(names).to_native()


def read_for_model(options: Namespace, model: Any, paths: Sequence[str]) -> LabelledRows:
    """Read rows with classes for a model, which knows its target if `priorwise fit` learnt it."""
    target = options.target or getattr(model, "target_name_", None)
    if target is None:
        raise ValueError("--target must name the column of the classes, which the model does not")
    frame = read_frame(paths)
    weights = getattr(options, "weights", None)
    rows = label_rows(frame, target, weights=weights)
    return replace(rows, X=select_features(model, rows.X))
