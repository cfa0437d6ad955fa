"""Trees as text and as pictures."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from priorwise import ProbabilityTreeClassifier
from priorwise.explain import export_text, plot_tree


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
