"""Contributions and intervals that the page computes are those of Python."""

from __future__ import annotations

import json
import shutil
import subprocess
import warnings
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from export.cases import CLASSIFIERS, fit, list_rows, make_fresh_rows
from priorwise import PriorwiseClassifier
from priorwise.export import export_json, javascript_evaluator
from priorwise.report.explorer import LEVELS, describe_spread

MAIN = """
const fs = require("fs"), priorwise = require("./evaluator.js");
require("./explainer.js");
require("./intervals.js");
const read = (name) => JSON.parse(fs.readFileSync(name, "utf-8"));
const rows = read("rows.json"), { description, spread } = read("model.json");
const model = priorwise.load(description);
console.log(JSON.stringify({
  explanations: rows.map((row) => {
    const { bias, terms } = priorwise.explain(model, row);
    return { bias: Array.from(bias), terms: Array.from(terms) };
  }),
  intervals: spread.levels.map((level) => rows.map((row) => {
    const proba = model.predictProba(row);
    const ends = priorwise.findIntervals(proba, spread.calibration, level.deviations);
    return [Array.from(ends.lower), Array.from(ends.upper)];
  })),
}));
"""


needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="needs Node (node)")


def ask_page(model, X, tmp_path):
    """Return the explanations and intervals that the scripts of the page give."""
    content = {
        "description": export_json(model, explanations=True),
        "spread": describe_spread(model),
    }
    (tmp_path / "model.json").write_text(json.dumps(content))
    (tmp_path / "rows.json").write_text(json.dumps(list_rows(X)))
    (tmp_path / "evaluator.js").write_text(javascript_evaluator(), encoding="utf-8")
    for script in ("explainer.js", "intervals.js"):
        text = files("priorwise.report").joinpath("assets", script).read_text(encoding="utf-8")
        (tmp_path / script).write_text(text, encoding="utf-8")
    (tmp_path / "main.js").write_text(MAIN)
    ran = subprocess.run(
        ["node", "main.js"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    return json.loads(ran.stdout)


@needs_node
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_contributions_and_intervals_of_the_page_are_those_of_python(name, tmp_path):
    # Every kind of fresh value is in four neighbouring rows or more.
    model, X = fit(name), make_fresh_rows()[::3]
    found = ask_page(model, X, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = model.explain(X)
        ends = [model.predict_interval(X, level) for level in LEVELS]
    np.testing.assert_allclose(np.swapaxes(found["intervals"], 1, 2), ends, rtol=0, atol=1e-8)
    shape = expected.contributions.shape
    bias = np.array([row["bias"] for row in found["explanations"]])
    terms = np.array([row["terms"] for row in found["explanations"]]).reshape(shape)
    if name == "pool":  # a frozen member is explained by the page alone
        np.testing.assert_allclose(bias + terms.sum(axis=1), expected.log_odds, rtol=0, atol=1e-9)
        return
    np.testing.assert_allclose(bias, np.broadcast_to(expected.bias, bias.shape), rtol=0, atol=1e-9)
    np.testing.assert_allclose(terms, expected.contributions, rtol=0, atol=1e-9)


@needs_node
def test_features_add_nothing_to_a_row_of_which_nothing_is_known(tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = PriorwiseClassifier("fast", random_state=0).fit(X[20:], y[20:])
    rows = pd.DataFrame(np.full((1, 4), np.nan), columns=X.columns)
    (found,) = ask_page(model, rows, tmp_path)["explanations"]
    assert not np.any(found["terms"])
    np.testing.assert_allclose(found["bias"], model.explain(rows).log_odds[0], rtol=0, atol=1e-9)
