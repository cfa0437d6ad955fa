"""A mark of a missing value is missing in every way out, whatever training had of its column."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from crossings.cells import Learnt
from crossings.ways import WAYS, Place
from priorwise import NaiveBayesClassifier, SplineLogisticClassifier
from priorwise.data.columns import MISSING_MARKS

pytestmark = pytest.mark.xdist_group("browser")

MARKS = [*MISSING_MARKS, "unknown", -999, True, 0.5]
"""Those that are usual, and others of a text, of numbers and of a boolean."""

N_ROWS, LEAST = 300, 4
UNKNOWN = ["never seen", "rare 1", "True ", "1"]
LABELS = ("rare", "rare, missing", "common", "common, missing", "codes")
"""Columns of labels: with labels of few rows, which are joined, and with missing values."""


def draw() -> tuple[pd.DataFrame, np.ndarray]:
    """Columns of labels, an order and a number, which all tell something of the class."""
    rng = np.random.default_rng(0)
    y = np.arange(N_ROWS) % 2
    X = pd.DataFrame()
    for name in LABELS:
        one = np.array(["Bonn", "Kiel", "Ulm"] if name != "codes" else ["7", "10115", "8.5"])
        place = np.where(rng.random(N_ROWS) < 0.5, y, rng.integers(3, size=N_ROWS))
        X[name] = one[place].astype(object)
        if name.startswith(("rare", "codes")):
            # The joined label tells much of the class.
            rare = np.flatnonzero(y)[:60]
            X.loc[rare, name] = [f"rare {i // 2}" if name != "codes" else f"{i}" for i in rare]
        if name.endswith("missing"):
            X.loc[rng.choice(N_ROWS, 20, replace=False), name] = None
    X["grade"] = np.array(["low", "middle", "high"], dtype=object)[rng.integers(3, size=N_ROWS)]
    X["size"] = rng.normal(size=N_ROWS) + y
    return X, y


def list_fresh(X: pd.DataFrame) -> pd.DataFrame:
    """Rows that have each mark, and each value that training does not know, in each column."""
    rows = [X.iloc[0].to_dict()]
    for name in (*LABELS, "grade"):
        rows += [{**rows[0], name: value} for value in [None, *map(str, MARKS), *UNKNOWN]]
    rows += [{**rows[0], "size": value} for value in (None, -999.0, 0.5, -998.0)]
    return pd.DataFrame(rows)


@cache
def learn(missing: str) -> Learnt:
    X, y = draw()
    # Only networks ignore missing values, and ONNX has no networks.
    make = NaiveBayesClassifier if missing == "ignore" else SplineLogisticClassifier
    unfitted = make(
        missing=missing, missing_values=MARKS, min_rows_per_label=LEAST,
        categorical_features=list(LABELS), ordinal_features={"grade": ["low", "middle", "high"]},
    )  # fmt: skip
    fresh = list_fresh(X)
    with warnings.catch_warnings(action="ignore"):
        model = unfitted.fit(X, y)
        proba = model.predict_proba(fresh)
    return Learnt([*LABELS], unfitted, model, X, y, None, fresh, y[: len(fresh)], proba)


@pytest.mark.parametrize("missing", ["value", "ignore", "impute"])
def test_a_mark_is_missing_in_python_and_no_rare_label(missing: str) -> None:
    fresh, proba = learn(missing).fresh, learn(missing).proba
    for name in (*LABELS, "grade"):
        is_mark = fresh[name].isin(map(str, MARKS)).to_numpy()
        assert is_mark.sum() == len(MARKS)
        expected = proba[fresh[name].isna()]
        np.testing.assert_array_equal(proba[is_mark], np.repeat(expected, len(MARKS), axis=0))
        if name.startswith("rare") and missing != "impute":
            other = proba[fresh[name] == "never seen"]
            assert abs(other - expected).max() > 0.01


OUT = ("one row", "save", "C", "JavaScript", "SQLite", "DuckDB", "PostgreSQL", "ONNX", "explorer")
CELLS = [
    (way, missing)
    for missing in ("value", "ignore", "impute")
    for way in OUT
    if (way, missing) != ("ONNX", "ignore")
]


@pytest.mark.parametrize(("way", "missing"), CELLS)
def test_a_mark_is_missing_in_every_way_out(
    way: str, missing: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    learnt = learn(missing)
    with warnings.catch_warnings(action="ignore"):
        found = WAYS[way](learnt, Place(tmp_path, request))
    np.testing.assert_allclose(found, learnt.proba, rtol=0, atol=1e-9)
