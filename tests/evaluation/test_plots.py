import builtins
import sys

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")
import matplotlib.pyplot as plt  # noqa: E402

from priorwise.evaluation import reliability_curve  # noqa: E402
from priorwise.evaluation.plots import (  # noqa: E402
    plot_cost,
    plot_critical_difference,
    plot_reliability,
    plot_scatter,
)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def draw_scores(gaps, n_datasets=40):
    rng = np.random.default_rng(0)
    return {f"m{j}": rng.normal(gap, 1, n_datasets) for j, gap in enumerate(gaps)}


def red_bars(axes):
    return [line for line in axes.lines if line.get_color() == "tab:red"]


@pytest.mark.parametrize("test", ["bergmann-hommel", "nemenyi"])
def test_only_models_that_do_not_differ_are_joined(test, tmp_path):
    axes = plot_critical_difference(draw_scores([0, 0, 9, 9, 9]), test=test)
    axes.figure.savefig(tmp_path / "ranks.png")
    assert len(red_bars(axes)) == 2
    names = {text.get_text().split()[0] for text in axes.texts}
    assert {"m0", "m1", "m2", "m3", "m4"} <= names
    assert len(red_bars(plot_critical_difference(draw_scores([0, 9]), test=test))) == 0


def test_scatter_shades_the_half_where_the_first_model_is_better(tmp_path):
    for higher, corner in ((False, (0.1, 0.9)), (True, (0.9, 0.1))):
        axes = plot_scatter([0.1, 0.9], [0.9, 0.1], higher_is_better=higher)
        (shade,) = axes.collections[:1]
        assert shade.get_paths()[0].contains_point(corner)
        axes.figure.savefig(tmp_path / "scatter.png")


def points(axes):
    """Places of the finite and of the infinite points."""
    return tuple(np.asarray(part.get_offsets()) for part in axes.collections[1:])


def test_scatter_of_equal_scores_still_draws(tmp_path):
    axes = plot_scatter([1.0], [1.0])
    axes.figure.savefig(tmp_path / "scatter.png")
    assert axes.get_title().endswith("0-1-0")
    assert "inf" not in [label.get_text() for label in axes.get_xticklabels()]


@pytest.mark.parametrize("higher", [False, True])
def test_scatter_draws_infinite_scores_beyond_the_finite_ones(higher):
    a, b = [0.2, np.inf, 0.5, np.inf, -np.inf], [0.3, 0.4, np.inf, np.inf, 0.1]
    axes = plot_scatter(a, b, names=("one", "two"), score="loss", higher_is_better=higher)
    finite, infinite = points(axes)
    assert finite.tolist() == [[0.2, 0.3]]
    ticks = {label.get_text(): label.get_position()[0] for label in axes.get_xticklabels()}
    above, below = ticks["inf"], ticks["-inf"]
    assert infinite.tolist() == [[above, 0.4], [0.5, above], [above, above], [below, 0.1]]
    low, high = axes.get_xlim()
    assert low < below < 0.1
    assert 0.5 < above < high
    assert axes.get_xlim() == axes.get_ylim()
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("one, loss", "two, loss")


def test_scatter_of_infinite_scores_alone_is_not_empty():
    axes = plot_scatter([np.inf, np.inf], [np.inf, -np.inf])
    finite, infinite = points(axes)
    assert len(finite) == 0
    low, high = axes.get_xlim()
    assert ((low < infinite) & (infinite < high)).all()


def test_reliability_draws_every_named_curve(tmp_path):
    y, p = np.array([0, 1] * 30), np.linspace(0.05, 0.95, 60)
    curve = reliability_curve(y, p)
    axes = plot_reliability({"one": curve, "two": curve})
    axes.figure.savefig(tmp_path / "reliability.png")
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["90 % of calibrated curves", "one", "two"]
    with pytest.raises(ValueError, match="at least one curve"):
        plot_reliability({})


def test_a_missing_matplotlib_names_the_extra(monkeypatch):
    real_import = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=r"priorwise\[plot\]"):
        plot_scatter([1], [2])


def test_the_test_name_is_checked():
    with pytest.raises(ValueError, match="test must be one of"):
        plot_critical_difference(draw_scores([0, 1]), test="holm")


def test_the_cost_of_each_threshold_is_that_of_its_decisions():
    y, p = np.array([0, 1, 1, 0, 1]), np.array([0.2, 0.9, 0.4, 0.4, 0.7])
    cost, weight = np.array([[0.0, 1.0], [5.0, 0.5]]), np.array([1.0, 2.0, 1.0, 3.0, 1.0])
    axes = plot_cost(y, p, cost_matrix={0: {1: 1}, 1: {0: 5, 1: 0.5}}, sample_weight=weight)
    step, best = axes.lines[:2]
    for threshold, mean in zip(*step.get_data(), strict=True):
        decided = (p >= threshold).astype(int)
        assert mean == pytest.approx(np.average(cost[y, decided], weights=weight))
    assert best.get_ydata()[0] == min(step.get_ydata())
    assert "by the costs alone: 0.182" in [t.get_text() for t in axes.get_legend().get_texts()]


def test_costs_of_three_classes_have_no_threshold():
    with pytest.raises(ValueError, match=r"needs two classes, got \[0, 1, 2\]"):
        plot_cost([0, 1, 2], np.full((3, 3), 1 / 3))
