"""Models as ONNX, run by onnxruntime."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator

from export.cases import fit, make_fresh_rows, make_table, predict, takes_text
from priorwise import (
    BoostingClassifier,
    LogLinearPool,
    PriorwiseClassifier,
    ProbabilityForestClassifier,
    ProbabilityTreeClassifier,
    SplineLogisticClassifier,
)
from priorwise.export import export_c, export_onnx

NOMINAL = ["post code", "is new", "letter", 'colour "1"']


def run_onnx(model, X):
    """Labels and probabilities of rows by onnxruntime; None is an empty text or NaN."""
    runtime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")
    session = runtime.InferenceSession(
        export_onnx(model).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    feed = {}
    for name, nominal in zip(X, takes_text(model), strict=True):
        values = X[name].astype(object)
        if nominal:
            texts = ["" if pd.isna(value) else str(value).strip() for value in values]
            feed[name] = np.array(texts, dtype=object)[:, None]
        else:
            feed[name] = values.to_numpy(dtype=np.float64)[:, None]
    return session.run(None, feed)


def fit_flagship():
    """A flagship of trees and logistic members, with boosting."""
    X, y = make_table(800, 0)
    members = [
        ("forest", ProbabilityForestClassifier(9, splitter="random")),
        ("imputed", SplineLogisticClassifier(missing="impute")),
        ("kernel", fit("kernel")),
    ]
    for _, member in members:
        member.set_params(categorical_features=NOMINAL)
    model = PriorwiseClassifier("fast", estimators=members, random_state=0)
    return model.set_params(categorical_features=NOMINAL).fit(X, y)


@pytest.mark.parametrize(
    "name",
    [
        "tree", "tree, hard", "tree, soft", "forest of best splits", "forest of random splits",
        "boosting", "spline", "spline, imputed", "kernel", "Gaussians", "Gaussians, naive",
        "flagship of trees and logistic members",
    ],
)  # fmt: skip
def test_onnxruntime_agrees_with_python(name):
    model = fit_flagship() if name.startswith("flagship of") else fit(name)
    X = make_fresh_rows()
    label, proba = run_onnx(model, X)
    expected = predict(model, X)
    np.testing.assert_allclose(proba, expected, rtol=0, atol=1e-9)
    assert label.tolist() == model.classes_[expected.argmax(axis=1)].tolist()


def test_values_at_a_threshold_go_the_way_they_go_in_python():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > X[:, 2])
    tree = ProbabilityTreeClassifier("laplace", soft_thresholds=None).fit(X, y)
    thresholds = tree.tree_.threshold[np.isfinite(tree.tree_.threshold)]
    rows = np.concatenate([np.nextafter(thresholds, -9), thresholds, np.nextafter(thresholds, 9)])
    frame = pd.DataFrame(np.repeat(rows[:, None], 3, axis=1), columns=["x0", "x1", "x2"])
    label, proba = run_onnx(tree, frame)
    np.testing.assert_allclose(proba, tree.predict_proba(frame.to_numpy()), rtol=0, atol=1e-12)
    assert label.dtype == np.int64


@pytest.mark.parametrize(
    "model", [ProbabilityTreeClassifier("laplace", soft_thresholds=None), BoostingClassifier()]
)
def test_a_model_without_splits_and_columns_named_like_outputs(model):
    X = pd.DataFrame({"label": [1.0] * 4, "probabilities": [2.0] * 4})
    label, proba = run_onnx(model.fit(X, [False, True] * 2), X)
    assert proba.shape == (4, 2)
    np.testing.assert_allclose(proba, 0.5)
    assert label.dtype == np.bool_


def test_the_file_holds_the_model(tmp_path):
    onnx = pytest.importorskip("onnx", reason="needs onnx")
    model = export_onnx(fit("tree"), tmp_path / "model.onnx")
    assert onnx.load(tmp_path / "model.onnx") == model


@pytest.mark.parametrize("name", ["naive Bayes", "flagship"])
def test_networks_are_refused_with_the_exports_that_take_them(name):
    with pytest.raises(ValueError, match="with networks: use export_c, export_json or export_sql"):
        export_onnx(fit(name))


def make_codes():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"code": rng.choice(["1", "2", "3"], 200), "size": rng.normal(size=200)})
    return X.astype({"code": object}), (X["code"] == "1").to_numpy() ^ (rng.random(200) < 0.1)


def test_texts_of_digits_that_are_labels_are_read_as_in_python():
    X, y = make_codes()
    settings: dict[str, Any] = {"categorical_features": ["code"]}
    members = [("forest", ProbabilityForestClassifier(9, random_state=0, **settings)),
               ("spline", SplineLogisticClassifier(random_state=0, **settings))]  # fmt: skip
    model = LogLinearPool(members, random_state=0, **settings).fit(X, y)
    rows = pd.DataFrame({"code": ["1", "2.0", "4", None], "size": [0.5, np.nan, 1.0, 2.0]})
    _, proba = run_onnx(model, rows)
    np.testing.assert_allclose(proba, predict(model, rows), rtol=0, atol=1e-9)


@pytest.mark.parametrize("export", [export_onnx, export_c])
def test_a_column_of_two_types_is_refused_by_name(export):
    X, y = make_codes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        numbers = FrozenEstimator(ProbabilityForestClassifier(5, random_state=0).fit(X, y))
        labels = SplineLogisticClassifier(categorical_features=["code"], random_state=0)
        pool = LogLinearPool(
            [("numbers", numbers), ("labels", labels)], categorical_features=["code"]
        ).fit(X, y)
    with pytest.raises(ValueError, match=r"column 'code' is read as labels by some members .* and"):
        export(pool)


def test_a_column_without_a_name_is_refused():
    tree = ProbabilityTreeClassifier("laplace").fit(pd.DataFrame({"": [1.0, 2.0] * 9}), [0, 1] * 9)
    with pytest.raises(ValueError, match="ONNX cannot have an input of the name ''"):
        export_onnx(tree)


def test_models_that_refuse_values_are_refused():
    X, y = make_table(50, 0)
    model = ProbabilityTreeClassifier(unseen="error").fit(X[["letter"]], y)
    with pytest.raises(ValueError, match="unseen must be 'backoff' to export a model to ONNX"):
        export_onnx(model)


def test_without_the_package_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install priorwise\[onnx\]"):
        export_onnx(fit("tree"))
