"""Models as C."""

from __future__ import annotations

import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

from export.c_program import FLAGS, run_c
from export.cases import CLASSIFIERS, fit, make_fresh_rows, make_table, predict
from priorwise import (
    BoostingClassifier,
    NaiveBayesClassifier,
    ProbabilityTreeClassifier,
    SplineLogisticClassifier,
)
from priorwise.export import export_c
from priorwise.export.assets import read_asset

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler (cc)")


@needs_compiler
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_the_c_file_compiles_without_warnings_and_equals_python(name, tmp_path):
    model, X = fit(name), make_fresh_rows()
    (found,) = run_c([model], tmp_path, X)
    np.testing.assert_allclose(found, predict(model, X), rtol=0, atol=1e-12)


@needs_compiler
@pytest.mark.parametrize(
    "model",
    [BoostingClassifier(), ProbabilityTreeClassifier("laplace"), SplineLogisticClassifier()],
)
def test_a_model_that_learnt_nothing_compiles_without_warnings(model, tmp_path):
    X = pd.DataFrame({"a": [1.0] * 40})
    model.fit(X, [0, 1] * 20)
    (found,) = run_c([model], tmp_path, X)
    np.testing.assert_allclose(found, model.predict_proba(X), rtol=0, atol=1e-12)


KINDS = ["AODE", "tree, soft", "spline", "flagship"]
"""Models that together need all the code of C files."""


def check_kinds(path, **settings):
    """All kinds of models in one program have Python's probabilities."""
    models, X = [fit(name) for name in KINDS], make_fresh_rows()
    for model, found in zip(models, run_c(models, path, X, **settings), strict=True):
        np.testing.assert_allclose(found, predict(model, X), rtol=0, atol=1e-12)


@pytest.mark.skipif(shutil.which("clang") is None, reason="needs clang")
def test_clang_agrees(tmp_path):
    check_kinds(tmp_path, compiler="clang")


@pytest.fixture(scope="module")
def sanitizers(tmp_path_factory):
    """Compiler options of sanitizers, where they are installed."""
    path, options = tmp_path_factory.mktemp("sanitizers"), ("-O1", "-fsanitize=address,undefined")
    (path / "main.c").write_text("int main(void) { return 0; }\n")
    command = ["cc", *options, "main.c", "-o", "main"]
    if shutil.which("cc") is None or subprocess.run(command, cwd=path).returncode:
        pytest.skip("needs a C compiler (cc) with AddressSanitizer")
    return *options, "-fno-sanitize-recover=all"


def test_sanitizers_find_nothing(tmp_path, sanitizers):
    check_kinds(tmp_path, options=sanitizers)


def test_the_kinds_of_models_need_all_code():
    texts = [export_c(fit(name)) for name in KINDS]
    code = "".join(map(read_asset, ("values.c", "trees.c", "networks.c", "linear.c")))
    functions = re.findall(r"^static .*?\b(\w+)\(", code, re.M)
    assert functions
    assert [name for name in functions if not any(f" {name}(" in text for text in texts)] == []


@needs_compiler
def test_a_row_that_python_refuses_has_no_probabilities(tmp_path):
    X, y = make_table(100, 0)
    X = X[["height", "letter"]]
    model = NaiveBayesClassifier(unseen="error").fit(X, y)
    rows = X[:4].copy()
    rows.loc[1, "letter"], rows.loc[2, "height"], rows.loc[3, "height"] = "zzz", None, np.inf
    (found,) = run_c([model], tmp_path, rows)
    np.testing.assert_allclose(found[:1], model.predict_proba(rows[:1]))
    assert np.isnan(found[1:]).all()


@needs_compiler
def test_the_declarations_alone_serve_other_files(tmp_path):
    export_c(fit("naive Bayes"), tmp_path / "model.c", prefix="weather")
    (tmp_path / "main.c").write_text(
        '#define weather_DECLARATIONS\n#include "model.c"\n'
        "int main(void)\n{\n    struct weather_row row = weather_MISSING_ROW;\n"
        "    double proba[weather_N_CLASSES];\n"
        "    return weather_predict_proba(&row, proba) > 0.0 ? 0 : 1;\n}\n"
    )
    subprocess.run(
        ["cc", *FLAGS, "main.c", "model.c", "-o", "main", "-lm"], cwd=tmp_path, check=True
    )
    subprocess.run([tmp_path / "main"], check=True)


MISSING = """
DECLARE
#include <stdio.h>
int main(void)
{
    struct model_row row = model_MISSING_ROW;
    double proba[model_N_CLASSES];
    int i, k;
    for (i = 0; i < 2; ++i) {
        model_predict_proba(&row, proba);
        for (k = 0; k < model_N_CLASSES; ++k) printf("%.17g ", proba[k]);
        row = model_MISSING_ROW;
        row.height = 0.5;
    }
    return 0;
}
"""


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("language", ["c99", "c++11", "one file"])
def test_a_row_that_begins_as_missing_is_missing_where_it_is_not_set(compiler, language, tmp_path):
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    X, y = make_table(200, 0)
    model = NaiveBayesClassifier(ordinal_features={"letter": list("abcdefghij")}).fit(X, y)
    assert "model_MISSING_ROW" in export_c(model, tmp_path / "model.c").split("*/")[0]
    declare = '#include "model.c"'
    if language != "one file":
        declare = f"#define model_DECLARATIONS\n{declare}"
    is_plus, name = language == "c++11", "main.cpp" if language == "c++11" else "main.c"
    (tmp_path / name).write_text(MISSING.replace("DECLARE", declare))
    flags = [*FLAGS[1:], f"-std={language if is_plus else 'c99'}"]
    subprocess.run([compiler, *FLAGS, "-c", "model.c"], cwd=tmp_path, check=True)
    files = [name] if language == "one file" else [name, "model.o"]
    subprocess.run([compiler, *flags, *files, "-o", "main", "-lm"], cwd=tmp_path, check=True)
    ran = subprocess.run([tmp_path / "main"], capture_output=True, check=True)
    found = np.array(ran.stdout.split(), float).reshape(2, -1)
    rows = X[:2].assign(**{**dict.fromkeys(X.columns), "height": [None, 0.5]})
    np.testing.assert_allclose(found, predict(model, rows), rtol=0, atol=1e-12)


def test_the_file_of_a_small_tree_is_small():
    X, y = load_breast_cancer(return_X_y=True)
    assert len(export_c(ProbabilityTreeClassifier(teacher=None, random_state=0).fit(X, y))) < 20_000


def test_members_of_the_row_are_identifiers_and_differ():
    X = [[1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 4.0, 5.0]] * 5
    model = NaiveBayesClassifier().fit(X, [0, 1] * 5)
    model.encoder_.feature_names_in_ = np.array(["a b", "a-b", "int", "2*/"], dtype=object)
    text = export_c(model)
    for member in ("a_b; /* a b */", "a_b_2; /* a-b */", "x_int; /* int */", "x_2; /* 2* / */"):
        assert f"    double {member}" in text


def test_a_bad_prefix_is_an_error():
    with pytest.raises(ValueError, match="prefix must be a C identifier, got '1-tree'"):
        export_c(fit("tree"), prefix="1-tree")
