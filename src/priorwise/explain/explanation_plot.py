"""A plot of one explanation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.docstrings import describe
from priorwise.common.numeric import softmax
from priorwise.common.plots import (
    AXES,
    BLUE,
    GREY,
    ORANGE,
    Places,
    hide_frame,
    new_axes,
    part_largest,
)
from priorwise.common.texts import count, show_probability
from priorwise.common.validation import check_number
from priorwise.steps.explanation import Explanation

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
    >>> import matplotlib
    >>> matplotlib.use("agg")
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
    against = "the mean of the classes" if explanation.reference is None else explanation.reference
    axes.set_xlabel(f"log-odds against {against}")
    proba = softmax(explanation.log_odds[[row]])[0, k]
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
