"""Texts among numbers that are text: codes in training, values that are unseen in new rows."""

from __future__ import annotations

import sqlite3
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from priorwise import DataWarning, NaiveBayesClassifier, check, export
from priorwise.data.encoding import TableEncoder

ODD = {4: ">3", 70: "007", 71: ">3", 119: "n.b."}


def make_table(n: int = 120) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=n).round(3)
    X = pd.DataFrame({"x": x.astype(str).astype(object), "s": rng.choice(["u", "v"], n)})
    return X, np.where(x + rng.normal(size=n) > 0, "a", "b")


def fit(X: pd.DataFrame, y: Any, **options: Any) -> NaiveBayesClassifier:
    return NaiveBayesClassifier(**options).fit(X, y)


def fit_stream(X: pd.DataFrame, y: Any, **options: Any) -> NaiveBayesClassifier:
    frame = X.assign(y=y)
    return NaiveBayesClassifier(**options).fit_dataset(frame, "y", batch_rows=7)


def predict_batches(model: Any, X: pd.DataFrame, folder: Path) -> np.ndarray:
    model.predict_dataset(X, folder / "p.csv", batch_rows=7, overwrite=True)
    return pd.read_csv(folder / "p.csv").iloc[:, 1:].to_numpy()


WAYS: dict[str, Callable[[Any, pd.DataFrame, Path], np.ndarray]] = {
    "at once": lambda model, X, _: model.predict_proba(X),
    "in batches": predict_batches,
    "row by row": lambda model, X, _: np.vstack(
        [model.predict_proba(X[i : i + 1]) for i in range(len(X))]
    ),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("learn", [fit, fit_stream])
@pytest.mark.parametrize("missing", ["value", "impute", "ignore"])
def test_a_text_in_a_column_of_numbers_as_text_is_missing(
    missing: str, learn: Any, way: str, tmp_path: Path
) -> None:
    X, y = make_table()
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        model = learn(X, y, missing=missing)
        known = len(record)
        odd, absent = X.copy(), X.copy()
        odd.loc[[*ODD], "x"], absent.loc[[*ODD], "x"] = [*ODD.values()], None
        found = WAYS[way](model, odd, tmp_path)
    expected = learn(X, y, missing=missing).predict_proba(absent)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-15)
    (warning,) = record[known:]
    assert warning.category is DataWarning
    assert "column 'x' holds texts that are no numbers, '>3' (" in str(warning.message)


@pytest.mark.parametrize("learn", [fit, fit_stream])
def test_unseen_texts_are_refused_if_unseen_values_are(learn: Any) -> None:
    X, y = make_table()
    model = learn(X, y, unseen="error")
    X.loc[4, "x"] = ">3"
    for asked in (X, X[4:5]):
        with pytest.raises(ValueError, match="column 'x' holds '>3', which training did not"):
            model.predict(asked)


@pytest.mark.parametrize("learn", [fit, fit_stream])
def test_a_column_of_another_type_is_refused(learn: Any) -> None:
    X, y = make_table()
    numbers = X.assign(x=X["x"].astype(float))
    rule = "column 'x' must hold numbers, as it does in training, got"
    with pytest.raises(ValueError, match=rule):
        learn(X, y).predict(X.assign(x="abc"))
    model = learn(numbers, y)
    for asked in (numbers[:1].assign(x="abc"), X.assign(x="abc"), X.assign(x=X["s"])):
        with pytest.raises(ValueError, match=rule):
            model.predict(asked)
    X.loc[4, "x"] = ">3"
    with pytest.warns(DataWarning, match="holds texts that are no numbers"):
        assert len(model.predict(X)) == len(X)
    X["x"] = [("a", "b"), *X["x"][1:]]
    with pytest.raises(ValueError, match=rule):
        model.predict(X)


CODES = {
    "a postcode with more behind": ("98146-1067", True),
    "a letter behind": ("98146B", True),
    "letters among digits": ("9B146", True),
    "a leading zero": ("01018", True),
    "a word": ("none", False),
    "a limit": (">9999", False),
    "a range": ("10115-20095", False),
    "a unit": ("98146 kg", False),
    "a decimal comma": ("98,46", False),
}


@pytest.mark.parametrize("name", CODES)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_few_codes_among_digits_make_labels_and_other_texts_are_named(name: str) -> None:
    text, is_code = CODES[name]
    rng = np.random.default_rng(1)
    codes = rng.choice(rng.integers(10_000, 99_999, 30), 300).astype(str).astype(object)
    codes[[7, 250]] = text
    X, y = pd.DataFrame({"zip": codes}), rng.choice(["a", "b"], 300)
    found = [one.kind for one in check(X, y) if one.column == "zip"]
    batches = np.array_split(np.arange(300), 9)
    for order in (range(9), rng.permutation(9)):
        frames = [X.iloc[batches[at]].assign(y=y[batches[at]]) for at in order]
        streamed = partial(NaiveBayesClassifier().fit_dataset, partial(iter, frames), "y")
        for learn in (partial(fit, X, y), streamed):
            if is_code:
                assert set(learn().encoder_.category_labels(0)) == set(codes)
                continue
            with pytest.raises(ValueError, match="column 'zip' holds texts among numbers"):
                learn()
    assert found == ([] if is_code else ["text among numbers"])


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_more_than_a_few_suffixes_are_named() -> None:
    codes = [*map(str, range(10_000, 10_090)), *["98146-1067"] * 2]
    with pytest.raises(ValueError, match="texts among numbers"):
        TableEncoder().fit(pd.DataFrame({"zip": codes}))
    zeros = [*map(str, range(10_000, 10_090)), *[f"0{i}" for i in range(1_000, 1_090)]]
    assert TableEncoder().fit(pd.DataFrame({"zip": zeros})).is_nominal_.tolist() == [True]


def test_where_a_zero_leads_other_codes_are_expected() -> None:
    zips = pd.DataFrame({"zip": [*map(str, range(10_000, 10_080)), "01018", *["98146-1067"] * 9]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert TableEncoder().fit(zips).is_nominal_.tolist() == [True]


def test_a_text_behind_the_first_megabytes_of_a_file_is_missing(tmp_path: Path) -> None:
    # The kinds of columns are those of the first bytes: long lines need fewer rows.
    rows = [f"{i % 90}.5{'0' * 80},{'uv'[i % 2]}" for i in range(60_000)]
    X = pd.DataFrame({"x": np.arange(90) + 0.5, "s": ["u", "v"] * 45})
    model = NaiveBayesClassifier().fit(X, np.arange(90) > 40)
    found = []
    for odd in ({}, {59_000: ">3", 59_501: "007"}):
        for i, text in odd.items():
            rows[i] = f"{text},{rows[i][-1]}"
        (tmp_path / "rows.csv").write_text("x,s\n" + "\n".join(rows) + "\n")
        with warnings.catch_warnings(record=True) as record:
            warnings.simplefilter("always")
            model.predict_dataset(tmp_path / "rows.csv", tmp_path / "p.csv", overwrite=True)
        assert [one.category for one in record] == ([DataWarning] if odd else [])
        found.append(pd.read_csv(tmp_path / "p.csv").iloc[:, 1].to_numpy())
    differs = np.flatnonzero(found[0] != found[1])
    assert differs.tolist() == [59_000, 59_501]
    absent = model.predict_proba(X[:2].assign(x=np.nan))[:, 0]
    np.testing.assert_allclose(found[1][differs], absent, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_query_reads_a_text_among_numbers_as_python_does(tmp_path: Path) -> None:
    X, y = make_table()
    model = fit(X, y)
    X.loc[4, "x"] = ">3"
    export.export_sql(model, tmp_path / "model.sql", dialect="sqlite", table="rows")
    with sqlite3.connect(":memory:") as base:
        X.to_sql("rows", base, index=False)
        query = (tmp_path / "model.sql").read_text().rstrip().rstrip(";")
        found = pd.read_sql(query, base)
    expected = model.predict_proba(X)
    columns = [name for name in found.columns if name.startswith("p")][:2]
    np.testing.assert_allclose(found[columns].to_numpy(), expected, rtol=0, atol=1e-12)
