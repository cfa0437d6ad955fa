"""A plot of the shape of a feature."""

from __future__ import annotations

from typing import Any

import numpy as np

from priorwise.common.docstrings import describe
from priorwise.common.plots import AXES, CLASS_COLOURS, hide_frame, new_axes, part_largest
from priorwise.steps.explanation import FeatureShape, GlobalExplanation
from priorwise.steps.explanation.formats import as_text

MAX_LABELS = 20
"""Largest number of labels drawn one by one, the most frequent ones."""

DENSITY = 0.1
"""Height of the highest bar of the number of rows, as a share of the axes."""


@describe(AXES)
def plot_shape(
    explanation: GlobalExplanation, feature: str, *, of_class: Any = None, ax: Any = None
) -> Any:
    """Draw what a feature contributes to the log-odds, by its value.

    Lines, or points, are means of rows of about equal value, bands from the quantile 0.1 to 0.9.
    A band is wide where the contribution depends on other features. Grey bars below are numbers of
    rows, for labels the number stands beside the label.

    Parameters
    ----------
    explanation : GlobalExplanation
        Result of the method `explain_global` of a classifier.
    feature : str
        Name of the feature.
    of_class : class label, optional
        Class to draw; by default the second of two classes, and of more classes the seven that the
        feature contributes most to.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from priorwise import NaiveBayesClassifier
    >>> X = [["sun", "warm"], ["sun", "cold"], ["rain", "cold"], ["rain", "cold"]]
    >>> model = NaiveBayesClassifier().fit(X, ["out", "out", "in", "in"])
    >>> axes = plot_shape(model.explain_global(X), "x0")
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['sun (2)', 'rain (2)']
    >>> axes.get_legend().get_texts()[0].get_text()
    'out'
    """
    names = explanation.explanation.feature_names
    if feature not in names:
        raise ValueError(f"feature must be one of {list(names)}, got {feature!r}")
    shape, classes = explanation.shapes[feature], explanation.explanation.classes
    if of_class is not None:
        drawn = [explanation.explanation.find_class(of_class)]
    elif len(classes) == 2:
        drawn = [1]
    else:
        sizes = explanation.class_importance[names.index(feature)]
        drawn = sorted(np.argsort(-sizes, kind="stable")[: len(CLASS_COLOURS)].tolist())
    few = len(classes) <= len(CLASS_COLOURS)
    colours = {k: CLASS_COLOURS[k if few else place] for place, k in enumerate(drawn)}
    labels = {k: str(classes[k]) for k in drawn}
    reference = explanation.explanation.reference
    against = "the mean of the classes" if reference is None else reference
    title = f"contribution to the log-odds\nagainst {against}"
    if shape.is_numeric:
        axes = new_axes(ax, (6.0, 4.0))
        _draw_numbers(axes, shape, colours, labels)
        axes.axhline(0.0, color="0.3", linewidth=0.8)
        axes.set(xlabel=feature, ylabel=title)
        axes.spines[["top", "right"]].set_visible(False)
    else:
        n_lines = min(len(shape.values), MAX_LABELS + 1)
        axes = new_axes(ax, (7.0, 1.2 + n_lines * (0.2 + 0.08 * len(drawn))))
        _draw_labels(axes, shape, colours, labels)
        axes.axvline(0.0, color="0.3", linewidth=0.8)
        axes.set(xlabel=title.replace("\n", " "), ylabel=feature)
        hide_frame(axes)
    handles, _ = axes.get_legend_handles_labels()
    axes.legend(handles, list(labels.values()), title="class", frameon=False, fontsize=8)
    return axes


def _draw_numbers(
    axes: Any, shape: FeatureShape, colours: dict[int, str], labels: dict[int, str]
) -> None:
    """Draw lines over numbers, and points for missing values at their right."""
    known = [i for i, value in enumerate(shape.values) if value is not None]
    x = np.array([shape.values[i] for i in known])
    for k, colour in colours.items():
        mean, low, high = (part[known, k] for part in (shape.mean, shape.low, shape.high))
        axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
        axes.plot(x, mean, color=colour, marker=".", markersize=4, linewidth=1.5, label=labels[k])
    width = 0.012 * (float(np.ptp(x)) or 1.0) if len(x) else 0.012
    places = x
    if len(known) < len(shape.values):
        at = float(x.max()) + 10 * width if len(x) else 0.0
        places = np.append(x, at)
        for k, colour in colours.items():
            mean, low, high = (part[-1, k] for part in (shape.mean, shape.low, shape.high))
            axes.errorbar(at, mean, [[max(0.0, mean - low)], [max(0.0, high - mean)]], fmt="D",
                          color=colour, markersize=4)  # fmt: skip
        axes.annotate("missing", (at, 1.0), xycoords=("data", "axes fraction"), ha="center",
                      va="top", fontsize=8)  # fmt: skip
    axes.bar(places, DENSITY * shape.n_rows / shape.n_rows.max(), width, color="0.75",
             transform=axes.get_xaxis_transform(), zorder=0)  # fmt: skip


def _draw_labels(
    axes: Any, shape: FeatureShape, colours: dict[int, str], labels: dict[int, str]
) -> None:
    """Draw points for labels, the largest mean of the last class first."""
    shown, rest = part_largest(shape.n_rows, MAX_LABELS)
    shown = shown[np.argsort(-shape.mean[shown, max(colours)], kind="stable")]
    names = [f"{as_text(shape.values[i])} ({shape.n_rows[i]})" for i in shown]
    for place, (k, colour) in enumerate(colours.items()):
        lines = np.arange(len(shown)) + 0.6 * ((place + 0.5) / len(colours) - 0.5)
        mean, low, high = (part[shown, k] for part in (shape.mean, shape.low, shape.high))
        axes.hlines(lines, low, high, color=colour, alpha=0.3, linewidth=4)
        axes.plot(mean, lines, "o", color=colour, markersize=5, label=labels[k])
        if len(rest):
            line = len(shown) + lines[0]
            mean = np.average(shape.mean[rest, k], weights=shape.n_rows[rest])
            axes.plot(mean, line, "o", color=colour, markersize=5, markerfacecolor="white")
    if len(rest):
        names.append(f"{len(rest)} others ({shape.n_rows[rest].sum()})")
    axes.set_yticks(range(len(names)), names, parse_math=False)
    axes.set_ylim(len(names) - 0.4, -0.6)
