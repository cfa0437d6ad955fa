"""ESKDB learnt in passes is ESKDB learnt in memory."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from priorwise import ESKDBClassifier
from priorwise.smoothing import MEstimate


def make_rows(rng: np.random.Generator, n_rows: int, *, numeric: bool) -> pd.DataFrame:
    y = rng.integers(0, 3, n_rows)
    frame = pd.DataFrame(
        {
            name: np.array(["red", "green", "blue", "grey"], dtype=object)[
                (y + rng.integers(0, 3, n_rows)) % 4
            ]
            for name in "abc"
        }
    )
    frame.loc[rng.random(n_rows) < 0.1, "a"] = None
    if numeric:
        frame["u"] = y + rng.normal(size=n_rows).round(1)
        frame["v"] = (y == 1) * 2.0 + rng.normal(size=n_rows)
        frame.loc[rng.random(n_rows) < 0.1, "u"] = np.nan
    frame["label"] = np.array(["no", "maybe", "yes"], dtype=object)[y]
    return frame


def assert_same_members(streamed: Any, fitted: Any, X: pd.DataFrame) -> None:
    assert len(streamed.estimators_) == len(fitted.estimators_)
    for mine, theirs in zip(streamed.estimators_, fitted.estimators_, strict=True):
        for cuts, expected in zip(mine.cut_points, theirs.cut_points, strict=True):
            np.testing.assert_array_equal(cuts, expected)
        assert mine.model.network == theirs.model.network
        assert pickle.dumps(mine.model.product) == pickle.dumps(theirs.model.product)
    np.testing.assert_array_equal(streamed.predict_proba(X), fitted.predict_proba(X))


@pytest.mark.parametrize("numeric", [False, True])
@pytest.mark.parametrize("batch_rows", [41, 1000])
@pytest.mark.parametrize(
    ("parameters", "passes"),
    [
        # Values, order of rows, (values of folds,) pairs, tables without folds, tables of all rows;
        # trials of bins beforehand.
        ({"recipe": "weighted", "max_bins": 8}, (5, 6)),
        ({"recipe": "weighted"}, (5, 10)),
        ({"recipe": "weighted", "missing": "impute", "max_bins": 8}, (5, 6)),
        # The loss of a fold; pairs and two kinds of tables of further networks.
        ({"recipe": "weighted", "max_bins": 8, "max_estimators": 4}, (6, 10)),
        # Values of folds, pairs and two kinds of tables for each dealing.
        ({"recipe": "weighted", "max_bins": 8, "n_dealings": 2, "n_estimators": 6}, (8, 10)),
        # With numbers one more pass finds the order of the rows, and so their copies.
        ({"recipe": "thesis"}, (4, 5)),
        # The order is needed where some rows are held back, too.
        ({"recipe": "thesis", "smoothing": MEstimate("cv")}, (5, 5)),
    ],
)
def test_members_are_those_of_fit_and_share_passes(
    parameters: dict[str, Any],
    passes: tuple[int, int],
    batch_rows: int,
    numeric: bool,
    rng: np.random.Generator,
    tmp_path: Path,
) -> None:
    frame = make_rows(rng, 700, numeric=numeric)
    frame.to_parquet(tmp_path / "rows.parquet")
    X = frame.drop(columns="label")
    model = ESKDBClassifier(
        **{"n_estimators": 3, "max_parents": 2, "random_state": 3, **parameters}
    )
    fitted = clone(model).fit(X, frame["label"])
    streamed = clone(model).fit_dataset(tmp_path / "rows.parquet", "label", batch_rows=batch_rows)
    assert_same_members(streamed, fitted, X)
    assert streamed.n_passes_ == passes[numeric]
    assert getattr(streamed, "max_bins_", None) == getattr(fitted, "max_bins_", None)


def test_a_time_limit_is_refused(rng: np.random.Generator, tmp_path: Path) -> None:
    make_rows(rng, 50, numeric=False).to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match="max_seconds must be None for fit_dataset"):
        ESKDBClassifier(max_seconds=1.0).fit_dataset(tmp_path / "rows.parquet", "label")


@pytest.mark.parametrize("recipe", ["weighted", "thesis"])
def test_copies_of_rows_are_held_out_together_in_passes_too(
    recipe: str, rng: np.random.Generator, tmp_path: Path
) -> None:
    frame = make_rows(rng, 150, numeric=True)
    frame = frame.iloc[rng.permutation(np.repeat(np.arange(150), rng.integers(1, 4, 150)))]
    frame.to_parquet(tmp_path / "rows.parquet", index=False)
    X, model = frame.drop(columns="label"), ESKDBClassifier(3, recipe=recipe, random_state=0)
    with pytest.warns(UserWarning, match="rows are exact copies"):
        fitted = clone(model).fit(X, frame["label"])
    with pytest.warns(UserWarning, match="rows are exact copies"):
        streamed = clone(model).fit_dataset(tmp_path / "rows.parquet", "label", batch_rows=41)
    assert_same_members(streamed, fitted, X)
