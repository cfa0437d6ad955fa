"""A limit on the memory of `fit`."""

import json
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import children
from priorwise import (
    AODEClassifier,
    ESKDBClassifier,
    KDBClassifier,
    KDFClassifier,
    KernelLogisticClassifier,
    LogLinearPool,
    NaiveBayesClassifier,
    PriorwiseClassifier,
    ProbabilityForestClassifier,
    ProbabilityTreeClassifier,
    SelectiveKDBClassifier,
    SplineLogisticClassifier,
    SuperParentClassifier,
    TANClassifier,
)


def make_rows(n_rows: int = 2_000, n_features: int = 8) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 5, size=(n_rows, n_features))
    frame = pd.DataFrame({f"c{i}": pd.Categorical(column) for i, column in enumerate(codes.T)})
    frame["x"] = rng.normal(size=n_rows)
    return frame, (codes[:, 0] + codes[:, 1] > 4 + rng.normal(size=n_rows)).astype(int)


LOWERED: dict[str, tuple[Any, str, str]] = {
    "networks": (ESKDBClassifier(2, max_bins=8), "3MB", "max_parents=. instead of 4"),
    "kdb": (KDBClassifier(4), "1MB", "max_parents=. instead of 4"),
    "selective": (SelectiveKDBClassifier(4), "1MB", "max_parents=. instead of 4"),
    "kdf": (KDFClassifier(3), "3MB", "max_parents=. instead of 3"),
    "forest": (
        ProbabilityForestClassifier(40, splitter="random"),
        "0.9MB",
        "min_samples_leaf=.* instead of 1, n_estimators=.* instead of 40",
    ),
    "best": (ProbabilityForestClassifier(20), "2MB", "min_samples_leaf=.* instead of 1"),
    "tree": (
        ProbabilityTreeClassifier(criterion="gain", nominal_splits="values"),
        "1.1MB",
        "min_samples_leaf=.* instead of 2",
    ),
    "kernel": (
        KernelLogisticClassifier(200, bandwidths=(1.0,)),
        "5MB",
        "n_landmarks=.* instead of 200",
    ),
    "flagship": (
        PriorwiseClassifier("fast"),
        "2.7MB",
        "forest: min_samples_leaf=4 .*; kernel: left out; networks: max_parents=. instead of .",
    ),
}
OTHERS = {
    "naive": NaiveBayesClassifier(),
    "tan": TANClassifier(),
    "superparent": SuperParentClassifier(),
    "aode": AODEClassifier(),
    "spline": SplineLogisticClassifier(),
    "pool": LogLinearPool([("bayes", NaiveBayesClassifier()), ("tan", TANClassifier())]),
}
MODELS = {name: model for name, (model, *_) in LOWERED.items()} | OTHERS


@pytest.mark.parametrize("name", MODELS)
def test_a_generous_limit_changes_no_bit(name: str) -> None:
    X, y = make_rows(400, 5)
    model = clone(MODELS[name]).set_params(random_state=0)
    plain = model.fit(X, y).predict_proba(X)
    limited = clone(model).set_params(memory_limit="100GB").fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(plain, limited)


@pytest.mark.parametrize("name", LOWERED)
def test_a_fit_beyond_the_limit_warns_once_of_what_was_left_out(name: str) -> None:
    X, y = make_rows()
    model, limit, text = LOWERED[name]
    model = clone(model).set_params(random_state=0, memory_limit=limit)
    before = {key: repr(value) for key, value in model.get_params().items()}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    rule = "memory_limit of .* MB is less than the .* MB that the fit would take .* learns less: "
    assert re.fullmatch(rule + text, str(caught[0].message))
    assert {key: repr(value) for key, value in model.get_params().items()} == before
    proba = model.predict_proba(X)
    assert (np.abs(proba.sum(axis=1) - 1.0) < 1e-9).all()


def test_a_lowered_fit_is_that_of_lower_parameters() -> None:
    X, y = make_rows()
    with pytest.warns(UserWarning, match="max_parents=3 instead of 4"):
        limited = KDBClassifier(4, memory_limit="1MB").fit(X, y)
    lower = KDBClassifier(3).fit(X, y)
    np.testing.assert_array_equal(limited.predict_proba(X), lower.predict_proba(X))


@pytest.mark.parametrize("name", MODELS)
def test_a_limit_that_nothing_keeps_raises_and_leaves_the_model_as_it_was(name: str) -> None:
    X, y = make_rows(300, 4)
    model = clone(MODELS[name]).set_params(random_state=0).fit(X, y)
    before = model.predict_proba(X)
    rule = "memory_limit must be at least .* MB, .* 300 rows, 5 features and 2 classes .*0.01 MB"
    with pytest.raises(MemoryError, match=rule):
        model.set_params(memory_limit="10kB").fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), before)


@pytest.mark.parametrize("limit", ["much", 0, -5, float("nan"), True])
def test_a_limit_that_is_no_size_raises(limit: Any) -> None:
    X, y = make_rows(50, 2)
    with pytest.raises(ValueError, match="memory_limit must be a number of bytes or a text"):
        NaiveBayesClassifier(memory_limit=limit).fit(X, y)


CHILD = """
import json, sys, warnings
from pathlib import Path
import numpy as np
from priorwise import KDBClassifier, ProbabilityForestClassifier

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024

limit = json.loads(sys.argv[2])
rng = np.random.default_rng(0)
X, y = rng.integers(0, 8, size=(4_900, 20)), rng.integers(0, 2, 4_900)
model = {
    "kdb": KDBClassifier(5, categorical_features=list(range(20)), smoothing="m-branch"),
    "forest": ProbabilityForestClassifier(80, splitter="random", random_state=0),
}[sys.argv[1]]
model.fit(X[:50], y[:50])
before = peak()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    model.set_params(memory_limit=limit).fit(X, y)
texts = [str(one.message) for one in caught]
print(json.dumps({"taken": peak() - before, "warnings": texts}))
"""


def fit_apart(model: str, limit: str | None, folder: Path) -> dict[str, Any]:
    child = children.run_code(CHILD, model, json.dumps(limit), folder=folder)
    assert child.returncode == 0, child.stderr
    return dict(json.loads(child.stdout))


@pytest.mark.skipif(sys.platform != "linux", reason="/proc/self/status is of Linux")
@pytest.mark.parametrize(("model", "limit"), [("kdb", "10MB"), ("forest", "4MB")])
def test_a_fit_with_a_small_limit_takes_less_memory(model: str, limit: str, tmp_path: Path) -> None:
    whole, limited = fit_apart(model, None, tmp_path), fit_apart(model, limit, tmp_path)
    assert whole["warnings"] == []
    assert len(limited["warnings"]) == 1
    assert "memory_limit" in limited["warnings"][0]
    assert limited["taken"] < 0.6 * whole["taken"]
