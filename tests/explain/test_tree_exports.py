"""Trees as C and as text."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

from priorwise import ProbabilityTreeClassifier
from priorwise.explain import export_text, plot_tree
from priorwise.export import export_c

MAIN = """
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    static double row[tree_N_FEATURES], proba[tree_N_CLASSES];
    size_t n = tree_N_FEATURES;
    int k;
    while (fread(row, sizeof(double), n, stdin) == n) {
        tree_predict_proba(row, proba);
        for (k = 0; k < tree_N_CLASSES; ++k) printf("%.17g ", proba[k]);
    }
    return 0;
}
"""


def read_columns(model, X):
    """Numbers and codes in the order of the features."""
    return model.encoder_.in_feature_order(model.encoder_.read(X))


def mixed_frame(n_rows, seed, colours):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({
        "height": rng.normal(size=n_rows),
        "colour": rng.choice(colours, n_rows),
        "weight": rng.normal(size=n_rows).round(1),
        "letter": rng.choice(list("abcdefghij"), n_rows),
    })  # fmt: skip
    for column in ("weight", "colour"):
        frame.loc[rng.random(n_rows) < 0.1, column] = None
    y = (frame["height"] + (frame["colour"] == "red") + rng.normal(size=n_rows)).to_numpy()
    return frame, np.digitize(y, [0, 1])


def run_c(model, path, rows):
    """Probabilities of rows of numbers and codes by the compiled C file of a model."""
    text = export_c(model, path / "tree.c")
    assert (path / "tree.c").read_text() == text
    (path / "main.c").write_text('#include "tree.c"\n' + MAIN)
    subprocess.run(
        ["cc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O2", "main.c", "-lm",
         "-o", "main"],
        cwd=path, check=True,
    )  # fmt: skip
    ran = subprocess.run([path / "main"], input=rows.tobytes(), capture_output=True)
    return np.array(ran.stdout.split(), dtype=float).reshape(len(rows), -1)


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_the_c_file_of_the_default_tree_on_a_uci_set_equals_python(tmp_path):
    X, y = load_breast_cancer(return_X_y=True)
    model = ProbabilityTreeClassifier(random_state=0).fit(X, y)
    found = run_c(model, tmp_path, X)
    np.testing.assert_allclose(found, model.predict_proba(X), rtol=0, atol=1e-12)
    assert (tmp_path / "tree.c").stat().st_size < 20_000


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize("soft_thresholds", [None, 0.2])
@pytest.mark.parametrize("criterion", ["gain-ratio", "gain"])
def test_the_c_file_compiles_without_warnings_and_equals_python(
    tmp_path, soft_thresholds, criterion
):
    X, y = mixed_frame(2000, 0, ["red", "green", 'odd "\\?* name/'])
    model = ProbabilityTreeClassifier(
        "shrinkage", criterion=criterion, soft_thresholds=soft_thresholds, random_state=0
    ).fit(X, y)
    # Values training did not have, and missing ones where it had none.
    fresh, _ = mixed_frame(5000, 1, ["red", "green", "violet", 'odd "\\?* name/'])
    fresh.loc[:50, "height"] = None
    fresh.loc[20:70, "letter"] = "zzz"
    fresh.loc[70:90, "letter"] = None
    columns = np.column_stack([np.asarray(c, dtype=np.float64) for c in read_columns(model, fresh)])
    found = run_c(model, tmp_path, columns)
    np.testing.assert_allclose(found, model.predict_proba(fresh), rtol=0, atol=1e-12)


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_the_c_file_gives_the_codes_of_labels(tmp_path):
    X, y = mixed_frame(500, 0, ["red", "gr\u00fcn"])
    model = ProbabilityTreeClassifier("laplace", criterion="gain").fit(X, y)
    export_c(model, tmp_path / "tree.c")
    labels = ["red", "gr\u00fcn", "blue"]
    calls = "".join(f'printf("%d ", tree_code(1, "{label}"));' for label in labels)
    (tmp_path / "main.c").write_text(
        f'#include "tree.c"\n#include <stdio.h>\nint main(void) {{ {calls} '
        'printf("%d", tree_code(1, 0)); return 0; }\n'
    )
    subprocess.run(["cc", "main.c", "-lm", "-o", "main"], cwd=tmp_path, check=True)
    ran = subprocess.run([tmp_path / "main"], capture_output=True, text=True)
    codes = read_columns(model, pd.DataFrame({**X.iloc[:4], "colour": [*labels, None]}))[1]
    assert ran.stdout.split() == [str(code) for code in codes]


def test_the_c_file_of_a_tree_without_splits_is_valid():
    text = export_c(ProbabilityTreeClassifier("laplace").fit([[1.0], [1.0]], [0, 1]))
    assert "answer[][2] = {\n    {0.5, 0.5}}" in text


def test_a_bad_prefix_is_an_error():
    model = ProbabilityTreeClassifier("laplace").fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(ValueError, match="prefix must be a C identifier, got '1-tree'"):
        export_c(model, prefix="1-tree")


def test_text_shows_every_branch_with_its_rows():
    X = pd.DataFrame({"size": [1.0, 1, 5, 5, None, None], "kind": list("aabbcc")})
    model = ProbabilityTreeClassifier("mle", criterion="gain", soft_thresholds=None)
    text = export_text(model.fit(X[["size"]], [0, 0, 1, 1, 2, 2]))
    assert text.splitlines() == [
        "classes: 0, 1, 2",
        "all rows: 6 rows [2, 2, 2], p = [0.333, 0.333, 0.333]",
        "|   size <= 3: 2 rows [2, 0, 0], p = [1.000, 0.000, 0.000]",
        "|   size > 3: 2 rows [0, 2, 0], p = [0.000, 1.000, 0.000]",
        "|   size is missing: 2 rows [0, 0, 2], p = [0.000, 0.000, 1.000]",
    ]
    short = export_text(model.fit(X[["kind"]], [0, 0, 1, 1, 2, 2]), max_depth=0)
    assert short.splitlines()[1].endswith("and 3 branches")


def test_the_picture_shows_every_node_and_where_its_answer_comes_from():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    X, y = mixed_frame(300, 0, ["red", "green"])
    model = ProbabilityTreeClassifier("shrinkage", criterion="gain").fit(X, y)
    ax = plot_tree(model, max_depth=1)
    level = model.tree_.counts.level
    shown = int((level <= 1).sum())
    assert len(ax.texts) == shown
    assert ax.texts[0].get_text().startswith("all rows\n[")
    # One bar for each node on the path of each node, and one for the uniform row.
    assert len(ax.patches) == sum(int(n) + 2 for n in level if n <= 1)
    matplotlib.pyplot.close("all")
