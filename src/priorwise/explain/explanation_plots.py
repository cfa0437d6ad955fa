"""Plots of the explanation of a row, of the importance of features and of their shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.docstrings import describe
from priorwise.common.plots import (
    AXES,
    BLUE,
    CLASS_COLOURS,
    GREY,
    ORANGE,
    Places,
    hide_frame,
    new_axes,
    part_largest,
)
from priorwise.common.texts import MANY, count, show_probability
from priorwise.common.validation import check_number
from priorwise.data.tables.dates import DateSeconds, show_date
from priorwise.steps.explanation import Explanation, FeatureShape, GlobalExplanation
from priorwise.steps.explanation.formats import as_text

MIN_REMAINDER = 0.005
"""A smaller remainder, which would be shown as 0.00, is not drawn."""


@describe(AXES)
def plot_explanation(
    explanation: Explanation,
    *,
    row: int = 0,
    of_class: Any = None,
    max_features: int = 12,
    level: float = 0.9,
    ax: Any = None,
) -> Any:
    """Draw the contributions of features that lead from the prior to the log-odds of a class.

    Features are ordered by the size of their contribution. A thin line at the end of a bar is the
    interval of the contribution; the last is that of the prediction. Beside each bar stands the
    number of training rows behind it.

    Parameters
    ----------
    explanation : Explanation
        Result of the method `explain` of a classifier.
    row : int
        Index of the row to draw.
    of_class : class label, optional
        Class to draw; by default the most probable class of the row.
    max_features : int
        Largest number of features to draw one by one; two or more others are drawn as one sum.
    level : float
        Level of the intervals.

    Examples
    --------
    >>> from priorwise import NaiveBayesClassifier
    >>> X = [["sun", "warm"], ["sun", "cold"], ["rain", "cold"], ["rain", "cold"]]
    >>> model = NaiveBayesClassifier().fit(X, ["out", "out", "in", "in"])
    >>> axes = plot_explanation(model.explain(X), row=2)
    >>> axes.get_title()
    'class in: probability 0.527'
    """
    if not -explanation.n_rows <= row < explanation.n_rows:
        raise ValueError(f"row must index {explanation.n_rows} rows, got {row}")
    check_number("max_features", max_features, least=1)
    k = int(explanation.log_odds[row].argmax())
    if of_class is not None:
        k = explanation.find_class(of_class)
    shown, rest = part_largest(np.abs(explanation.contributions[row, :, k]), max_features)
    names, sizes, notes = _rank_contributions(explanation, row, k, shown, rest)
    edges = np.cumsum([explanation.bias[k], *sizes])
    axes = new_axes(ax, (7.0, 1.4 + 0.34 * (len(sizes) + 2)))
    lines = np.arange(len(sizes)) + 1
    axes.barh(0, explanation.bias[k], color=GREY, height=0.6)
    axes.barh(lines, sizes, left=edges[:-1],
              color=[BLUE if size >= 0 else ORANGE for size in sizes], height=0.6)  # fmt: skip
    axes.barh(len(sizes) + 1, edges[-1], color="0.3", height=0.6)
    for line, edge in enumerate(edges):
        axes.plot([edge, edge], [line - 0.3, line + 1.3], color="0.5", linewidth=0.7)
    if explanation.probability_interval is not None:
        reach = _find_reach(explanation, row, k, shown, rest, level)
        n_terms = reach.shape[1] - 1
        ends = np.append(edges[1:], edges[-1])[[*range(n_terms), -1]]
        axes.errorbar(ends, [*lines[:n_terms], len(sizes) + 1], xerr=reach,
                      fmt="none", ecolor="black", elinewidth=1.0, capsize=2.5)  # fmt: skip
    axes.axvline(0.0, color="black", linewidth=0.8)
    axes.set_yticks(range(len(sizes) + 2), ["prior", *names, "prediction"], parse_math=False)
    axes.set_ylim(len(sizes) + 1.6, -0.6)
    axes.use_sticky_edges = False
    axes.margins(x=0.05)
    for line, (size, note) in enumerate(zip([explanation.bias[k], *sizes, edges[-1]],
                                            ["", *notes, ""], strict=True)):  # fmt: skip
        axes.annotate(f"{size:+.2f}  {note}".rstrip(), (1.01, line), va="center", fontsize=8,
                      xycoords=("axes fraction", "data"), annotation_clip=False)  # fmt: skip
    axes.set_xlabel(f"log-odds: {explanation.meaning}", parse_math=False)
    proba = explanation.probabilities[row, k]
    axes.set_title(
        f"class {explanation.classes[k]}: probability {show_probability(proba)}", parse_math=False
    )
    hide_frame(axes)
    return axes


def _rank_contributions(
    explanation: Explanation, row: int, k: int, shown: Places, rest: Places
) -> tuple[list[str], list[float], list[str]]:
    contributions = explanation.contributions[row, :, k]
    names = [explanation.value_text(row, int(i)) for i in shown]
    notes = [_note_support(explanation, row, i, k) for i in shown]
    sizes = [float(contributions[i]) for i in shown]
    remainder = float(explanation.remainder[row, k])
    sums = [(f"{len(rest)} others", float(contributions[rest].sum()))] if len(rest) else []
    sums += [("remainder", remainder)] if abs(remainder) > MIN_REMAINDER else []
    for name, size in sums:
        names.append(name)
        sizes.append(size)
        notes.append("")
    return names, sizes, notes


def _find_reach(
    explanation: Explanation, row: int, k: int, shown: Places, rest: Places, level: float
) -> NDArray[np.float64]:
    """How far intervals reach below and above: of features shown, of others, of the prediction."""
    parts, whole = explanation.contributions[row, :, k], explanation.log_odds[row, k]
    reach = []
    for terms, odds in zip(
        explanation.interval(level), explanation.log_odds_interval(level), strict=True
    ):
        distance = np.abs(terms[row, :, k] - parts)
        others = [float(np.sqrt((distance[rest] ** 2).sum()))] if len(rest) else []
        reach.append([*distance[shown], *others, abs(odds[row, k] - whole)])
    return np.array(reach)


def _note_support(explanation: Explanation, row: int, feature: int, k: int) -> str:
    if explanation.support is None:
        return ""
    n_levels = 0 if explanation.backoff is None else int(explanation.backoff[row, feature, k])
    backed_off = f", backed off {n_levels}" if n_levels else ""
    n_rows = round(float(explanation.support[row, feature, k]))
    return f"({count(n_rows, 'row')}{backed_off})"


@describe(AXES)
def plot_importance(source: Any, *, max_features: int = 20, ax: Any = None) -> Any:
    """Draw the importance of the features as bars, the most important first.

    Parameters
    ----------
    source : GlobalExplanation or classifier
        Result of the method `explain_global` of a classifier, of which the mean absolute
        contributions are drawn, or a fitted classifier with the attribute `feature_importances_`.
    max_features : int
        Largest number of features to draw one by one; two or more others are drawn as one sum.

    Examples
    --------
    >>> from priorwise import NaiveBayesClassifier
    >>> X = [["sun", "warm"], ["sun", "cold"], ["rain", "cold"], ["rain", "cold"]]
    >>> model = NaiveBayesClassifier().fit(X, ["out", "out", "in", "in"])
    >>> axes = plot_importance(model.explain_global(X))
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['x0', 'x1']
    """
    check_number("max_features", max_features, least=1)
    if isinstance(source, GlobalExplanation):
        names, sizes = list(source.explanation.feature_names), source.importance
        label = "mean absolute contribution to the log-odds"
    elif hasattr(source, "feature_importances_"):
        names, sizes = list(source.feature_labels_), np.asarray(source.feature_importances_)
        label = "share of the importance of all features"
    else:
        raise TypeError(
            "source must be a GlobalExplanation, from model.explain_global(X), or a classifier "
            f"with feature_importances_, got {source!r}"
        )
    shown, rest = part_largest(sizes, max_features)
    labels, widths = [names[i] for i in shown], [float(sizes[i]) for i in shown]
    if len(rest):
        labels.append(f"{len(rest)} others")
        widths.append(float(sizes[rest].sum()))
    axes = new_axes(ax, (7.0, 0.8 + 0.28 * len(labels)))
    colours = [BLUE] * len(shown) + [GREY] * bool(len(rest))
    bars = axes.barh(range(len(labels)), widths, color=colours, height=0.7)
    axes.bar_label(bars, [f"{width:.2f}" for width in widths], padding=3, fontsize=8)
    axes.set_yticks(range(len(labels)), labels, parse_math=False)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.margins(x=0.1)
    axes.set_xlabel(label)
    hide_frame(axes)
    return axes


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
    title = f"contribution to the log-odds\n{explanation.explanation.meaning}"
    if shape.is_numeric:
        axes = new_axes(ax, (6.0, 4.0))
        _draw_numbers(axes, shape, colours, labels)
        axes.axhline(0.0, color="0.3", linewidth=0.8)
        axes.set(xlabel=feature, ylabel=title)
        axes.spines[["top", "right"]].set_visible(False)
    else:
        n_lines = min(len(shape.values), MANY + 1)
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
    if known and isinstance(shape.values[known[0]], DateSeconds):
        axes.xaxis.set_major_formatter(lambda value, _: show_date(value)[:10])
        axes.tick_params(axis="x", labelrotation=30)
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
    shown, rest = part_largest(shape.n_rows, MANY)
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
