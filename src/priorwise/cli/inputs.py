"""The tables and models that commands read, from files and from arguments."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
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
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from priorwise import load
from priorwise.cli.output import STANDARD, print_note
from priorwise.common.texts import SCORE_NAMES, say_missing
from priorwise.common.validation import name_near
from priorwise.data.columns import MISSING_MARKS
from priorwise.data.encoding.frame_encoder import FrameEncoder
from priorwise.data.sources.file_list import open_files
from priorwise.data.sources.part import FilePart, find_duplicate
from priorwise.data.sources.text_dialect import FileOptions
from priorwise.data.tables.column_kinds import read_labels
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
        return nw.new_series("number from 1", np.arange(1, len(frame) + 1), backend=space)
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
    marks = options.missing_values
    return {
        "categorical_features": options.categorical,
        "numeric_features": options.numeric,
        "ordinal_features": orders or None,
        "missing_values": None if marks is None else [*MISSING_MARKS, *marks],
        "min_rows_per_label": getattr(options, "min_rows_per_label", None),
    }


def check_columns(options: Namespace, names: Sequence[str]) -> None:
    """Raise unless the options of reading name columns."""
    for option in ("categorical", "numeric", "ordinal"):
        for text in getattr(options, option) or ():
            check_column(
                text.partition("=")[0] if option == "ordinal" else text, names, f"--{option}"
            )


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
    weights = getattr(options, "weights", None)
    rows = label_rows(frame, target, weights=weights, key=getattr(options, "key", None))
    return replace(rows, X=select_features(model, rows.X))


_OWN_MODULES = ("priorwise", "priorwise.smoothing", "priorwise.data")
_SKLEARN_MODULES = (
    *("naive_bayes", "ensemble", "linear_model", "tree", "neighbors", "neural_network", "svm"),
    *("discriminant_analysis", "gaussian_process", "dummy", "calibration"),
)
# Trees split an ordered code well; everything else reads an order into it that is not there.
_ORDINAL = frozenset(
    {
        *("DecisionTreeClassifier", "ExtraTreeClassifier", "RandomForestClassifier"),
        *("ExtraTreesClassifier", "GradientBoostingClassifier", "HistGradientBoostingClassifier"),
    }
)
# These compare the sizes of features with each other.
_SCALED = frozenset(
    {
        *("LogisticRegression", "LogisticRegressionCV", "SGDClassifier", "MLPClassifier"),
        *("SVC", "NuSVC", "KNeighborsClassifier", "GaussianProcessClassifier"),
    }
)


def parse_model(text: str) -> tuple[str, Any]:
    """Name and classifier of a model written as ``[name=][sklearn:]Class[(option=value, ...)]``.

    The first options may be given without names where the class takes them so:
    ``PriorwiseClassifier("fast")``.

    ``Class`` is one of priorwise's, or after "sklearn:" one of scikit-learn's classifiers, which
    is put behind an encoder of nominal columns: one-hot, or ordinal for trees; the extra option
    ``encoding="one-hot"`` or ``"ordinal"`` overrides that. Values are Python literals, or for
    priorwise nested calls such as ``smoothing=HDP(n_iter=200)``. Without a name the text is it.

    >>> name, model = parse_model("forest=sklearn:RandomForestClassifier(n_estimators=10)")
    >>> name, model.steps[-1][1].n_estimators
    ('forest', 10)
    """
    name, body = _split_name(text)
    from_sklearn = body.startswith("sklearn:")
    call = _parse_call(body.removeprefix("sklearn:"), text)
    if from_sklearn:
        return name, _build_sklearn(call, text)
    return name, _build_own(call, text)


def _split_name(text: str) -> tuple[str, str]:
    head, equals, tail = text.partition("=")
    if equals and "(" not in head:
        if not head.strip() or not tail.strip():
            raise ValueError(f"a model is written name=Class(...), got {text!r}")
        return head.strip(), tail.strip()
    return text.strip(), text.strip()


def _parse_call(body: str, text: str) -> ast.Call:
    try:
        node = ast.parse(body if body.endswith(")") else body + "()", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        node = None
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise ValueError(f"a model is written Class(option=value, ...), got {text!r}")
    return node


def _build_own(call: ast.Call, text: str) -> Any:
    cls = _find_class(call.func.id, _OWN_MODULES, "priorwise")  # type: ignore[attr-defined]
    options = _options(call, cls, text)
    return _construct(cls, {key: _value(node, text) for key, node in options}, text)


def _value(node: ast.expr, text: str) -> Any:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _build_own(node, text)
    return _literal(node, text)


def _build_sklearn(call: ast.Call, text: str) -> Any:
    class_name = call.func.id  # type: ignore[attr-defined]
    modules = tuple(f"sklearn.{module}" for module in _SKLEARN_MODULES)
    cls = _find_class(class_name, modules, "scikit-learn")
    options = {key: _literal(node, text) for key, node in _options(call, cls, text)}
    encoding = options.pop("encoding", "ordinal" if class_name in _ORDINAL else "one-hot")
    steps: list[Any] = [FrameEncoder(nominal=encoding)]
    if class_name in _SCALED:
        steps.append(StandardScaler())
    return make_pipeline(*steps, _construct(cls, options, text))


def _find_class(name: str, modules: tuple[str, ...], library: str) -> Any:
    for module in modules:
        found = (
            None if name.startswith("_") else getattr(importlib.import_module(module), name, None)
        )
        if isinstance(found, type) and issubclass(found, BaseEstimator):
            return found
    raise ValueError(f"{library} has no class {name!r}")


def _options(call: ast.Call, cls: Any, text: str) -> list[tuple[str, ast.expr]]:
    named = [(keyword.arg, keyword.value) for keyword in call.keywords]
    if any(key is None for key, _ in named):
        raise ValueError(f"options are written option=value, got {text!r}")
    parameters = inspect.signature(cls).parameters.values()
    first = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD][: len(call.args)]
    pairs = [*zip(first, call.args, strict=False), *((key, node) for key, node in named if key)]
    if len(first) < len(call.args):
        raise ValueError(f"{cls.__name__} takes {len(first)} options without names, in {text!r}")
    twice = find_duplicate([key for key, _ in pairs])
    if twice is not None:
        raise ValueError(f"{cls.__name__} is given {twice!r} twice, in {text!r}")
    return pairs


def _literal(node: ast.expr, text: str) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        raise ValueError(f"an option's value must be a literal, in {text!r}") from None


def _construct(cls: Any, options: dict[str, Any], text: str) -> Any:
    known = cls().get_params(deep=False) if not options else cls._get_param_names()
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise ValueError(f"{cls.__name__} has no option {unknown[0]!r}, in {text!r}")
    return cls(**options)
