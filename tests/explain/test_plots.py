"""Pictures of networks and explanations."""

import builtins
import sys
from typing import Any

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")
import matplotlib.pyplot as plt  # noqa: E402

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
    return {text.get_text(): text.get_position() for text in axes.texts if text.get_text()}


def test_every_feature_is_drawn_below_its_parents():
    network = Network.from_parents([[], [0], [1, 0], [0], [3, 2]])
    axes = plot_network(network)
    place = boxes(axes)
    assert set(place) == {"x0", "x1", "x2", "x3", "x4"}
    for parent, child in network.arcs():
        assert place[f"x{parent}"][1] > place[f"x{child}"][1]
    assert len(set(place.values())) == 5
    assert sum(not text.get_text() for text in axes.texts) == len(list(network.arcs()))


def test_the_class_and_its_arcs_are_drawn_on_demand(model):
    fitted, _ = model
    n_arcs = len(list(fitted.structure_.arcs()))
    axes = plot_network(fitted, show_class=True)
    place = boxes(axes)
    assert max(place, key=lambda name: place[name][1]) == "class"
    assert sum(not text.get_text() for text in axes.texts) == n_arcs + 5


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
    assert axes.get_title() == fitted.predict(X[:1])[0]


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

    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
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
