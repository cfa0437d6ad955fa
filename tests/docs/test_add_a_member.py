"""The member of the guide gets from its step what the guide promises."""

import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import priorwise
import priorwise.public_names  # every class is known before the guide adds its own
from priorwise.common.estimator import Estimator
from priorwise.common.records import Record
from priorwise.export import export_c, export_json, export_onnx, export_sql, javascript_evaluator
from reference.log_odds import against_others

GUIDE = (Path(__file__).parents[2] / "docs" / "add_a_member.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", GUIDE, re.S)
(SCRIPT,) = re.findall(r"```js\n(.*?)```", GUIDE, re.S)


@pytest.fixture
def member(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """All names of the files of the guide, which are gone after the test."""
    monkeypatch.setattr(Record, "kinds", dict(Record.kinds))
    monkeypatch.setattr(Estimator, "kinds", dict(Estimator.kinds))
    names: dict[str, Any] = {}
    for block in BLOCKS:
        path = re.match(r"# (?:src|tests)/(\S+)\.py\n", block)
        if path:
            module = ModuleType(path[1].replace("/", "."))
            monkeypatch.setitem(sys.modules, module.__name__, module)
            exec(block, vars(module))
            names |= vars(module)
    return names


@pytest.fixture
def fitted(member: dict[str, Any]) -> tuple[Any, Any, Any]:
    """The member, fitted to a table of numbers, some missing, and labels; and the table."""
    X, y = make_table()
    return member["NeighboursClassifier"](7, random_state=0).fit(X, y), X, y


def make_table() -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    X = np.empty((80, 3), dtype=object)
    X[:, 0] = rng.normal(size=80)
    X[:, 1] = rng.choice(["red", "green", "blue"], 80)
    X[:, 2] = rng.normal(size=80)
    y = (X[:, 0].astype(float) + (X[:, 1] == "red") > 0.3).astype(int) + (X[:, 2] > 1.0)
    X[::9, 2] = None
    return X, y


def test_the_code_of_the_guide_runs_from_top_to_bottom(
    member: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(BLOCKS[2], member)
    printed = capsys.readouterr().out
    assert printed.startswith("True\nNeighbours\n")
    assert "Neighbours: 0 nominal, 300 rows, 3 numeric, 2 classes" in printed
    pool, X = member["pool"], member["X"]
    loaded = priorwise.load("pool.priorwise")
    np.testing.assert_array_equal(loaded.predict_proba(X), pool.predict_proba(X))


def test_the_member_agrees_with_its_twin(member: dict[str, Any], rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(50, 4)), rng.integers(3, size=50)
    rows = rng.normal(size=(10, 4))
    model = member["NeighboursClassifier"](6).fit(X, y)
    twin = [member["predict_neighbours"](row, X, y, 6, 3) for row in rows]
    np.testing.assert_allclose(model.predict_proba(rows), twin, rtol=1e-12)


def test_a_saved_member_predicts_the_same_bits_and_a_forged_one_is_refused(
    fitted: tuple[Any, Any, Any], tmp_path: Path
) -> None:
    model, X, _ = fitted
    model.save(tmp_path / "model")
    loaded = priorwise.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    step = model.step_
    for name, wrong in [
        ("y", step.y + 3),
        ("codes", step.codes[:0]),
        ("mean", np.append(step.mean, 0.0)),
        ("n_neighbours", 0),
    ]:
        model.step_ = replace(step, **{name: wrong})
        model.save(tmp_path / "forged")
        with pytest.raises(ValueError, match="forged"):
            priorwise.load(tmp_path / "forged")


def test_explanations_of_the_member_add_up(fitted: tuple[Any, Any, Any]) -> None:
    model, X, _ = fitted
    explanation = model.explain(X)
    expected = against_others(np.log(model.predict_proba(X)))
    np.testing.assert_allclose(explanation.log_odds, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(explanation.remainder, 0.0)
    assert np.abs(explanation.contributions).max(axis=(0, 2)).min() > 0.0


def test_a_feature_that_changes_nothing_adds_nothing(member: dict[str, Any]) -> None:
    X, y = make_table()
    X[:, 2] = 1.0
    model = member["NeighboursClassifier"]().fit(X, y)
    np.testing.assert_array_equal(model.explain(X).contributions[:, 2], 0.0)


def test_the_member_has_intervals_a_report_a_summary_and_a_card(
    fitted: tuple[Any, Any, Any], tmp_path: Path
) -> None:
    model, X, y = fitted
    lower, upper = model.predict_interval(X)
    proba = model.predict_proba(X)
    assert (lower <= proba).all()
    assert (proba <= upper).all()
    assert (lower < upper).any()
    model.report(X, y, tmp_path / "report.html")
    text = "Neighbours: 1 nominal, 80 rows, 2 numeric, 3 classes"
    assert text in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert text in str(model.summary())


def test_a_pool_with_the_member_is_explained_and_saved(
    member: dict[str, Any], tmp_path: Path
) -> None:
    X, y = make_table()
    members = [
        ("neighbours", member["NeighboursClassifier"](5)),
        ("bayes", priorwise.NaiveBayesClassifier()),
    ]
    pool = priorwise.LogLinearPool(members, random_state=0).fit(X, y)
    assert pool.step_.weight[0] > 0.0
    np.testing.assert_array_equal(pool.explain(X).remainder, 0.0)
    pool.save(tmp_path / "pool")
    loaded = priorwise.load(tmp_path / "pool")
    np.testing.assert_array_equal(loaded.predict_proba(X), pool.predict_proba(X))


@pytest.mark.parametrize("export", [export_c, export_sql, export_onnx])
def test_ways_out_that_need_a_layout_name_the_step(
    fitted: tuple[Any, Any, Any], export: Any, tmp_path: Path
) -> None:
    with pytest.raises(TypeError, match="Neighbours has no layout"):
        export(fitted[0])
    with pytest.raises(TypeError, match="Neighbours has no layout"):
        fitted[0].explorer(tmp_path / "page.html")


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node (node)")
def test_javascript_evaluates_the_json_once_it_has_the_class(
    member: dict[str, Any], tmp_path: Path, rng: np.random.Generator
) -> None:
    X, y = rng.normal(size=(60, 3)), rng.integers(2, size=60)
    model = member["NeighboursClassifier"](5).fit(X, y)
    export_json(model, tmp_path / "model.json")
    (tmp_path / "evaluator.js").write_text(javascript_evaluator())
    rows = [{f"x{i}": value for i, value in enumerate(row)} for row in X[:5].tolist()]
    (tmp_path / "main.js").write_text(
        'const priorwise = require("./evaluator.js"), description = require("./model.json");\n'
        "let refusal = null;\n"
        "try { priorwise.load(description); } catch (error) { refusal = error.message; }\n"
        f"{SCRIPT}\nconst model = priorwise.load(description);\n"
        f"const proba = {json.dumps(rows)}.map((row) => model.predictProba(row));\n"
        "console.log(JSON.stringify({ refusal, proba }));\n"
    )
    ran = subprocess.run(
        ["node", "main.js"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    answer = json.loads(ran.stdout)
    assert answer["refusal"] == "priorwise.steps has no class Neighbours"
    np.testing.assert_allclose(answer["proba"], model.predict_proba(X[:5]), rtol=1e-9)
