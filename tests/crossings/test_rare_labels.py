"""Labels of fewer rows than `min_rows_per_label` are one label, which nothing names."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import priorwise
from priorwise import (
    ESKDBClassifier,
    KernelLogisticClassifier,
    NaiveBayesClassifier,
    PriorwiseClassifier,
    ProbabilityForestClassifier,
    ProbabilityTreeClassifier,
    SelectiveKDBClassifier,
    SplineLogisticClassifier,
    TANClassifier,
)
from priorwise.cli import main
from priorwise.data.encoding import TableEncoder
from priorwise.export import export_c, export_json, export_sql

RARE = [f"Zzyzx {i}" for i in range(9)]
LEAST = 4
MODELS: dict[str, Callable[..., Any]] = {
    "naive Bayes": NaiveBayesClassifier,
    "TAN": TANClassifier,
    "selective kDB": SelectiveKDBClassifier,
    "ESKDB": lambda **given: ESKDBClassifier(3, **given),
    "tree": ProbabilityTreeClassifier,
    "forest": lambda **given: ProbabilityForestClassifier(4, **given),
    "spline": SplineLogisticClassifier,
    "kernel": lambda **given: KernelLogisticClassifier(20, **given),
    "flagship": lambda **given: PriorwiseClassifier("fast", **given),
}
every_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


def draw(seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Towns, of which some have one to three rows, beside a colour and a number."""
    rng = np.random.default_rng(seed)
    rare = [label for i, label in enumerate(RARE) for _ in range(1 + i % 3)]
    town = np.array([*rng.choice(["Bonn", "Kiel", "Ulm"], 200), *rare], dtype=object)
    town[:10] = None
    y = (town == "Bonn") ^ (rng.random(len(town)) < 0.2)
    X = pd.DataFrame(
        {
            "town": town,
            "colour": rng.choice(["red", "blue"], len(town)).astype(object),
            "size": rng.normal(size=len(town)) + y,
        }
    )
    order = rng.permutation(len(town))
    return X.iloc[order].reset_index(drop=True), np.where(y, "yes", "no")[order]


@every_model
def test_a_rare_label_and_an_unseen_one_are_one(make: Callable[..., Any]) -> None:
    X, y = draw()
    model = make(min_rows_per_label=LEAST, random_state=0).fit(X, y)
    joined = X.assign(town=X["town"].where(~X["town"].isin(RARE), "other"))
    expected = make(random_state=0).fit(joined, y).predict_proba(joined)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-12)
    unseen = X.assign(town=X["town"].where(~X["town"].isin(RARE), "never seen"))
    np.testing.assert_array_equal(model.predict_proba(unseen), model.predict_proba(X))
    assert model.feature_schema_[0].labels == ("Bonn", "Kiel", "Ulm", "other")
    assert model.check(unseen).is_ok


@every_model
def test_a_stream_gives_the_model_of_memory(make: Callable[..., Any]) -> None:
    X, y = draw()
    rows = X.assign(label=y)
    streamed = make(min_rows_per_label=LEAST, random_state=0)
    streamed.fit_dataset(rows, "label", batch_rows=17)
    fitted = make(min_rows_per_label=LEAST, random_state=0).fit(X, y)
    np.testing.assert_allclose(streamed.predict_proba(X), fitted.predict_proba(X), rtol=1e-9)


@every_model
def test_nothing_that_is_written_of_a_model_names_a_rare_label(
    make: Callable[..., Any], tmp_path: Path
) -> None:
    X, y = draw()
    model = make(min_rows_per_label=LEAST, random_state=0)
    # A polars enum lists its labels in its type.
    types = {"town": pl.Enum(["Bonn", "Kiel", "Ulm", *RARE])}
    model.fit(pl.from_pandas(X, schema_overrides=types), y)
    model.save(tmp_path / "model")
    loaded = priorwise.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    model.explorer(tmp_path / "page.html", X, y)
    model.report(X, y, tmp_path / "report.html")
    export_json(model, tmp_path / "model.json")
    written = [
        (tmp_path / "page.html").read_bytes(),
        (tmp_path / "report.html").read_bytes(),
        pickle.dumps(model),
        str(export_c(model)).encode(),
        (tmp_path / "model.json").read_bytes(),
        repr(model.explain(X)).encode(),
        export_sql(model).encode(),
        repr(vars(loaded)).encode(),
        repr(loaded.feature_schema_).encode(),
    ]
    for content in written:
        assert b"Zzyzx" not in content
    assert loaded.summary().n_rare_labels == 0


@pytest.mark.parametrize("to_frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_all_labels_may_be_rare(to_frame: Callable[[Any], Any]) -> None:
    X = to_frame({"name": [f"person {i}" for i in range(40)], "kind": ["a", "b"] * 20})
    model = NaiveBayesClassifier(min_rows_per_label=2).fit(X, ["yes", "no"] * 20)
    assert model.feature_schema_[0].labels == ("other",)
    assert model.predict(X).tolist() == ["yes", "no"] * 20


def test_a_label_other_of_the_data_is_joined() -> None:
    X = [["other"]] * 5 + [["a"]] * 3 + [["b"]] * 5
    encoder = TableEncoder(min_rows_per_label=4)
    assert encoder.fit_transform(X)[0].tolist() == [1] * 8 + [0] * 5
    assert encoder.transform([["a"], ["other"], ["c"], ["b"]])[0].tolist() == [1, 1, 1, 0]
    # Without a rare label, it is a label like others.
    encoder.fit([["other"]] * 5 + [["b"]] * 5)
    assert encoder.transform([["other"], ["c"]])[0].tolist() == [1, -1]


@pytest.mark.parametrize("missing", ["value", "impute", "ignore"])
def test_missing_is_not_a_rare_label(missing: str) -> None:
    X = [["a"]] * 5 + [["b"]] + [[None]]
    encoder = TableEncoder(min_rows_per_label=3, missing=missing)
    code = {"value": 2, "impute": 0, "ignore": -1}[missing]
    assert encoder.fit_transform(X)[0].tolist() == [0] * 5 + [1, code]
    assert encoder.transform([["c"], [None]])[0].tolist() == [1, code]


def test_rows_are_counted_whatever_their_weights() -> None:
    X = [["a"]] * 6 + [["heavy"]] + [["absent"]] * 6
    weight = [0.1] * 6 + [100.0] + [0.0] * 6
    encoder = TableEncoder(min_rows_per_label=3).fit(X, sample_weight=weight)
    (categories,) = encoder.categories_
    assert categories.labels == ["a", "other"]
    np.testing.assert_allclose(categories.counts, [0.6, 100.0])


def test_later_rows_bring_no_further_labels() -> None:
    X, y = draw()
    model = NaiveBayesClassifier(min_rows_per_label=LEAST)
    model.partial_fit(X[:110], y[:110]).partial_fit(X[110:], y[110:])
    model.partial_fit(pd.DataFrame([["Rome", "red", 0.0]] * 9, columns=X.columns), ["yes"] * 9)
    assert model.feature_schema_[0].labels == ("Bonn", "Kiel", "Ulm", "other")
    new = pd.DataFrame([[town, "red", 0.0] for town in ("Rome", "Oslo")], columns=X.columns)
    proba = model.predict_proba(new)
    np.testing.assert_array_equal(proba[0], proba[1])
    assert sum(model.encoder_.categories_[0].counts) == len(X) + 9
    known = model.predict_proba(X)
    model.partial_fit(X[:50], y[:50]).forget(X[:50], y[:50])
    np.testing.assert_allclose(model.predict_proba(X), known, rtol=1e-9)


def test_models_that_join_rare_labels_merge() -> None:
    X, y = draw()
    X["size"] = "none"
    make = lambda: NaiveBayesClassifier("laplace", min_rows_per_label=LEAST)  # noqa: E731
    parts = [make().fit(X[rows], y[rows]) for rows in (slice(110), slice(110, None))]
    np.testing.assert_allclose(
        parts[0].merge(parts[1]).predict_proba(X), make().fit(X, y).predict_proba(X), rtol=1e-12
    )
    with pytest.raises(ValueError, match="read in the same way"):
        parts[0].merge(NaiveBayesClassifier("laplace").fit(X, y))


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"min_rows_per_label": 0}, "min_rows_per_label must be a whole number at least 1, got 0"),
        ({"min_rows_per_label": 2.5}, "min_rows_per_label must be a whole number.*got 2.5"),
        ({"min_rows_per_label": 2, "unseen": "error"}, "unseen must be 'backoff' with min_rows"),
    ],
)
def test_wrong_values_are_refused(given: dict[str, Any], problem: str) -> None:
    X, y = draw()
    with pytest.raises(ValueError, match=problem):
        TANClassifier(**given).fit(X, y)
    with pytest.raises(ValueError, match=problem):
        TANClassifier(**given).fit_dataset(X.assign(label=y), "label")


@pytest.mark.parametrize("more", [[], ["--stream"]])
def test_the_command_line_joins_rare_labels(
    more: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    X, y = draw()
    table, model = str(tmp_path / "rows.csv"), str(tmp_path / "model")
    X.assign(label=y).to_csv(table, index=False)
    options = ["--target", "label", "--min-rows-per-label", "4", "--effort", "fast", *more]
    assert main(["fit", table, "-o", model, *options]) == 0
    assert "holds 6 labels of training\n" in capsys.readouterr().out.replace(",", "\n")
    assert priorwise.load(model).feature_schema_[0].labels == ("Bonn", "Kiel", "Ulm", "other")
    assert main(["fit", table, "-o", model, "--overwrite", *options[:3], "0"]) == 2
    assert "--min-rows-per-label must be a whole number" in capsys.readouterr().err
