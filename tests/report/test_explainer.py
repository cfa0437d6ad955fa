"""Contributions that the page computes are those of Python."""

from __future__ import annotations

import json
import shutil
import subprocess
import warnings
from importlib.resources import files

import numpy as np
import pytest

from export.cases import CLASSIFIERS, fit, list_rows, make_fresh_rows
from priorwise.export import export_json, javascript_evaluator

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="needs Node (node)")

MAIN = """
const fs = require("fs"), priorwise = require("./evaluator.js");
require("./explainer.js");
const model = priorwise.load(JSON.parse(fs.readFileSync("model.json", "utf-8")));
const rows = JSON.parse(fs.readFileSync("rows.json", "utf-8"));
console.log(JSON.stringify(rows.map((row) => {
  const { bias, terms } = priorwise.explain(model, row);
  return { bias: Array.from(bias), terms: Array.from(terms) };
})));
"""


@needs_node
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_contributions_of_the_page_are_those_of_python(name, tmp_path):
    model, X = fit(name), make_fresh_rows()
    export_json(model, tmp_path / "model.json", explanations=True)
    (tmp_path / "evaluator.js").write_text(javascript_evaluator(), encoding="utf-8")
    script = (
        files("priorwise.report").joinpath("assets", "explainer.js").read_text(encoding="utf-8")
    )
    (tmp_path / "explainer.js").write_text(script, encoding="utf-8")
    (tmp_path / "main.js").write_text(MAIN)
    (tmp_path / "rows.json").write_text(json.dumps(list_rows(X)))
    ran = subprocess.run(
        ["node", "main.js"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    found = json.loads(ran.stdout)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = model.explain(X)
    shape = expected.contributions.shape
    bias = np.array([row["bias"] for row in found])
    terms = np.array([row["terms"] for row in found]).reshape(shape)
    if name == "pool":  # a frozen member is explained by the page alone
        np.testing.assert_allclose(bias + terms.sum(axis=1), expected.log_odds, rtol=0, atol=1e-9)
        return
    np.testing.assert_allclose(bias, np.broadcast_to(expected.bias, bias.shape), rtol=0, atol=1e-9)
    np.testing.assert_allclose(terms, expected.contributions, rtol=0, atol=1e-9)
