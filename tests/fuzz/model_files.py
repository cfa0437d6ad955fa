"""Fuzz target: damaged and forged model files.

A file is refused by a ValueError that names it, or gives a model that predicts: finite
probabilities that sum to one. A forged file has the right checksum, so that the checks of what is
inside are reached. Loading runs no code, and takes at most twice the size of the file and
`FREE_BYTES`.
"""

from __future__ import annotations

import json
import random
import resource
import sys
import tempfile
import warnings
import zlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

import priorwise
from fuzz.mutate import INTS
from fuzz.outcomes import ACCEPTED, attempt
from fuzz.readers import damage
from priorwise import data, smoothing
from priorwise.common import container
from priorwise.data import FrameEncoder

FREE_BYTES = 100 << 20
FORBIDDEN = ("exec", "compile", "os.system", "subprocess.Popen", "pickle.find_class", "socket.")
"""Beginnings of the names of audit events that must not occur when a file is read."""
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-300, 1e300, -1e300, np.nan, np.inf, -np.inf)
WORDS = ("", "x", "f8", "i4", "u1", "hdp", "auto", "error", "value", "impute", "__class__")
OBJECTS: tuple[Any, ...] = (
    None, True, {"float": "nan"}, {"float": "inf"}, {"array": ["f8", [1]]}, {"array": ["u1", [0]]},
    {"tuple": []}, {"dict": []}, {"shared": 0}, {"shared": 3}, {"objects": [[1], ["x"]]}, [], {},
    {"state": ["MLE", {"dict": [["parameters", {"dict": []}], ["fitted", {"dict": []}]]}]},
    {"state": ["os", "system"]},
    {"frozenset": []},
)  # fmt: skip

Arrays = dict[str, NDArray[Any]]
_watching = False


@cache
def model_files() -> list[bytes]:
    """Files of small models, one of each public estimator."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 40)
    X = pd.DataFrame(
        {
            "colour": np.array(["red", "blue", "green", None], dtype=object)[(y + (y > 1)) % 4],
            "size": np.where(rng.random(40) < 0.1, np.nan, y + rng.normal(size=40).round(1)),
            "shape": np.array(["flat", "round"])[(y + rng.integers(0, 2, 40)) % 2],
            "age": rng.integers(20, 60, 40),
        }
    )
    forest = priorwise.ProbabilityForestClassifier(3, splitter="random", random_state=0)
    classifiers = [
        priorwise.NaiveBayesClassifier(missing="impute"),
        priorwise.TANClassifier(keep_counts=False),
        priorwise.KDBClassifier(1, smoothing="mle"),
        priorwise.SelectiveKDBClassifier(1),
        priorwise.SuperParentClassifier(smoothing=smoothing.MEstimate(2.0)),
        priorwise.AODEClassifier(),
        priorwise.KDFClassifier(1, discretizer=data.EqualWidthDiscretizer(3)),
        priorwise.ESKDBClassifier(2, max_parents=1, random_state=0),
        priorwise.ProbabilityTreeClassifier("m-branch", soft_thresholds=0.2, random_state=0),
        priorwise.ProbabilityForestClassifier(2, random_state=0),
        forest,
        priorwise.SplineLogisticClassifier(random_state=0),
        priorwise.BoostingClassifier(3, max_depth=2, random_state=0),
        priorwise.GaussianNetworkClassifier(random_state=0),
        priorwise.KernelLogisticClassifier(5, random_state=0),
        priorwise.LogLinearPool([("a", priorwise.NaiveBayesClassifier()), ("b", forest)]),
        priorwise.PriorwiseClassifier(
            estimators=[("a", forest), ("b", priorwise.SplineLogisticClassifier())], random_state=0
        ),
    ]
    others = [
        priorwise.ConditionalTable().fit(X, target="shape", given=["colour", "age"]),
        priorwise.ConditionalTable("m-branch").fit(X, target="age", given=["shape", "colour"]),
        priorwise.BayesianNetwork([("colour", "shape"), ("age", "shape")]).fit(X),
        data.MDLPDiscretizer().fit(X[["size", "age"]], y),
        data.FrameEncoder().fit(X),
        smoothing.HDP(),
        priorwise.ESKDBClassifier(),
    ]
    names = np.array(["no", "perhaps", "yes"])[y]
    with warnings.catch_warnings(action="ignore"):
        fitted = [*(model.fit(X, names) for model in classifiers), *others]
        fitted.append(priorwise.NaiveBayesClassifier().fit(X[["age"]].to_numpy(), y))
        many = np.arange(300) % 120
        fitted.append(clone(forest).fit(many[:, None] + rng.normal(size=(300, 1)), many))
        path = Path(folder().name) / "x.model"
        files = []
        for model in fitted:
            model.save(path)
            files.append(path.read_bytes())
        fitted[0].save(path, compress=True)
        files.append(path.read_bytes())
        for content in files:
            path.write_bytes(content)
            predict(priorwise.load(path))
    return files


@cache
def folder() -> tempfile.TemporaryDirectory[str]:
    """The folder of the process, which is removed at its end."""
    return tempfile.TemporaryDirectory()


@cache
def zeros(size: int) -> NDArray[np.uint8]:
    """Compressed zeros."""
    return np.frombuffer(zlib.compress(bytes(size)), dtype=np.uint8)


def prepare() -> None:
    """Make the files, and watch what happens when others are read."""
    model_files()
    sys.addaudithook(_refuse_event)


def _refuse_event(event: str, arguments: Any) -> None:
    if _watching and event.startswith(FORBIDDEN):
        raise AssertionError(f"a model file led to {event} {arguments!r:.200}")


def case(seed: int, index: int) -> str:
    """Load one file and predict, and return "accepted" or the name of the exception."""
    global _watching
    rng = random.Random(f"{seed} {index}")
    files = model_files()
    content = spoil(rng.choice(files), rng.choice(files), rng)
    models: list[Any] = []
    with warnings.catch_warnings(action="ignore"):
        path = Path(folder().name) / "x.model"
        path.unlink(missing_ok=True)
        path.write_bytes(content)
        before = forget_peak()
        _watching = True
        try:
            outcome = attempt(
                lambda: models.append(priorwise.load(path)), ValueError, naming=str(path)
            )
        finally:
            _watching = False
        grown = peak_bytes() - before
        assert grown < 2 * len(content) + FREE_BYTES, f"memory grew by {grown} bytes"
        if outcome == ACCEPTED:
            predict(models[0])
    return outcome


def forget_peak() -> int:
    """Return the bytes of memory in use, from which the peak rises anew where the system can."""
    reset = Path("/proc/self/clear_refs")
    if reset.exists():
        reset.write_text("5")
    return peak_bytes()


def peak_bytes() -> int:
    """Return the largest number of bytes of memory that this process has used."""
    status = Path("/proc/self/status")
    if not status.exists():
        return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return 1024 * int(status.read_text().split("VmHWM:", 1)[1].split(None, 1)[0])


def spoil(content: bytes, other: bytes, rng: random.Random) -> bytes:
    """Damage a file, or forge another with the right checksum."""
    way = rng.random()
    if way < 0.15:
        return damage(content, np.random.default_rng(rng.randrange(2**32)))
    if way < 0.2:
        return content[: rng.randrange(len(content) + 1)]
    header, arrays = container._unpack(content)
    if "packed" in header:
        return forge_compressed(header, arrays, rng)
    if way < 0.22:
        return forge_head(content, content, rng)
    if way < 0.23:
        return forge_head(content, other, rng)
    if way < 0.25:
        changed = {**header, rng.choice(sorted(header)): rng.choice([*INTS, *WORDS, None, []])}
        return seal(changed, arrays)
    if way < 0.3:
        stolen = container._unpack(other)[1]
        names = [name for name in stolen if rng.random() < 0.5]
        return seal(header, {**arrays, **{name: stolen[name] for name in names}})
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        name = rng.choice([container._STRUCTURE, *sorted(arrays)])
        if name == container._STRUCTURE:
            structure = json.loads(arrays[name].tobytes())
            text = json.dumps(change_json(structure, rng))
            arrays[name] = np.frombuffer(text.encode(), dtype=np.uint8)
        elif name in arrays:
            arrays[name] = change_array(arrays[name], rng)
    return seal(header, arrays)


def seal(header: dict[str, Any], arrays: Arrays) -> bytes:
    """Return a container with the checksum that fits."""
    return container._pack(header, arrays)


def forge_head(content: bytes, other: bytes, rng: random.Random) -> bytes:
    """Change what is said of an array, or exchange the arrays for those of another file."""
    head, data = split_head(content)
    if other is content:
        name = rng.choice(sorted(head.keys() - {"__metadata__"}))
        field = rng.choice(("dtype", "shape", "data_offsets"))
        head[name][field] = change_json(head[name][field], rng)
        if rng.random() < 0.3:  # a shape and a place that agree
            size = rng.choice((0, 1 << 20, 1 << 40, 1 << 62, 1 << 70))
            start = head[name]["data_offsets"][0] if field == "dtype" else 0
            head[name] |= {"shape": [size], "data_offsets": [start, start + size]}
    else:
        data = split_head(other)[1]
    stated = json.loads(head["__metadata__"]["priorwise"])["crc32"].encode()
    text = json.dumps(head).encode().replace(stated, container._NO_CHECKSUM, 1)
    text += b" " * (-len(text) % 8)
    forged = len(text).to_bytes(8, "little") + text + data
    return forged.replace(container._NO_CHECKSUM, b"%08x" % zlib.crc32(forged), 1)


def split_head(content: bytes) -> tuple[dict[str, Any], bytes]:
    """Return what a file says of its arrays, and the bytes of the arrays."""
    end = 8 + int.from_bytes(content[:8], "little")
    return json.loads(content[8:end]), content[end:]


def forge_compressed(header: dict[str, Any], arrays: Arrays, rng: random.Random) -> bytes:
    """Change the stated size or method, or what is compressed."""
    way = rng.randrange(4)
    if way == 0:
        header = {**header, "size": rng.choice([*INTS, header["size"] - 1, 1 << 40])}
    elif way == 1:
        header = {**header, "packed": rng.choice(["zlib", "zstd", "pickle", None])}
    elif way == 2:
        arrays = {"content": zeros(rng.choice((1 << 10, 1 << 20, 1 << 25)))}
        header = {**header, "size": rng.choice((1 << 10, 1 << 20, 1 << 25, 1 << 40))}
    else:
        arrays = {**arrays, "content": change_array(arrays["content"], rng)}
    return seal(header, arrays)


def change_array(array: NDArray[Any], rng: random.Random) -> NDArray[Any]:
    """Replace, remove, add or exchange some entries."""
    changed, size = np.array(array), len(array)
    way = rng.randrange(10)
    if way == 0:
        return changed[: rng.randrange(size + 1)]
    if way == 1:
        return np.append(changed, changed[: rng.randrange(size + 1)])
    for _ in range(rng.choice((1, 1, 2, 5)) if size else 0):
        at = rng.randrange(size)
        if way < 5 and array.dtype.kind == "f":
            with np.errstate(over="ignore"):
                changed[at] = rng.choice(FLOATS)
        elif way < 5:
            limits = [0, 1] if array.dtype.kind == "b" else np.iinfo(array.dtype)
            least, most = limits if isinstance(limits, list) else (limits.min, limits.max)
            near = min(max(int(changed[at]) + rng.choice((-1, 1)), least), most)
            changed[at] = rng.choice((least, most, near, near, near, near))
        elif way < 8:
            changed[at] = changed[rng.randrange(size)]
        elif array.dtype.kind != "b":
            bits = changed.view(np.uint8)
            bits[rng.randrange(len(bits))] ^= 1 << rng.randrange(8)
    return changed


def change_json(value: Any, rng: random.Random) -> Any:
    """Replace, remove, repeat or exchange one of the values inside a value."""
    if isinstance(value, dict) and value and rng.random() < 0.98:
        key = rng.choice(sorted(value))
        if rng.random() < 0.01:
            return {rng.choice(("array", "tuple", "dict", "state", "float", "text")): value[key]}
        return {key: change_json(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.95:
        at = rng.randrange(len(value))
        if rng.random() < 0.9:
            return [*value[:at], change_json(value[at], rng), *value[at + 1 :]]
        way, with_it = rng.randrange(3), rng.randrange(len(value))
        if way == 0:
            return value[:at] + value[at + 1 :]
        if way == 1:
            return [*value[: at + 1], *value[at:]]
        changed = list(value)
        changed[at], changed[with_it] = value[with_it], value[at]
        return changed
    if isinstance(value, int) and rng.random() < 0.7:
        return rng.choice((value + 1, value - 1, 0, *INTS))
    if isinstance(value, float) and rng.random() < 0.7:
        return rng.choice((-value, 2 * value, 1e300, 0.0))
    return rng.choice((*OBJECTS, *WORDS, *INTS))


def predict(model: Any) -> None:
    """Ask a model for the probabilities of some rows, seen and unseen."""
    if isinstance(model, priorwise.ConditionalTable) and hasattr(model, "count_tree_"):
        values = [[*one.labels, None][0] for one in model.categories_]
        frame = pd.DataFrame(
            {
                name: np.array([value, "unseen", None], dtype=object)
                for name, value in zip([*model.given_, "the target"], values, strict=True)
            }
        )
        assert_distributions(model.predict_proba(frame), len(frame), len(model.classes_))
        return
    if isinstance(model, priorwise.BayesianNetwork) and hasattr(model, "tables_"):
        model.log_prob(model.sample(3, random_state=0))
        return
    if not hasattr(model, "encoder_"):
        return
    encoder = model.encoder_
    labels = iter(encoder.categories_)
    columns = []
    for nominal in encoder.is_nominal_.tolist():
        own = next(labels).labels if nominal else [0.5]
        column = np.empty(4, dtype=object if nominal else float)
        column[:] = [*own[:1], *own[-1:], *(["unseen", None] if nominal else [np.nan, 1e300])][-4:]
        columns.append(column)
    n_rows = 2 if encoder.unseen == "error" else 4
    frame = pd.DataFrame(dict(enumerate(columns))).iloc[:n_rows]
    names = getattr(encoder, "feature_names_in_", None)
    if names is not None:
        frame.columns = names
    rows = frame if names is not None else frame.to_numpy(dtype=float)
    if isinstance(model, FrameEncoder):
        assert len(model.transform(rows)) == n_rows
        return
    assert_distributions(model.predict_proba(rows), n_rows, len(model.classes_))


def assert_distributions(proba: NDArray[np.float64], n_rows: int, n_classes: int) -> None:
    """Raise an AssertionError unless rows are finite, not negative and sum to one."""
    assert proba.shape == (n_rows, n_classes)
    assert np.isfinite(proba).all(), proba
    assert (proba >= 0.0).all(), proba
    assert np.allclose(proba.sum(axis=1), 1.0, rtol=0.0, atol=1e-3), proba.sum(axis=1)
