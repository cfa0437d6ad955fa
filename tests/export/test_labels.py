"""Labels of every kind mean the same in every export as in Python."""

from __future__ import annotations

import re
import shutil
import sys
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from export.c_program import run_c
from export.cases import list_rows, predict
from export.sql.databases import DIALECTS, run_sql
from export.test_json_file import run_javascript
from export.test_onnx_file import run_onnx
from priorwise import NaiveBayesClassifier, SplineLogisticClassifier
from priorwise.data.tables.label_keys import SPACES, label_key
from priorwise.export import export_c, export_onnx, export_sql

LABELS = [
    "red", "gr\u00fcn", "\u96ea", "\U0001f600", "it's", '"', "\\", "\\n", "a\\", "??/", "%s", "{0}",
    "a\nb", "a\tb", "a\u00a0b", "\ufeffred", "\u200bred", "null", "--", "/*", "*/", "</script>",
    "e\u0301", "\u00e9", "Red", "RED", "1.50", "007", "1e5", "x" * 10_000, "x" * 9_999, "$1", "\\0",
]  # fmt: skip
"""Labels that differ, though some of them little."""

NUMBERS = ["10115", "-3", "2.5", "0"]


def spell(labels):
    """Each label with and without white space of every kind around it."""
    rows = [*labels, *(f"{space}{labels[i % 8]}" for i, space in enumerate(SPACES))]
    rows += [f"{labels[i % 8]}{space}" for i, space in enumerate(SPACES)]
    rows += [f"{SPACES}{labels[0]}{SPACES}", "red\ufeff", "red\u200b", "red\u180e", "new"]
    return rows


@cache
def fit_labels(kind=NaiveBayesClassifier):
    labels = LABELS + NUMBERS
    X = pd.DataFrame({"label": np.repeat(labels, 8), "size": np.arange(8.0 * len(labels))})
    y = np.random.default_rng(0).integers(0, 2, len(X))
    return kind(categorical_features=["label"]).fit(X.astype({"label": object}), y)


def make_rows():
    numbers = ["10115.0", "-3.0", "2.50", "-0", "-0.0", "TRUE", " 2.5\u3000", "10115\x85"]
    frame = pd.DataFrame({"label": [*spell(LABELS), *numbers], "size": 1.0})
    return frame.astype({"label": object})


def test_the_list_of_spaces_is_python_s():
    assert "".join(filter(str.isspace, map(chr, range(sys.maxunicode + 1)))) == SPACES
    assert [label_key(f"{s}red{s}") for s in SPACES] == ["red"] * len(SPACES)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_sql_reads_labels_as_python_does(dialect, request):
    model, X = fit_labels(), make_rows()
    found = run_sql(dialect, export_sql(model, dialect=dialect), X, request)
    np.testing.assert_allclose(np.array(found, float), predict(model, X), rtol=0, atol=1e-9)


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler (cc)")
def test_c_reads_labels_as_python_does(tmp_path):
    model, X = fit_labels(), make_rows()
    (found,) = run_c([model], tmp_path, X)
    np.testing.assert_allclose(found, predict(model, X), rtol=0, atol=1e-9)


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node (node)")
def test_javascript_reads_labels_as_python_does(tmp_path):
    model, X = fit_labels(), make_rows()
    found = run_javascript(model, tmp_path, list_rows(X))
    np.testing.assert_allclose(found, predict(model, X), rtol=0, atol=1e-9)


def test_onnx_reads_labels_as_python_does():
    model, X = fit_labels(SplineLogisticClassifier), make_rows()
    _, found = run_onnx(model, X)
    np.testing.assert_allclose(found, predict(model, X), rtol=0, atol=1e-9)


def fit_odd(label, kind=SplineLogisticClassifier):
    """A model of three labels, one of them odd, and rows with each of them."""
    X = np.array([["red"], ["a"], [label]] * 10, dtype=object)
    return kind().fit(X, (X[:, 0] == label).astype(int)), X[:3]


REFUSED = {
    "a\0b": {"C": export_c, "postgres": lambda model: export_sql(model, dialect="postgres")},
    "\ud800": {
        "ONNX": export_onnx,
        "duckdb": export_sql,
        "postgres": lambda model: export_sql(model, dialect="postgres"),
        "sqlite": lambda model: export_sql(model, dialect="sqlite"),
    },
}


@pytest.mark.parametrize("label", REFUSED)
def test_labels_that_a_program_cannot_have_are_refused_by_name(label):
    pytest.importorskip("onnx", reason="needs onnx")
    model, _ = fit_odd(label)
    for name, export in REFUSED[label].items():
        problem = re.escape(f"{name} cannot have the label {label!r} of column 'x0': replace it")
        with pytest.raises(ValueError, match=problem):
            export(model)


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_databases_read_the_character_0_as_python_does(dialect, request):
    model, X = fit_odd("a\0b")
    rows = pd.DataFrame({"x0": pd.Series(X[:, 0], dtype=object)})
    found = run_sql(dialect, export_sql(model, dialect=dialect), rows, request)
    np.testing.assert_allclose(found, model.predict_proba(X), rtol=0, atol=1e-9)


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node (node)")
@pytest.mark.parametrize("label", REFUSED)
def test_javascript_reads_odd_labels_as_python_does(label, tmp_path):
    model, X = fit_odd(label)
    found = run_javascript(model, tmp_path, [{"x0": one} for one in X[:, 0]])
    np.testing.assert_allclose(found, model.predict_proba(X), rtol=0, atol=1e-9)


@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
def test_labels_differ_in_case_whatever_the_collation_of_the_column(dialect, request):
    model, X = fit_odd("A")
    rows = pd.DataFrame({"x0": X[:, 0]})
    query = export_sql(model, dialect=dialect)
    if dialect == "duckdb":
        query = query.replace('t."x0"', 't."x0" COLLATE NOCASE')
        found = run_sql(dialect, query, rows, request)
    else:
        column = '(CAST(t."x0" AS text) COLLATE nocase)'
        make = (
            "CREATE COLLATION IF NOT EXISTS nocase (provider = icu, "
            "locale = 'und-u-ks-level2', deterministic = false);\n"
        )
        found = run_sql(dialect, make + query.replace('t."x0"', column), rows, request)
    np.testing.assert_allclose(np.array(found, float), model.predict_proba(X), rtol=0, atol=1e-9)


NUMERIC: dict[str, tuple[list[Any], str]] = {
    "numbers": ([1e-5, 2.5, 0.1, 1 / 3, 100.0, 3.0, np.nan], "float8"),
    "large numbers": ([1e15, 1e16, 1e22, 1.5e30, 7.0], "float8"),
    "whole numbers": ([123456789012345, 2**53 - 1, -4, 0, 1], "bigint"),
    "decimals": ([3.0, 2.5, -0.25, 10.0], "numeric(10, 3)"),
    "booleans": ([True, False], "boolean"),
}
"""Labels that are numbers, and the type of a column of them in PostgreSQL."""


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("kind", NUMERIC)
def test_databases_read_labels_that_are_numbers_as_python_does(dialect, kind, request):
    labels, postgres_type = NUMERIC[kind]
    X = pd.DataFrame({"code": np.repeat(labels, 9)})
    y = np.random.default_rng(0).integers(0, 2, len(X))
    model = NaiveBayesClassifier(categorical_features=["code"]).fit(X, y)
    rows = pd.DataFrame({"code": [*labels, 0, 1] if kind != "booleans" else labels})
    query = export_sql(model, dialect=dialect)
    if kind == "decimals" and dialect == "duckdb":
        query = query.replace('t."code"', 'CAST(t."code" AS DECIMAL(10, 3))')
    found = run_sql(dialect, query, rows, request, {"code": postgres_type})
    np.testing.assert_allclose(np.array(found, float), predict(model, rows), rtol=0, atol=1e-9)


def test_whole_numbers_that_doubles_round_are_refused_by_name():
    X = pd.DataFrame({"key": [2**53 + 1, 2**53 + 2] * 9})
    model = NaiveBayesClassifier(categorical_features=["key"]).fit(X, [0, 1] * 9)
    with pytest.raises(ValueError, match=r"labels of column 'key' must be at most 2\*\*53"):
        export_c(model)


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
def test_classes_that_a_program_cannot_have_are_refused_by_name(name):
    pytest.importorskip("onnx", reason="needs onnx")
    y = np.array(["yes", name] * 9, dtype=object)
    model = SplineLogisticClassifier().fit([["red"], ["a"]] * 9, y)
    column = re.escape(f"sqlite cannot have a column of the name {f'p({name})'!r}: rename it")
    with pytest.raises(ValueError, match=column):
        export_sql(model, dialect="sqlite")
    if name == "\ud800":
        with pytest.raises(ValueError, match=re.escape(f"ONNX cannot have the class {name!r}")):
            export_onnx(model)
    assert "class 1" in export_c(model)
