"""The tables and models that commands read from files."""

from __future__ import annotations

import importlib
import importlib.util
import shutil
import sys
import tempfile
import warnings
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
from priorwise.common.texts import SCORE_NAMES, say_missing
from priorwise.common.validation import name_near
from priorwise.data.columns import MISSING_MARKS
from priorwise.data.sources.file_list import open_files
from priorwise.data.sources.part import FilePart
from priorwise.data.sources.text_dialect import FileOptions
from priorwise.data.tables.column_kinds import read_labels
from priorwise.data.tables.dates import FORMS
from priorwise.datasets.files import choose_kind, read_files


@dataclass(frozen=True)
class LabelledRows:
    """Rows to learn from or to score on."""

    X: Any
    y: NDArray[Any]
    weight: NDArray[np.float64] | None
    target: str
    keys: Any
    """What the rows are called, as a series: a column, or their places in the files from 1."""

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
        X = nw.from_native(self.X, eager_only=True)[rows].to_native()
        weight = None if self.weight is None else self.weight[rows]
        return LabelledRows(X, self.y[rows], weight, self.target, self.keys[rows])


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
        start = sys.stdin.buffer.read(1)
        # What else it may be is recognised when it is opened.
        ending = ".arff" if start in (b"@", b"%") else ".csv"
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


def list_reading(options: Namespace) -> dict[str, Any]:
    """Return how files are read, as `open_source` and `read_table` take it."""
    return {name: getattr(options, name) for name in ("separator", "decimal", "encoding", "sheet")}


def open_tables(options: Namespace, paths: Sequence[str], model: Any = None) -> list[FilePart]:
    """Open tables of the same columns, written as those of a model where they leave it open."""
    like = getattr(model, "decimal_mark_", None)
    return open_files(paths, FileOptions(**list_reading(options), like=like), MISSING_MARKS)


def read_frame(parts: Sequence[FilePart]) -> Any:
    """Read tables of the same columns into one frame in memory."""
    with warnings.catch_warnings():
        # Whatever learns from the table says this too, as an error or with what it does about it.
        warnings.filterwarnings("ignore", message=".* holds texts among numbers")
        return _read_frame(parts)


def _read_frame(parts: Sequence[FilePart]) -> Any:
    kind = "pyarrow" if importlib.util.find_spec("pyarrow") else "auto"
    frame = nw.from_native(read_files(parts, choose_kind(kind)), eager_only=True)
    if len(frame) == 0:
        raise ValueError(f"{', '.join(part.name for part in parts)}: there are no rows")
    return frame.to_native()


def label_rows(
    native: Any,
    target: str,
    *,
    features: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    weights: str | None = None,
    key: str | None = None,
) -> LabelledRows:
    """Part a frame into features, classes, weights and what rows are called.

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
    keys = name_rows(native, key)[np.flatnonzero(~missing)]
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
    return LabelledRows(frame.select(chosen).to_native(), np.asarray(y), weight, target, keys)


def name_rows(native: Any, key: str | None) -> Any:
    """Return what rows are called, as a series: a column, or their numbers from 1."""
    frame = nw.from_native(native, eager_only=True)
    if key is None:
        space = nw.get_native_namespace(frame)
        return nw.new_series("row, from 1", np.arange(1, len(frame) + 1), backend=space)
    check_column(key, frame.columns, "--key")
    return frame[key]


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


def read_columns(options: Namespace) -> dict[str, Any]:
    """Return the parameters of reading that the options set, None where an option is not given."""
    orders: dict[str, list[str]] = {}
    for text in options.ordinal or ():
        name, equals, values = text.partition("=")
        if not equals or not values.strip():
            raise ValueError(
                f"--ordinal must be written COLUMN=LOW,...,HIGH, such as size=small,large, "
                f"got {text!r}"
            )
        orders[name] = [value.strip() for value in values.split(",")]
    forms: dict[str, str] = {}
    for text in getattr(options, "dates", None) or ():
        name, equals, form = text.partition("=")
        if not equals or form not in FORMS:
            raise ValueError(
                f"--dates must be written COLUMN=FORM, with one of the forms {', '.join(FORMS)}, "
                f"got {text!r}"
            )
        forms[name] = form
    marks = options.missing_values
    return {
        "categorical_features": options.categorical,
        "numeric_features": options.numeric,
        "ordinal_features": orders or None,
        "date_features": forms or None,
        "text_features": getattr(options, "text", None),
        "missing_values": None if marks is None else [*MISSING_MARKS, *marks],
        "min_rows_per_label": getattr(options, "min_rows_per_label", None),
    }


def check_columns(options: Namespace, names: Sequence[str]) -> None:
    """Raise unless the options of reading name columns."""
    for option in ("categorical", "numeric", "ordinal", "dates", "text"):
        for text in getattr(options, option, None) or ():
            has_value = option in ("ordinal", "dates")
            check_column(text.partition("=")[0] if has_value else text, names, f"--{option}")


def select_features(model: Any, native: Any) -> Any:
    """Return the columns that a model was learnt from."""
    frame = nw.from_native(native, eager_only=True)
    names = [str(name) for name in getattr(model, "feature_names_in_", frame.columns)]
    missing = [name for name in names if name not in frame.columns]
    if missing:
        near = name_near(missing[0], frame.columns)
        raise ValueError(
            f"{say_missing(missing)} in the data, which must have the columns of the model{near}"
        )
    return frame.select(names).to_native()


def find_scores(names: Sequence[str], others: Sequence[str] = ()) -> list[str]:
    """Return scores given by their names in texts or in the library; `others` are known too."""
    known = {shown.lower(): score for score, shown in SCORE_NAMES.items()}
    known |= {score.lower(): score for score in (*SCORE_NAMES, *others)}
    for name in names:
        if name.lower() not in known:
            listed = ", ".join(map(repr, SCORE_NAMES.values()))
            near = name_near(name, list(SCORE_NAMES.values()))
            raise ValueError(f"--scores must be among {listed}, got {name!r}{near}")
    return [known[name.lower()] for name in names]


def read_for_model(options: Namespace, model: Any, paths: Sequence[str]) -> LabelledRows:
    """Read rows with classes for a model, which knows its target if `priorwise fit` learnt it."""
    target = options.target or getattr(model, "target_name_", None)
    if target is None:
        raise ValueError("--target must name the column of the classes, which the model does not")
    frame = read_frame(open_tables(options, paths, model))
    if options.target is None and target not in nw.from_native(frame, eager_only=True).columns:
        raise ValueError(
            f"the column {target!r} of the classes, which the model predicts, is missing in the "
            "data; --target names another"
        )
    weights = getattr(options, "weights", None)
    rows = label_rows(frame, target, weights=weights, key=getattr(options, "key", None))
    return replace(rows, X=select_features(model, rows.X))
