"""Models as JSON, evaluated by JavaScript."""

from __future__ import annotations

import json
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from export.cases import CLASSIFIERS, fit, list_rows, make_fresh_rows, make_table, predict
from priorwise import LogLinearPool, NaiveBayesClassifier, ProbabilityTreeClassifier
from priorwise.export import export_json, javascript_evaluator

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="needs Node (node)")

MAIN = """
const fs = require("fs"), priorwise = require("./evaluator.js");
const model = priorwise.load(JSON.parse(fs.readFileSync("model.json", "utf-8")));
const rows = JSON.parse(fs.readFileSync("rows.json", "utf-8"));
console.log(JSON.stringify(rows.map((row) => {
  try { return model.predictProba(row); } catch (error) { return error.message; }
})));
"""


def run_javascript(model, path, rows):
    """What the evaluator returns for rows, or the message of its error."""
    export_json(model, path / "model.json")
    (path / "evaluator.js").write_text(javascript_evaluator(), encoding="utf-8")
    (path / "main.js").write_text(MAIN)
    (path / "rows.json").write_text(json.dumps(rows))
    ran = subprocess.run(["node", "main.js"], cwd=path, capture_output=True, text=True, check=True)
    return json.loads(ran.stdout)


@needs_node
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_javascript_agrees_with_python(name, tmp_path):
    model, X = fit(name), make_fresh_rows()
    found = run_javascript(model, tmp_path, list_rows(X))
    np.testing.assert_allclose(found, predict(model, X), rtol=0, atol=1e-12)


@needs_node
def test_javascript_refuses_what_python_refuses(tmp_path):
    X, y = make_table(100, 0)
    X = X[["height", "letter"]]
    model = NaiveBayesClassifier(unseen="error").fit(X, y)
    rows = [
        {"height": 1.0, "letter": "a"},
        {"height": 1.0, "letter": "zzz"},
        {"height": None, "letter": "a"},
        {"height": "tall", "letter": "a"},
    ]
    good, *messages = run_javascript(model, tmp_path, rows)
    np.testing.assert_allclose([good], model.predict_proba(X.assign(height=1.0, letter="a")[:1]))
    assert messages == [
        "column 'letter' has a value that training did not have: zzz",
        "column 'height' has a value that training did not have: null",
        "column 'height' must hold numbers, as it does in training, got 'tall'",
    ]


ROWS = {
    "{ ...good, int_rate: undefined, Int_rate: 25 }": 'row has no "int_rate"; it has "Int_rate"',
    "{ ...good, zzz: 1, trm: 2, term: undefined }": 'row has no "term"; it has "trm"',
    "{ ...good, term: undefined }": 'row has no "term"; a missing value is null',
    "{}": 'row has no "int_rate", "term", "toString" and 1 more; a missing value is null',
    "{ int_rate: 1, term: null, toString: 1, __proto__: 1, id: 7 }": 'row has no "__proto__"; '
    'it has "id"',
    '{ ...good, id: 7, "a\\"": 8 }': 'row has "id", "a\\"", which the model does not know',
    "null": "row must be an object with a value for each feature, got null",
    "undefined": "row must be an object with a value for each feature, got undefined",
    '[25, "a"]': "row must be an object with a value for each feature, got an array",
    "25": "row must be an object with a value for each feature, got a number",
}
"""Rows that are refused, as JavaScript, and the message."""


@needs_node
def test_a_row_without_a_feature_or_with_another_key_is_refused_by_name(tmp_path):
    X = pd.DataFrame({"int_rate": np.arange(60.0) % 7, "term": ["a", "b", None] * 20})
    X["toString"], X["__proto__"] = [1.0, 2.0] * 30, [1.0, 2.0, 3.0] * 20
    model = NaiveBayesClassifier().fit(X, [0, 1, 1] * 20)
    run_javascript(model, tmp_path, [])
    good = '{ int_rate: null, term: null, toString: 1, ["__proto__"]: 2 }'
    rows = ", ".join(["good", "{ ...good, id: undefined }", *ROWS])
    (tmp_path / "main.js").write_text(
        f"const good = {good};\n{MAIN.replace('rows.map', f'[{rows}].map')}"
    )
    ran = subprocess.run(["node", "main.js"], cwd=tmp_path, capture_output=True, check=True)
    found, messages = json.loads(ran.stdout)[:2], json.loads(ran.stdout)[2:]
    row = {"int_rate": np.nan, "term": None, "toString": 1.0, "__proto__": 2.0}
    expected = predict(model, pd.DataFrame([row]).astype(X.dtypes))
    np.testing.assert_allclose(found, np.repeat(expected, 2, axis=0), rtol=0, atol=1e-12)
    assert messages == list(ROWS.values())
    for wrong in (X.drop(columns="term"), X.assign(id=7)):
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict_proba(wrong)


@needs_node
def test_text_is_missing_where_numeric_features_say_so(tmp_path):
    X, y = make_table(200, 0)
    model = NaiveBayesClassifier(numeric_features=["weight"], missing_values=["?", -1])
    model.fit(X[["weight"]], y)
    rows = [{"weight": value} for value in ("heavy", "?", -1, "-1", " 1e0", "0.5", None)]
    found = run_javascript(model, tmp_path, rows)
    expected = model.predict_proba(pd.DataFrame(rows, dtype=object))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_the_description_is_the_content_of_the_file(tmp_path):
    description = export_json(fit("flagship"), tmp_path / "model.json")
    assert json.loads((tmp_path / "model.json").read_text()) == description


def test_classifiers_of_other_libraries_are_refused_by_name():
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
    pool = LogLinearPool([("other", LogisticRegression())]).fit(X, y)
    with pytest.raises(TypeError, match="pool of such classifiers, got a LogisticRegression"):
        export_json(pool)


def test_a_tree_without_splits_is_one_leaf():
    tree = ProbabilityTreeClassifier("laplace").fit([[1.0], [1.0]], [0, 1])
    step = export_json(tree)["model"]["step"]
    assert step["root"]["shape"] == [1]
    assert step["feature"]["shape"] == [0]
