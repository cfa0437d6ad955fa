"""Learning in passes gives the model that learning in memory gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from priorwise import (
    AODEClassifier,
    KDBClassifier,
    KDFClassifier,
    NaiveBayesClassifier,
    SelectiveKDBClassifier,
    SuperParentClassifier,
    TANClassifier,
)
from priorwise.smoothing import HDP, MEstimate

MODELS = {
    "naive Bayes": NaiveBayesClassifier(),
    "TAN": TANClassifier(),
    "kDB": KDBClassifier(max_parents=2),
    "SkDB": SelectiveKDBClassifier(max_parents=3),
    "AODE": AODEClassifier(),
    "KDF": KDFClassifier(max_parents=2),
    "SuperParent": SuperParentClassifier(),
}
PASSES = {"naive Bayes": 1, "TAN": 2, "kDB": 2, "SkDB": 3, "AODE": 2, "KDF": 2, "SuperParent": 3}


def make_table(
    rng: np.random.Generator, n_rows: int, *, numeric: bool, missing: bool = True
) -> pd.DataFrame:
    """A class, features that follow it and each other, and labels that come late."""
    y = rng.integers(0, 3, n_rows)
    a = (y + rng.integers(0, 2, n_rows)) % 4
    b = (a + rng.integers(0, 2, n_rows)) % 3
    frame = pd.DataFrame(
        {
            "a": np.array(["red", "green", "blue", "amber"], dtype=object)[a],
            "b": np.array(["x", "y", "z"], dtype=object)[b],
            "c": rng.choice(["p", "q"], n_rows).astype(object),
            # Sorted: every batch brings labels that none before had.
            "late": np.array([f"t{i:02d}" for i in np.sort(rng.integers(0, 12, n_rows))[::-1]]),
            "label": np.array(["no", "maybe", "yes"], dtype=object)[y],
        }
    )
    if missing:
        frame.loc[rng.random(n_rows) < 0.1, "b"] = None
    if numeric:
        frame["u"] = y + rng.normal(size=n_rows).round(1)
        frame["v"] = rng.normal(size=n_rows)
        frame.loc[rng.random(n_rows) < 0.1, "u"] = np.nan
    return frame


def write(frame: pd.DataFrame, folder: Path) -> Path:
    path = folder / "rows.parquet"
    frame.to_parquet(path)
    return path


def features_of(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.drop(columns="label")


def assert_same_model(streamed: Any, fitted: Any, rows: pd.DataFrame) -> None:
    """The same classes, codes, structure and counts; probabilities to 1e-12."""
    assert streamed.classes_.tolist() == fitted.classes_.tolist()
    assert streamed.feature_names_in_.tolist() == fitted.feature_names_in_.tolist()
    for mine, theirs in zip(
        streamed.encoder_.categories_, fitted.encoder_.categories_, strict=True
    ):
        assert (mine.labels, mine.counts) == (theirs.labels, theirs.counts)
    for mine, theirs in zip(
        streamed.encoder_.cut_points_, fitted.encoder_.cut_points_, strict=True
    ):
        np.testing.assert_array_equal(mine, theirs)
    for mine, theirs in zip(models_of(streamed), models_of(fitted), strict=True):
        assert mine.counts.network == theirs.counts.network
        for tree, expected in zip(
            [mine.counts.class_tree, *mine.counts.feature_trees],
            [theirs.counts.class_tree, *theirs.counts.feature_trees],
            strict=True,
        ):
            np.testing.assert_array_equal(tree.parent, expected.parent)
            np.testing.assert_array_equal(tree.value, expected.value)
            np.testing.assert_array_equal(tree.counts, expected.counts)
    np.testing.assert_allclose(
        streamed.predict_proba(rows), fitted.predict_proba(rows), rtol=0, atol=1e-12
    )


def models_of(model: Any) -> list[Any]:
    return model.estimators_ if hasattr(model, "estimators_") else [model.model_]


@pytest.mark.parametrize("batch_rows", [1, 7, 50, 1000])
@pytest.mark.parametrize("name", MODELS)
def test_any_batch_size_gives_the_model_of_fit_on_nominal_rows(
    name: str, batch_rows: int, rng: np.random.Generator, tmp_path: Path
) -> None:
    frame = make_table(rng, 60, numeric=False)
    model = MODELS[name]
    fitted = clone(model).fit(features_of(frame), frame["label"])
    streamed = clone(model).fit_dataset(
        write(frame, tmp_path), target="label", batch_rows=batch_rows
    )
    assert_same_model(streamed, fitted, features_of(frame))
    assert streamed.n_passes_ == PASSES[name]


@pytest.mark.parametrize(
    "discretizer", ["mdlp", "equal-width", "equal-frequency", "kmeans", "tree"]
)
@pytest.mark.parametrize("missing", ["value", "impute"])
def test_numeric_features_are_cut_as_fit_cuts_them(
    discretizer: str, missing: str, rng: np.random.Generator, tmp_path: Path
) -> None:
    frame = make_table(rng, 300, numeric=True)
    model = KDBClassifier(max_parents=1, discretizer=discretizer, missing=missing)
    fitted = clone(model).fit(features_of(frame), frame["label"])
    streamed = clone(model).fit_dataset(write(frame, tmp_path), target="label", batch_rows=37)
    assert_same_model(streamed, fitted, features_of(frame))
    assert streamed.n_passes_ == 3


def test_every_kind_of_column_is_read_as_fit_reads_it(
    rng: np.random.Generator, tmp_path: Path
) -> None:
    y = rng.integers(0, 2, 200)
    days = pd.to_timedelta(7 * y + rng.integers(0, 9, 200), "D")
    frame = pd.DataFrame(
        {
            "code": (y + rng.integers(0, 3, 200)) * 10,
            "flag": (y + rng.integers(0, 2, 200)) > 1,
            "size": pd.Categorical.from_codes(rng.integers(0, 3, 200), ["s", "m", "l"]),
            "day": pd.Timestamp("2020-01-01") + days,
            "count": y + rng.integers(0, 4, 200),
            "label": y,
        }
    )
    model = KDBClassifier(max_parents=1, categorical_features=["code"])
    fitted = clone(model).fit(features_of(frame), frame["label"])
    path = write(frame, tmp_path)
    streamed = clone(model).fit_dataset(path, "label", batch_rows=33)
    assert_same_model(streamed, fitted, features_of(frame))
    named = KDBClassifier(max_parents=1).fit_dataset(path, "label", categorical_features=["code"])
    assert_same_model(named, fitted, features_of(frame))


@pytest.mark.parametrize("smoothing", ["hgs", "laplace", MEstimate("cv"), HDP("gibbs", n_iter=20)])
def test_any_smoother_gives_the_model_of_fit(
    smoothing: Any, rng: np.random.Generator, tmp_path: Path
) -> None:
    frame = make_table(rng, 250, numeric=False)
    path = write(frame, tmp_path)
    for model in (KDBClassifier(max_parents=2), AODEClassifier(), NaiveBayesClassifier()):
        model.set_params(smoothing=smoothing, random_state=5)
        fitted = clone(model).fit(features_of(frame), frame["label"])
        streamed = clone(model).fit_dataset(path, "label", batch_rows=60)
        assert_same_model(streamed, fitted, features_of(frame))
        assert repr(streamed.smoothing_) == repr(fitted.smoothing_)


def test_some_features_can_be_chosen(rng: np.random.Generator, tmp_path: Path) -> None:
    frame = make_table(rng, 120, numeric=False)
    fitted = KDBClassifier(max_parents=1).fit(frame[["c", "a"]], frame["label"])
    path = write(frame, tmp_path)
    streamed = KDBClassifier(max_parents=1).fit_dataset(
        path, "label", features=["c", "a"], batch_rows=50
    )
    assert_same_model(streamed, fitted, frame[["c", "a"]])


def test_numbers_that_mean_missing_are_missing(rng: np.random.Generator) -> None:
    frame = pd.DataFrame({"x": rng.integers(0, 5, size=300), "y": rng.integers(2, size=300)})
    frame.loc[frame["x"] == 3, "y"] = 1
    expected = NaiveBayesClassifier(missing_values=[3]).fit(frame[["x"]], frame["y"])
    found = NaiveBayesClassifier(missing_values=[3]).fit_dataset(frame, target="y")
    np.testing.assert_array_equal(
        found.predict_proba(frame[["x"]]), expected.predict_proba(frame[["x"]])
    )


def test_a_source_that_changes_between_passes_is_told(rng: np.random.Generator) -> None:
    frame = make_table(rng, 100, numeric=False)
    readings = iter([frame, frame, frame.iloc[:60], frame.iloc[:60]])
    with pytest.raises(ValueError, match="must hold the same rows in every pass, got 60"):
        KDBClassifier().fit_dataset(lambda: iter([next(readings)]), "label", cache="off")
