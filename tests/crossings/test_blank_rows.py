"""A row of which nothing is known has the same probabilities in every way out."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from crossings.cells import MODELS, Learnt
from crossings.ways import WAYS, Place

pytestmark = pytest.mark.xdist_group("browser")

ORDER = {"grade": ["low", "middle", "high"]}
N_ROWS = 200


def draw() -> tuple[pd.DataFrame, np.ndarray]:
    """Columns of labels, an order, numbers and dates, and classes of different size."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(N_ROWS) < 0.2, 2, rng.integers(0, 2, N_ROWS))
    X = pd.DataFrame({"town": np.array(["Bonn", "Kiel", "Ulm"], dtype=object)[y]})
    X.loc[rng.random(N_ROWS) < 0.5, "town"] = "Bonn"
    X["grade"] = np.array(ORDER["grade"], dtype=object)[rng.integers(3, size=N_ROWS)]
    X["size"] = rng.exponential(size=N_ROWS) + y
    X["when"] = pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 500, N_ROWS), "h")
    X["height"] = rng.normal(size=N_ROWS) - y
    return X, y


def list_fresh(X: pd.DataFrame) -> pd.DataFrame:
    """Rows with nothing, with a label never seen, and with one value each; and whole ones."""
    nothing = dict.fromkeys(X, None)
    rows = [nothing, {**nothing, "town": "never seen"}]
    rows += [{**nothing, name: X[name].iloc[0]} for name in X]
    fresh = pd.concat([pd.DataFrame(rows, columns=X.columns), X[:3]], ignore_index=True)
    return fresh.astype({"size": float, "height": float, "when": X["when"].dtype})


@cache
def learn(name: str, table: str) -> Learnt:
    X, y = draw()
    if table == "numbers alone":
        X = X[["size", "height"]]
    elif table == "labels alone":
        X = X[["town"]].assign(other=X["grade"])
    elif table == "missing in training":
        X.loc[::9, "size"] = np.nan
    ordered = {"ordinal_features": ORDER} if "grade" in X else {}
    unfitted = MODELS[name]().set_params(**ordered)
    if "size" not in X:
        fresh = pd.DataFrame([[None, None], ["never seen", None], [None, "low"]], columns=X.columns)
    else:
        fresh = list_fresh(draw()[0])[list(X)]
        fresh = fresh.iloc[[0, 1, 4, 6, 7]] if table == "numbers alone" else fresh
    with warnings.catch_warnings(action="ignore"):
        model = unfitted.fit(X, y)
        proba = model.predict_proba(fresh)
    return Learnt([*X], unfitted, model, X, y, None, fresh, y[: len(fresh)], proba)


WHOLE = ("one row", "save", "C", "JavaScript", "SQLite", "DuckDB", "PostgreSQL", "explorer")
CELLS = [
    *[(way, "flagship", "whole") for way in WHOLE],
    *[(way, "Gaussian", "whole") for way in (*WHOLE, "ONNX")],
    *[
        (way, "spline", table)
        for table in ("missing in training", "numbers alone", "labels alone")
        for way in ("one row", "C", "JavaScript", "SQLite", "DuckDB", "ONNX")
    ],
]


@pytest.mark.parametrize(("way", "model", "table"), CELLS)
def test_every_way_out_knows_a_blank_row(
    way: str, model: str, table: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    learnt = learn(model, table)
    with warnings.catch_warnings(action="ignore"):
        found = WAYS[way](learnt, Place(tmp_path, request))
    np.testing.assert_allclose(found, learnt.proba, rtol=0, atol=1e-9)
    count = learnt.model.class_count_ + 1.0
    is_blank = np.isclose(found, count / count.sum(), rtol=0, atol=1e-9).all(axis=1)
    n_blank = 0 if table == "missing in training" else 2
    assert is_blank.tolist() == [True] * n_blank + [False] * (len(found) - n_blank)
