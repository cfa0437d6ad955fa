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
