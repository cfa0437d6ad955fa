"""Columns of text are words wherever a model is learnt, saved, written, explained or shown."""

from __future__ import annotations

import json
import shutil
import subprocess
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
    NaiveBayesClassifier,
    PriorwiseClassifier,
    ProbabilityForestClassifier,
    SplineLogisticClassifier,
    TANClassifier,
)
from priorwise.data.encoding import TableEncoder
from priorwise.export import export_c, export_json, export_onnx, export_sql, javascript_evaluator

MODELS: dict[str, Callable[..., Any]] = {
    "naive Bayes": NaiveBayesClassifier,
    "TAN": TANClassifier,
    "ESKDB": lambda **given: ESKDBClassifier(3, **given),
    "forest": lambda **given: ProbabilityForestClassifier(4, **given),
    "spline": SplineLogisticClassifier,
    "flagship": lambda **given: PriorwiseClassifier("fast", **given),
}
every_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
pytestmark = [
    pytest.mark.filterwarnings(f"ignore:.*{text}")
    for text in ("is read as words", "never seen in training", "which new rows will not have")
]

FILLERS = [f"{a}{b}" for a in ("stone", "wind", "Brot", "jäger", "Çelik", "лес") for b in "abcdefg"]
LATE = ["delay", "delayed", "delays", "late"]


def draw(n_rows: int = 400, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Reviews, of which those of class "bad" speak of delays, beside a number."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n_rows) < 0.4, "bad", "good")
    texts = []
    for label in y.tolist():
        words = rng.choice(FILLERS, rng.integers(3, 9)).tolist()
        if rng.random() < (0.8 if label == "bad" else 0.1):
            words.insert(1, str(rng.choice(LATE)))
        texts.append(", ".join(words) + "!")
    X = pd.DataFrame({"review": texts, "stars": rng.normal(size=n_rows)})
    X["review"] = X["review"].astype(object)
    X.loc[::50, "review"] = None
    return X, y


def odd_rows() -> pd.DataFrame:
    """Texts in other spellings, without words, of other types, missing."""
    texts = ["DELAY", "un-delayed?", "ÉCOLE ΣΊΣΥΦΟΣ 2nd", "...", " ", None, "true", "5.0", "a_b"]
    return pd.DataFrame({"review": np.array(texts, dtype=object), "stars": 0.5})


@every_model
def test_words_tell_the_class_in_rows_that_are_new(make: Callable[..., Any]) -> None:
    X, y = draw(800)
    model = make(random_state=0).fit(X[:400], y[:400])
    assert [schema.kind for schema in model.feature_schema_] == ["text", "numeric"]
    assert {"review: late", "review: …dela…", "review: all words"} <= set(model.feature_labels_)
    assert (model.predict(X[400:]) == y[400:]).mean() > 0.8
    without = make(random_state=0, text_features=None).fit(X[:400], y[:400])
    assert without.feature_schema_[0].kind == "nominal"
    assert (without.predict(X[400:]) == y[400:]).mean() < 0.7


@every_model
def test_a_stream_a_file_and_a_single_row_give_the_same_probabilities(
    make: Callable[..., Any], tmp_path: Path
) -> None:
    X, y = draw()
    model = make(random_state=0).fit(X, y)
    proba = model.predict_proba(X)
    streamed = make(random_state=0).fit_dataset(X.assign(label=y), "label", batch_rows=37)
    np.testing.assert_allclose(streamed.predict_proba(X), proba, rtol=1e-9)
    assert streamed.feature_labels_ == model.feature_labels_
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(priorwise.load(tmp_path / "model").predict_proba(X), proba)
    for table in (pl.from_pandas(X), pa.Table.from_pandas(X), X.astype({"review": "category"})):
        np.testing.assert_array_equal(model.predict_proba(table), proba)
    single = [model.predict_proba(X[i : i + 1])[0] for i in range(45, 55)]
    np.testing.assert_array_equal(single, proba[45:55])


MAIN = """
const fs = require("fs"), priorwise = require("./evaluator.js");
const model = priorwise.load(JSON.parse(fs.readFileSync("model.json", "utf-8")));
const rows = JSON.parse(fs.readFileSync("rows.json", "utf-8"));
console.log(JSON.stringify(rows.map((row) => model.predictProba(row))));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node (node)")
@pytest.mark.parametrize("missing", ["value", "impute"])
def test_javascript_reads_the_same_words(missing: str, tmp_path: Path) -> None:
    X, y = draw()
    model = ProbabilityForestClassifier(8, missing=missing, random_state=0).fit(X, y)
    rows = pd.concat([X[:60], odd_rows()], ignore_index=True)
    export_json(model, tmp_path / "model.json")
    (tmp_path / "evaluator.js").write_text(javascript_evaluator(), encoding="utf-8")
    (tmp_path / "main.js").write_text(MAIN)
    (tmp_path / "rows.json").write_text(rows.to_json(orient="records"))
    ran = subprocess.run(["node", "main.js"], cwd=tmp_path, capture_output=True, check=True)
    np.testing.assert_allclose(json.loads(ran.stdout), model.predict_proba(rows), atol=1e-12)


@pytest.mark.parametrize("export", [export_c, export_sql, export_onnx])
def test_exports_without_words_name_the_column(export: Callable[..., Any]) -> None:
    X, y = draw()
    model = ProbabilityForestClassifier(2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="column 'review' is read as words"):
        export(model)


def test_explanations_cards_and_pages_name_words(tmp_path: Path) -> None:
    X, y = draw()
    model = PriorwiseClassifier("fast", random_state=0).fit(X, y)
    told = model.explain(X[1:3]).to_frame()
    of_word = told[told["feature"] == "review: late"]
    assert set(of_word["value"]) <= {"no", "yes"}
    assert "words" in str(told[told["feature"] == "review"]["value"].iloc[0])
    assert "review" in model.card()
    assert "words" in repr(model.feature_schema_)
    model.explorer(tmp_path / "page.html", X, y)
    page = (tmp_path / "page.html").read_text()
    assert '"is_text":true' in page.replace(" ", "")
    typed = json.dumps(X["review"][1])[1:-1]
    assert typed in page or X["review"][1] in page
    model.explorer(tmp_path / "page.html", X, y, max_rows=0)
    page = (tmp_path / "page.html").read_text()
    assert typed not in page
    assert X["review"][1] not in page


def test_a_summary_counts_the_words_of_training() -> None:
    X, y = draw()
    model = SplineLogisticClassifier().fit(X, y)
    known = {*model.encoder_.scores_[0].words, "late"}
    assert model.summary().n_words == len(known)
    assert f"{len(known)} words and pieces of its texts" in repr(model.summary())
    assert SplineLogisticClassifier(text_features=None).fit(X, y).summary().n_words == 0


def test_a_missing_text_has_no_words_and_a_missing_number_of_them() -> None:
    X, y = draw()
    encoder = TableEncoder().fit(X, y)
    read = encoder.read(odd_rows()).values
    np.testing.assert_array_equal(read[0], [1, 2, 3, 0, np.nan, np.nan, 1, 1, 2])
    word = encoder.feature_names.index("review: …dela…")
    assert read[word].tolist() == [1, 1, 0, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("n_classes", [2, 5])
def test_noise_has_no_words(n_classes: int) -> None:
    n_tables = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        words = ["".join(rng.choice(list("abcdefgh"), rng.integers(2, 8))) for _ in range(900)]
        share = 1.0 / np.arange(1, 901)
        texts = [" ".join(rng.choice(words, 12, p=share / share.sum())) for _ in range(300)]
        y = rng.choice(n_classes, 300)
        n_tables += bool(TableEncoder().fit(pd.DataFrame({"note": texts}), y).parts_)
    assert n_tables <= 2


def test_sums_of_words_are_honest_and_say_more_than_a_few_words() -> None:
    rng = np.random.default_rng(0)
    words = np.array([f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in "lmnprst"])
    share = np.exp(rng.normal(scale=0.5, size=(3, len(words))))
    share /= share.sum(axis=1, keepdims=True)
    y = rng.choice(3, 1200)
    texts = [" ".join(rng.choice(words, 15, p=share[k])) for k in y]
    X, names = pd.DataFrame({"note": texts}), np.array(["x", "y", "z"])[y]
    encoder = TableEncoder().fit(X[:600], names[:600])
    first = encoder.feature_names.index("note: all words, x")
    sums = encoder.read(X).values[first : first + 3]
    right = sums.argmax(axis=0) == y
    assert right[600:].mean() > 0.6
    # Texts of training are no better than new ones: their own class is not in their sums.
    assert abs(right[:600].mean() - right[600:].mean()) < 0.07
    model = SplineLogisticClassifier().fit(X[:600], names[:600])
    assert model.score(X[600:], names[600:]) > 0.6


def test_no_word_of_few_rows_is_chosen() -> None:
    X, y = draw()
    X.loc[y == "bad", "review"] += " zzyzx"
    X.loc[np.flatnonzero(y == "bad")[30:], "review"] = "nothing at all to say"
    for least, is_named in ((1, True), (40, False)):
        encoder = TableEncoder(min_rows_per_label=least).fit(X, y)
        assert any("zzyzx" in name for name in encoder.feature_names) == is_named
        assert ("zzyzx" in encoder.scores_[0].words) == is_named


def test_weights_neither_make_words_nor_hide_them() -> None:
    X, y = draw()
    names = TableEncoder().fit(X, y).feature_names
    assert TableEncoder().fit(X, y, np.full(len(y), 1e-3)).feature_names == names
    more, labels = pd.concat([X, X.assign(review="zzyzx again")]), np.append(y, ["bad"] * len(y))
    weight = np.repeat([1.0, 0.0], len(y))
    assert TableEncoder().fit(more, labels, weight).feature_names == names


def test_what_is_text_can_be_said() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    short = pd.DataFrame({"note": np.where(y, "late", "fine"), "size": rng.normal(size=200)})
    assert TableEncoder().fit(short, y).is_nominal_.tolist() == [True, False]
    said = TableEncoder(text_features=["note"]).fit(short, y)
    assert said.feature_names[:4] == ("note", "size", "note: fine", "note: late")
    X, y = draw()
    assert TableEncoder(categorical_features=["review"]).fit(X, y).parts_ == []
    with pytest.warns(UserWarning, match="column 'review' is read as words.*text_features"):
        TableEncoder().fit(X, y)


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"text_features": ["stars"]}, "text_features must name columns of text.*'stars'"),
        ({"text_features": ["reviews"]}, "text_features must name columns of X.*'reviews'"),
        (
            {"text_features": ["review"], "categorical_features": ["review"]},
            "text_features must not have columns that another parameter takes.*'review'",
        ),
    ],
)
def test_what_is_no_text_is_refused_by_its_name(given: dict[str, Any], rule: str) -> None:
    X, y = draw()
    with pytest.raises(ValueError, match=rule):
        NaiveBayesClassifier(**given).fit(X, y)


def test_later_rows_have_the_words_of_the_first() -> None:
    X, y = draw()
    model = NaiveBayesClassifier().partial_fit(X[:200], y[:200], classes=["bad", "good"])
    names = model.feature_labels_
    model.partial_fit(X[200:], y[200:])
    assert model.feature_labels_ == names
    assert (model.predict(X[200:]) == y[200:]).mean() > 0.7


def test_check_does_not_call_text_an_id() -> None:
    X, y = draw()
    assert "id" not in priorwise.check(X, y).kinds
    assert "id" in priorwise.check(X, y, categorical_features=["review"]).kinds
    model = NaiveBayesClassifier().fit(X, y)
    assert model.check(X).is_ok
    assert "numbers of words" in str(model.check(X.assign(review="word " * 99)))
