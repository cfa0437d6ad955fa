"""Trees as text and as pictures."""

from __future__ import annotations

import importlib

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


@pytest.fixture
def plt():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    yield importlib.import_module("matplotlib.pyplot")
    importlib.import_module("matplotlib.pyplot").close("all")


@pytest.fixture(scope="module")
def deep():
    X, y = mixed_frame(300, 0, ["red", "green"])
    return ProbabilityTreeClassifier("shrinkage", criterion="gain", random_state=0).fit(X, y)


def bars(axes):
    return [patch for patch in axes.patches if hasattr(patch, "get_width")]


def test_the_picture_shows_every_node_with_its_probabilities(plt, deep):
    axes = plot_tree(deep, max_depth=1)
    nodes = np.flatnonzero(deep.tree_.counts.level <= 1)
    texts = [text.get_text() for text in axes.texts if "more nodes" not in text.get_text()]
    assert texts[0].startswith("all rows\n300 rows")
    assert len(texts) == len(nodes)
    widths = np.reshape([bar.get_width() for bar in bars(axes)], (len(nodes), 3))
    shares = widths / widths.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(shares, deep.node_proba_[nodes], atol=1e-12)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["0", "1", "2"]


def test_the_picture_says_how_many_nodes_are_left_out(plt, deep):
    counts = deep.tree_.counts
    axes = plot_tree(deep, max_depth=2)
    signs = [text.get_text() for text in axes.texts if "more nodes" in text.get_text()]
    assert sum(int(sign.split()[1]) for sign in signs) == (counts.level > 2).sum()
    assert f"2 of {counts.depth} levels" in axes.get_title()
    X, y = mixed_frame(300, 0, ["red", "green"])
    small = ProbabilityTreeClassifier(min_samples_leaf=30, random_state=0).fit(X, y)
    n_nodes, whole = small.tree_.n_nodes, plot_tree(small, max_depth=None)
    assert len(whole.texts) == n_nodes > 7
    assert whole.get_title() == f"{n_nodes} nodes"
    with pytest.raises(ValueError, match="max_depth must be a number at least 0, got -1"):
        plot_tree(deep, max_depth=-1)


@pytest.mark.parametrize(("max_depth", "size"), [(2, (3, 2)), (3, None), (3, (6.4, 4.8))])
def test_no_text_of_the_picture_overlaps_another(plt, deep, max_depth, size):
    ax = None if size is None else plt.subplots(figsize=size)[1]
    axes = plot_tree(deep, max_depth=max_depth, ax=ax)
    axes.figure.canvas.draw()
    extents = [text.get_window_extent() for text in axes.texts]
    for i, extent in enumerate(extents):
        assert not any(extent.overlaps(other) for other in extents[:i])


def test_classes_beyond_the_colours_share_one(plt):
    y = np.arange(200) % 20
    model = ProbabilityTreeClassifier(random_state=0).fit(y[:, None] + 0.0, y)
    axes = plot_tree(model, max_depth=0)
    assert len(bars(axes)) == 8
    assert axes.get_legend().get_texts()[-1].get_text() == "13 other classes"
