"""Plots of importance and shapes, and what all plots share."""

import inspect

import numpy as np
import pandas as pd
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")
import matplotlib.pyplot as plt  # noqa: E402

from priorwise import (  # noqa: E402
    KDBClassifier,
    NaiveBayesClassifier,
    PriorwiseClassifier,
    ProbabilityForestClassifier,
    explain,
)
from priorwise.explain import plot_explanation, plot_importance, plot_shape  # noqa: E402


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "size": rng.normal(size=300),
        "$kind$": rng.choice([f"k{i}" for i in range(30)], 300),
        "noise": rng.normal(size=300),
    })  # fmt: skip
    y = np.digitize(frame["size"] + rng.normal(size=300), [-0.5, 0.5])
    frame.loc[:19, "size"] = None
    return frame, np.array(["low", "middle", "high"])[y]


def ticks(axes):
    return [label.get_text() for label in axes.get_yticklabels()]


def test_bars_are_the_importances_of_an_explanation(table):
    X, y = table
    overview = KDBClassifier().fit(X, y).explain_global(X)
    axes = plot_importance(overview, max_features=2)  # the third would be all others
    ranking = overview.ranking
    names = [overview.explanation.feature_names[i] for i in ranking]
    assert ticks(axes) == names
    widths = [bar.get_width() for bar in axes.patches]
    np.testing.assert_allclose(widths, overview.importance[ranking], rtol=1e-12)
    axes = plot_importance(overview, max_features=1)
    assert ticks(axes) == [names[0], "2 others"]
    assert axes.patches[1].get_width() == pytest.approx(overview.importance[ranking[1:]].sum())


def test_bars_are_the_importances_of_a_model(table):
    X, y = table
    model = ProbabilityForestClassifier(n_estimators=5, random_state=0).fit(X, y)
    axes = plot_importance(model)
    widths = dict(zip(ticks(axes), (bar.get_width() for bar in axes.patches), strict=True))
    assert widths == dict(zip(X.columns, model.feature_importances_, strict=True))


def test_the_shape_of_numbers_is_a_line_for_each_class_and_a_point_for_missing(table):
    X, y = table
    overview = NaiveBayesClassifier().fit(X, y).explain_global(X)
    axes = plot_shape(overview, "size")
    shape = overview.shapes["size"]
    assert shape.values[-1] is None
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["high", "low", "middle"]
    for k, label in enumerate(["high", "low", "middle"]):
        (line,) = [line for line in axes.lines if line.get_label() == label]
        np.testing.assert_array_equal(line.get_xdata(), shape.values[:-1])
        np.testing.assert_array_equal(line.get_ydata(), shape.mean[:-1, k])
    assert [text.get_text() for text in axes.texts] == ["missing"]
    heights = np.array([bar.get_height() for bar in axes.patches])
    np.testing.assert_allclose(heights / heights.sum(), shape.n_rows / 300, rtol=1e-12)


def test_the_shape_of_labels_has_the_frequent_ones_one_by_one(table):
    X, y = table
    overview = NaiveBayesClassifier().fit(X, y).explain_global(X)
    axes = plot_shape(overview, "$kind$", of_class="low")
    shape = overview.shapes["$kind$"]
    names, (points, others) = ticks(axes), axes.lines[:2]
    assert len(names) == 21
    assert names[-1] == f"10 others ({np.sort(shape.n_rows)[:10].sum()})"
    mean = dict(zip(shape.values, shape.mean[:, 1], strict=True))
    np.testing.assert_array_equal(
        points.get_xdata(), [mean[name.split()[0]] for name in names[:-1]]
    )
    assert (np.diff(points.get_xdata()) <= 0).all()
    total = (shape.mean[:, 1] * shape.n_rows).sum()
    counts = [int(name.split("(")[1][:-1]) for name in names]
    drawn = np.append(points.get_xdata(), others.get_xdata())
    assert (drawn * counts).sum() == pytest.approx(total)
    axes.figure.canvas.draw()  # The dollar signs of the name are not a formula.


def test_the_second_of_two_classes_is_drawn_by_default(table):
    X, y = table
    overview = NaiveBayesClassifier().fit(X, y == "low").explain_global(X)
    axes = plot_shape(overview, "noise")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["True"]


def test_explanations_of_the_flagship_are_drawn(table):
    X, y = table
    model = PriorwiseClassifier("fast", random_state=0).fit(X, y)
    axes = plot_explanation(model.explain(X[:3]), row=2)
    assert axes.get_title().startswith(f"class {model.predict(X[:3])[2]}: probability ")
    assert plot_importance(model).get_xlabel() == "share of the importance of all features"


def test_wrong_arguments_are_refused(table):
    X, y = table
    model = NaiveBayesClassifier().fit(X, y)
    with pytest.raises(TypeError, match=r"source must be a GlobalExplanation, .* got Naive"):
        plot_importance(model)
    with pytest.raises(ValueError, match="max_features must be a number at least 1, got 0"):
        plot_importance(model.explain_global(X), max_features=0)
    with pytest.raises(ValueError, match=r"feature must be one of .* got 'colour'"):
        plot_shape(model.explain_global(X), "colour")
    with pytest.raises(ValueError, match=r"of_class must be one of .* got 'none'"):
        plot_shape(model.explain_global(X), "size", of_class="none")


@pytest.mark.parametrize("name", [name for name in explain.__all__ if name.startswith("plot_")])
def test_every_plot_takes_axes_by_keyword(name):
    parameter = inspect.signature(getattr(explain, name)).parameters["ax"]
    assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
    assert parameter.default is None


def test_plots_are_drawn_on_the_given_axes(table):
    X, y = table
    model = KDBClassifier().fit(X, y)
    overview = model.explain_global(X)
    _, axes = plt.subplots(2, 2)
    drawn = [
        plot_importance(overview, ax=axes[0, 0]),
        plot_shape(overview, "size", ax=axes[0, 1]),
        plot_explanation(overview.explanation, ax=axes[1, 0]),
        explain.plot_network(model, ax=axes[1, 1]),
    ]
    assert drawn == axes.ravel().tolist()
    assert len(plt.get_fignums()) == 1
