"""A plot of the importance of features."""

from __future__ import annotations

from typing import Any

import numpy as np

from priorwise.common.docstrings import describe
from priorwise.common.plots import AXES, BLUE, GREY, hide_frame, new_axes, part_largest
from priorwise.common.validation import check_number
from priorwise.steps.explanation import GlobalExplanation


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
    >>> import matplotlib
    >>> matplotlib.use("agg")
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
