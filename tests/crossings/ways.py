"""Ways out of a model: each returns the probabilities of the fresh rows that this way gives."""

from __future__ import annotations

import copy
import io
import json
import shutil
import subprocess
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone

import priorwise
from browser import list_errors, open_page
from crossings.cells import Learnt
from export.c_program import run_c
from export.cases import list_rows, takes_text
from export.sql.databases import run_sql
from priorwise.cli import main
from priorwise.export import export_json, export_onnx, export_sql, javascript_evaluator
from priorwise.report.svg import show_interval

TARGET = "the class"


@dataclass(frozen=True)
class Place:
    """Where a way out may write files, and the fixtures that it may start."""

    folder: Path
    request: pytest.FixtureRequest


Way = Callable[[Learnt, Place], np.ndarray]


def list_texts(values: pd.Series) -> pd.Series:
    return pd.Series([None if pd.isna(v) else str(v) for v in values], dtype=object)


def as_plain(learnt: Learnt) -> pd.DataFrame:
    """The fresh rows with labels as texts, numbers and, in seconds, dates as doubles."""
    columns = {}
    for name, is_text in zip(learnt.fresh, takes_text(learnt.model), strict=True):
        values = learnt.fresh[name]
        if is_text:
            columns[name] = list_texts(values)
        elif values.dtype == object and name in ("when", "the column"):
            seconds = pd.to_datetime(values, dayfirst="." in str(values.iloc[0])) - pd.Timestamp(0)
            columns[name] = seconds / pd.Timedelta(seconds=1)
        elif values.dtype.kind == "M":
            columns[name] = (values - pd.Timestamp(0)) / pd.Timedelta(seconds=1)
        else:
            columns[name] = values.astype(np.float64)
    return pd.DataFrame(columns)


def predict(learnt: Learnt, place: Place) -> np.ndarray:
    labels = learnt.model.classes_[learnt.proba.argmax(axis=1)]
    assert learnt.model.predict(learnt.fresh).tolist() == labels.tolist()
    return np.exp(learnt.model.predict_log_proba(learnt.fresh))


def one_row(learnt: Learnt, place: Place) -> np.ndarray:
    rows = [learnt.fresh.iloc[[i]] for i in range(len(learnt.fresh))]
    return np.concatenate([learnt.model.predict_proba(row) for row in rows])


def save_and_load(learnt: Learnt, place: Place) -> np.ndarray:
    learnt.model.save(place.folder / "model.priorwise")
    return priorwise.load(place.folder / "model.priorwise").predict_proba(learnt.fresh)


def c_file(learnt: Learnt, place: Place) -> np.ndarray:
    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler (cc)")
    return run_c([learnt.model], place.folder, as_plain(learnt), options=("-O0", "-std=gnu17"))[0]


NODE = """
const fs = require("fs"), priorwise = require("./evaluator.js");
const read = (name) => JSON.parse(fs.readFileSync(name, "utf-8"));
const model = priorwise.load(read("model.json"));
console.log(JSON.stringify(read("rows.json").map((row) => model.predictProba(row))));
"""


def javascript(learnt: Learnt, place: Place) -> np.ndarray:
    if shutil.which("node") is None:
        pytest.skip("needs Node (node)")
    export_json(learnt.model, place.folder / "model.json")
    (place.folder / "evaluator.js").write_text(javascript_evaluator(), encoding="utf-8")
    (place.folder / "rows.json").write_text(json.dumps(list_rows(as_plain(learnt))))
    (place.folder / "main.js").write_text(NODE)
    ran = subprocess.run(["node", "main.js"], cwd=place.folder, capture_output=True, check=True)
    return np.array(json.loads(ran.stdout))


def sql(dialect: str) -> Way:
    """The query for a database, which has dates of its own but for SQLite."""

    def run(learnt: Learnt, place: Place) -> np.ndarray:
        rows, types = as_plain(learnt), {}
        for name, values in learnt.fresh.items():
            if values.dtype.kind == "M":
                rows[name] = list_texts(values) if dialect == "sqlite" else values
                types[name] = "timestamp"
        query = export_sql(learnt.model, dialect=dialect)
        return np.array(run_sql(dialect, query, rows, place.request, types), dtype=float)

    return run


def onnx(learnt: Learnt, place: Place) -> np.ndarray:
    runtime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")
    content = export_onnx(learnt.model).SerializeToString()
    session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
    feed = {}
    for name, values in as_plain(learnt).items():
        if values.dtype == object:
            # Spaces around a text are not left out, and an empty text is missing.
            texts = ["" if text is None else text.strip() for text in values]
            feed[name] = np.array(texts, dtype=object)[:, None]
        else:
            feed[name] = values.to_numpy(dtype=np.float64)[:, None]
    return session.run(None, feed)[1]


READ_ROWS = """
const field = document.querySelector("#row-tools input"), result = [];
for (let row = 1; row <= arguments[0]; ++row) {
  field.value = row;
  field.dispatchEvent(new Event("change"));
  const bars = [...document.querySelectorAll("#bars .bar")];
  result.push(bars.map((bar) => Number(bar.dataset.probability)));
}
return result;
"""


def explorer(learnt: Learnt, place: Place) -> np.ndarray:
    driver = place.request.getfixturevalue("driver")
    learnt.model.explorer(place.folder / "page.html", learnt.fresh, learnt.fresh_y)
    open_page(driver, place.folder / "page.html")
    found = driver.execute_script(READ_ROWS, len(learnt.fresh))
    assert list_errors(driver) == []
    return np.array(found)


def report(learnt: Learnt, place: Place) -> np.ndarray:
    """The report of the fresh rows: the log-loss that it prints is that of the probabilities."""
    # scikit-learn is called many times for the bands of reliability diagrams.
    with config_context(skip_parameter_validation=True):
        learnt.model.report(learnt.fresh, learnt.fresh_y, place.folder / "report.html")
    text = (place.folder / "report.html").read_text(encoding="utf-8")
    own = learnt.proba[
        np.arange(len(learnt.fresh)),
        [learnt.model.classes_.tolist().index(label) for label in learnt.fresh_y.tolist()],
    ]
    losses = -np.log(own)
    assert show_interval(losses.mean(), 1.96 * losses.std() / np.sqrt(len(losses))) in text
    for name in learnt.names:
        assert escape(name[:20]) in text
    return learnt.proba


def explain(learnt: Learnt, place: Place) -> np.ndarray:
    return learnt.model.explain(learnt.fresh).probabilities


def intervals(learnt: Learnt, place: Place) -> np.ndarray:
    """The probabilities, moved into their intervals."""
    lower, upper = learnt.model.predict_interval(learnt.fresh)
    assert ((lower >= 0.0) & (upper <= 1.0)).all()
    return np.clip(learnt.proba, lower, upper)


def prediction_sets(learnt: Learnt, place: Place) -> np.ndarray:
    """The probabilities of classes in the order in which sets take them: the largest first."""
    model = copy.deepcopy(learnt.model)
    if not hasattr(model, "set_scores_"):
        model.calibrate_sets(learnt.X, learnt.y, learnt.weight)
    for alpha in (0.1, 0.5):
        chosen = model.prediction_set(learnt.fresh, alpha)
        least = np.where(chosen, learnt.proba, 1.0).min(axis=1, keepdims=True)
        assert not ((learnt.proba > least + 1e-9) & ~chosen & chosen.any(axis=1)[:, None]).any()
    assert chosen.any()
    return model.predict_proba(learnt.fresh)


def fit_dataset(learnt: Learnt, place: Place) -> np.ndarray:
    rows = learnt.X.assign(**{TARGET: learnt.y})
    model = clone(learnt.unfitted).fit_dataset(rows, TARGET, batch_rows=1000)
    return model.predict_proba(learnt.fresh)


def dask(learnt: Learnt, place: Place) -> np.ndarray:
    frames = pytest.importorskip("dask.dataframe", reason="needs dask")
    rows = frames.from_pandas(learnt.X.assign(**{TARGET: learnt.y}), npartitions=2)
    return clone(learnt.unfitted).fit_dataset(rows, TARGET).predict_proba(learnt.fresh)


def write_model(model: Any) -> str:
    """A classifier as the command line takes it: ``Class(parameter=value, ...)``."""
    default = type(model)().get_params(deep=False)
    changed = {
        name: value
        for name, value in model.get_params(deep=False).items()
        if name != "categorical_features" and repr(value) != repr(default[name])
    }
    return f"{type(model).__name__}({', '.join(f'{k}={v!r}' for k, v in changed.items())})"


def run_command(*arguments: Any) -> None:
    with redirect_stderr(io.StringIO()) as errors, redirect_stdout(io.StringIO()):
        code = main([*map(str, arguments), "--quiet"])
    if code != 0:
        raise ValueError(errors.getvalue())


def command_line(learnt: Learnt, place: Place) -> np.ndarray:
    """Learn from a file of Parquet, which keeps the types of columns, and predict one of CSV."""
    options: list[Any] = ["--target", TARGET, "--model", write_model(learnt.unfitted)]
    rows = learnt.X.assign(**{TARGET: learnt.y})
    # Parquet has no categories that are numbers.
    is_code = learnt.X[learnt.names[0]].dtype == pd.CategoricalDtype([10115, 20095, 80331])
    if is_code or isinstance(learnt.unfitted.categorical_features, list):
        options += ["--categorical", *learnt.names]
    if learnt.weight is not None:
        rows["weight of the row"] = learnt.weight
        options += ["--weights", "weight of the row"]
    train, fresh, model, answers = (
        place.folder / name for name in ("train.parquet", "fresh.csv", "m.priorwise", "out.csv")
    )
    rows.to_parquet(train)
    learnt.fresh.to_csv(fresh, index=False)
    run_command("fit", train, "-o", model, *options)
    run_command("predict", model, fresh, "-o", answers)
    names = [f"p({label})" for label in learnt.model.classes_]
    return pd.read_csv(answers)[names].to_numpy()


def merge(learnt: Learnt, place: Place) -> np.ndarray:
    """Add other rows by a model of them, and take them away again."""
    both = copy.deepcopy(learnt.model).partial_fit(learnt.fresh, learnt.fresh_y)
    others = copy.deepcopy(both).subtract(learnt.model)
    merged = copy.deepcopy(learnt.model).merge(others)
    np.testing.assert_allclose(
        merged.predict_proba(learnt.fresh), both.predict_proba(learnt.fresh), rtol=0, atol=1e-9
    )
    assert np.sum(merged.class_count_) > np.sum(learnt.model.class_count_)
    return merged.subtract(others).predict_proba(learnt.fresh)


WAYS: dict[str, Way] = {
    "predict": predict,
    "one row": one_row,
    "save": save_and_load,
    "C": c_file,
    "JavaScript": javascript,
    "SQLite": sql("sqlite"),
    "DuckDB": sql("duckdb"),
    "PostgreSQL": sql("postgres"),
    "ONNX": onnx,
    "explorer": explorer,
    "report": report,
    "explain": explain,
    "intervals": intervals,
    "sets": prediction_sets,
    "fit_dataset": fit_dataset,
    "Dask": dask,
    "command line": command_line,
    "merge": merge,
}
