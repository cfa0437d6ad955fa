"""Intervals that the page computes are those of Python."""

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
from priorwise.report.spread import LEVELS, describe_spread

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="needs Node (node)")

MAIN = """
const fs = require("fs"), priorwise = require("./evaluator.js");
require("./intervals.js");
const read = (name) => JSON.parse(fs.readFileSync(name, "utf-8"));
const rows = read("rows.json"), result = {};
for (const [name, { description, spread }] of Object.entries(read("models.json"))) {
  const model = priorwise.load(description), rule = priorwise.unpackAll(spread.rule);
  result[name] = spread.levels.map((level) => rows.map((row) => {
    const ends = priorwise.findIntervals(model, rule, row, model.predictProba(row), level);
    return [Array.from(ends.lower), Array.from(ends.upper)];
  }));
}
console.log(JSON.stringify(result));
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    if shutil.which("node") is None:
        pytest.skip("needs Node (node)")
    folder = tmp_path_factory.mktemp("intervals")
    models = {
        name: {"description": export_json(fit(name)), "spread": describe_spread(fit(name))}
        for name in CLASSIFIERS
    }
    (folder / "models.json").write_text(json.dumps(models))
    (folder / "rows.json").write_text(json.dumps(list_rows(make_fresh_rows())))
    (folder / "evaluator.js").write_text(javascript_evaluator(), encoding="utf-8")
    script = files("priorwise.report").joinpath("assets", "intervals.js")
    (folder / "intervals.js").write_text(script.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "main.js").write_text(MAIN)
    ran = subprocess.run(["node", "main.js"], cwd=folder, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_intervals_of_the_page_are_those_of_python(name, found):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = [fit(name).predict_interval(make_fresh_rows(), level) for level in LEVELS]
    np.testing.assert_allclose(np.swapaxes(found[name], 1, 2), expected, rtol=0, atol=1e-6)
