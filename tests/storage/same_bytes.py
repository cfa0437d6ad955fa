"""A program that fits classifiers and writes them in every way: `test_same_bytes` runs it twice."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import pickle
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import priorwise
from priorwise.export import export_c, export_json, export_onnx, export_sql


def make_table() -> tuple[pd.DataFrame, np.ndarray]:
    """Rows of all kinds of columns: labels, some rare, numbers, ranks, dates, booleans, texts."""
    rng, n = np.random.default_rng(0), 120
    yes = rng.random(n) < 0.4
    words = np.array(["late", "again", "broken", "well", "quick", "fine"])
    colour = rng.choice(["red", "blue", "green", "?", "none"], n)
    frame = pd.DataFrame(
        {
            "colour": np.where(yes & (rng.random(n) < 0.5), "red", colour).astype(object),
            "town": np.array([f"town {min(i, 9)}" for i in rng.geometric(0.3, n)], dtype=object),
            "size": np.where(rng.random(n) < 0.1, -9.0, yes + rng.normal(size=n)),
            "grade": pd.Categorical.from_codes(rng.integers(3, size=n), list("abc"), ordered=True),
            "open": rng.random(n) < 0.5,
            "when": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(900, size=n), "D"),
        }
    )
    frame["note"] = [
        f"{' '.join(rng.choice(words[:3] if late else words[3:], 4))} no {i}"
        for i, late in enumerate(yes)
    ]
    return frame, np.where(yes, "yes", "no")


MARKS = ["?", "none", "-", "n/a", "unknown", "NULL", True, -9, -99, 9999]
"""Marks of missing of a user's own."""


Way = Callable[[Any, Path], Any]


def list_ways(X: pd.DataFrame, y: np.ndarray) -> dict[str, Way]:
    """Ways out: each writes a file, or returns a text or bytes."""
    ways: dict[str, Way] = {
        "file": lambda model, path: model.save(path),
        "compressed file": lambda model, path: model.save(path, compress=True),
        "pickle": lambda model, path: pickle.dumps(model),
        "JSON": export_json,
        "C": export_c,
        "ONNX": export_onnx,
        "report": lambda model, path: model.report(X, y, path),
        "explorer": lambda model, path: model.explorer(path, X, y),
        "summary": lambda model, path: repr(model.summary()),
        "card": lambda model, path: model.card(),
        "box": lambda model, path: model._repr_mimebundle_()["text/html"],
        "schema": lambda model, path: repr(model.feature_schema_),
    }
    for dialect in ("duckdb", "postgres", "sqlite"):
        ways[dialect] = partial(export_sql, dialect=dialect)
    return ways


def write_all(folder: Path) -> dict[str, str]:
    """Return a digest of what each way makes of a flagship and of models for other columns."""
    X, y = make_table()
    no_texts = X.drop(columns="note")
    pool = priorwise.PriorwiseClassifier(
        "fast", missing_values=MARKS, min_rows_per_label=5, random_state=0
    )
    texts = priorwise.KDBClassifier(1, min_rows_per_label=3)
    spline = priorwise.SplineLogisticClassifier(missing_values=MARKS, random_state=0)
    has_onnx = importlib.util.find_spec("onnx") is not None
    digests = {}
    for name, model, table, chosen in (
        ("pool", pool, no_texts, list_ways(no_texts, y).keys() - {"ONNX"}),
        ("texts", texts, X, {"file", "JSON", "explorer"}),
        ("spline", spline, no_texts, {"ONNX"} if has_onnx else set()),
    ):
        with warnings.catch_warnings(action="ignore"):
            model.fit(table, y)
        for way, write in list_ways(table, y).items():
            if way in chosen:
                path = folder / f"{name} {way}"
                result = write(model, path)
                if not path.exists():
                    path.write_bytes(result if isinstance(result, bytes) else result.encode())
                digests[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return digests


if __name__ == "__main__":
    print(json.dumps(write_all(Path(sys.argv[1]))))
