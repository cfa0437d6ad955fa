"""Pictures of networks and explanations."""

import builtins
import sys
from typing import Any

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.patches import FancyArrowPatch, Rectangle  # noqa: E402
from matplotlib.transforms import Bbox  # noqa: E402

from priorwise import KDBClassifier, SplineLogisticClassifier  # noqa: E402
from priorwise.explain import plot_explanation, plot_network  # noqa: E402
from priorwise.structure import Network  # noqa: E402


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture
def model():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    X = np.column_stack([y + rng.normal(size=200) for _ in range(5)])
    return KDBClassifier(max_parents=2).fit(X, np.array(["a", "b", "c"])[y]), X


def boxes(axes):
    """Place of each name."""
    return {text.get_text(): text.get_position() for text in axes.texts}


def arcs(axes):
    return [patch for patch in axes.patches if isinstance(patch, FancyArrowPatch)]


def deep_network():
    """Arcs that pass by up to four columns."""
    return Network.from_parents([[], [0], [1, 0], [2, 0], [3, 0], [4, 0, 1], [0], [1]])


def test_every_feature_is_drawn_to_the_right_of_its_parents():
    network = Network.from_parents([[], [0], [1, 0], [0], [3, 2]])
    axes = plot_network(network)
    place = boxes(axes)
    assert set(place) == {"x0", "x1", "x2", "x3", "x4"}
    for parent, child in network.arcs():
        assert place[f"x{parent}"][0] < place[f"x{child}"][0]
    assert len(set(place.values())) == 5
    assert len(arcs(axes)) == len(list(network.arcs()))


def test_the_class_and_its_arcs_are_drawn_on_demand(model):
    fitted, _ = model
    n_arcs = len(list(fitted.structure_.arcs()))
    assert len(arcs(plot_network(fitted))) == n_arcs
    axes = plot_network(fitted, show_class=True)
    place = boxes(axes)
    assert min(place, key=lambda name: place[name][0]) == "class"
    assert len(arcs(axes)) == n_arcs + 5


def test_naive_bayes_is_drawn_with_its_class():
    axes = plot_network(Network.naive(20))
    assert "class" in boxes(axes)
    assert len(arcs(axes)) == 20
    assert "class" not in boxes(plot_network(Network.naive(20), show_class=False))


@pytest.mark.parametrize("show_class", [False, True])
@pytest.mark.parametrize("size", [None, (3, 2)])
def test_no_arc_passes_behind_a_box_and_no_names_overlap(show_class, size):
    ax = None if size is None else plt.subplots(figsize=size)[1]
    axes = plot_network(deep_network(), show_class=show_class, ax=ax)
    axes.figure.canvas.draw()
    for box in axes.patches:
        if isinstance(box, Rectangle):
            low, high = box.get_bbox().get_points()
            inside = Bbox([low + 0.01, high - 0.01])
            for arc in arcs(axes):
                assert not arc._path_original.intersects_bbox(inside, filled=False)
            text = max(axes.texts, key=lambda text: inside.contains(*text.get_position()))
            outline = box.get_window_extent()
            extent = text.get_window_extent()
            assert outline.width > extent.width
            assert outline.height > extent.height


def test_a_network_without_features_is_an_empty_picture():
    assert boxes(plot_network(Network((), ()))) == {}


def test_bars_lead_from_the_prior_to_the_prediction(model):
    fitted, X = model
    explanation: Any = fitted.explain(X[:3], reference="a")
    axes = plot_explanation(explanation, row=1, of_class="c", max_features=3)
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names[0] == "prior"
    assert names[-2:] == ["2 others", "prediction"]
    bars = [(bar.get_x(), bar.get_width()) for bar in axes.patches]
    end = bars[0][1]
    for left, width in bars[1:-1]:
        assert left == pytest.approx(end)
        end = left + width
    assert end == pytest.approx(bars[-1][1]) == pytest.approx(explanation.log_odds[1, 2])
    widths = np.abs([width for _, width in bars[1:4]])
    assert (np.diff(widths) <= 0).all()


def test_the_most_probable_class_is_explained_by_default(model):
    fitted, X = model
    axes = plot_explanation(fitted.explain(X[:1]))
    label, proba = fitted.predict(X[:1])[0], fitted.predict_proba(X[:1]).max()
    assert axes.get_title() == f"class {label}: probability {proba:.3g}"


def test_wrong_arguments_are_refused(model):
    fitted, X = model
    explanation: Any = fitted.explain(X[:2])
    with pytest.raises(ValueError, match="row must index 2 rows, got 2"):
        plot_explanation(explanation, row=2)
    with pytest.raises(ValueError, match=r"of_class must be one of .* got 'z'"):
        plot_explanation(explanation, of_class="z")
    with pytest.raises(ValueError, match="max_features must be a number at least 1, got 0"):
        plot_explanation(explanation, max_features=0)
    with pytest.raises(TypeError, match="network must be a Network"):
        plot_network("tan")


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    real = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    for module in ("pyplot", "textpath"):
        monkeypatch.setitem(sys.modules, f"matplotlib.{module}", None)
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=r"pip install priorwise\[plot\]"):
        plot_network(Network.naive(1))


def test_any_classifier_s_explanation_can_be_drawn(rng):
    X = rng.normal(size=(60, 3))
    model = SplineLogisticClassifier(random_state=0).fit(X, X[:, 0] + X[:, 1] > 0)
    axes = plot_explanation(model.explain(X))
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names[0] == "prior"
    assert sorted(names[1:-1]) == [f"x{i} = {value:.6g}" for i, value in enumerate(X[0])]
