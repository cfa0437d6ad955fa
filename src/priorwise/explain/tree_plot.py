"""Plot of a tree."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from priorwise.common.docstrings import describe
from priorwise.common.plots import AXES, CLASS_COLOURS, GREY, import_matplotlib
from priorwise.common.texts import count, show_probability
from priorwise.common.validation import check_number
from priorwise.explain.canvas import LINE, Canvas, text_width
from priorwise.structure.trees.decision_tree import describe_branch

WRAP = 26
"""Conditions are broken into lines of about so many characters, at most `MAX_LINES`."""

MAX_LINES = 3

GAP, BAR = 0.35, 0.09
"""Inches between columns of nodes, and the height of the bar of a node."""


@describe(AXES)
def plot_tree(model: Any, *, max_depth: int | None = 3, ax: Any = None) -> Any:
    """Draw a tree from left to right, with the probabilities of its nodes.

    A node shows its condition, its number of rows and its most probable class. The bar below has
    the smoothed probabilities of all classes. "Prior" is the share of these that does not come from
    the rows of the node itself, but from its ancestors and the uniform distribution. Where
    branches are left out, their number of nodes is written.

    Parameters
    ----------
    model : ProbabilityTreeClassifier
        A fitted tree.
    max_depth : int, optional
        Number of levels to draw below the root; None draws all.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from priorwise import ProbabilityTreeClassifier
    >>> X, y = [["sun"], ["sun"], ["rain"], ["rain"]], ["out", "out", "in", "in"]
    >>> model = ProbabilityTreeClassifier("laplace", criterion="gain").fit(X, y)
    >>> print(plot_tree(model).texts[1].get_text())
    x0 = rain
    2 rows, 50 % prior
    p(in) = 0.75
    """
    check_is_fitted(model)
    counts = model.tree_.counts
    if max_depth is not None:
        check_number("max_depth", max_depth, least=0)
    level = np.asarray(counts.level)
    depth = int(level.max() if max_depth is None else min(max_depth, level.max()))
    drawn = np.flatnonzero(level <= depth)
    texts = {int(node): _describe_node(model, int(node)) for node in drawn}
    n_below = {
        int(node): n for node in drawn[level[drawn] == depth] if (n := _count_below(counts, node))
    }
    signs = {
        node: f"\N{HORIZONTAL ELLIPSIS} {count(n, 'more node')}" for node, n in n_below.items()
    }
    columns = [
        max(0.8, *(text_width(texts[int(node)]) for node in drawn[level[drawn] == at]))
        for at in range(depth + 1)
    ]
    left = np.cumsum([0.1, *(width + GAP for width in columns)])
    slot = LINE * max(text.count("\n") + 1 for text in texts.values()) + BAR + 0.2
    place = 0.05 + slot * (0.5 + _number_lines(counts, depth))
    width = left[-1] + max((text_width(sign) for sign in signs.values()), default=-GAP + 0.1)
    canvas = Canvas(ax, float(width), float(place.max() + slot / 2 + 0.05),
                    above_and_below=0.9)  # fmt: skip
    colours = _colour_classes(model)
    for node, text in texts.items():
        x, y, at = float(left[level[node]]), float(place[node]), int(level[node])
        if node > 0:
            parent = int(counts.parent[node])
            start = float(left[at - 1] + columns[at - 1] + 0.04), float(place[parent])
            canvas.curve([start, (x - 0.04, y)], color=GREY, linewidth=0.8, zorder=0)
        half = (LINE * (text.count("\n") + 1) + BAR) / 2
        canvas.write(x, y - half, text, va="top")
        _draw_bar(canvas, x, y + half - BAR, columns[at], model.node_proba_[node], colours)
        if node in signs:
            canvas.write(x + columns[at] + 0.1, y, signs[node], color="0.35", style="italic")
    _add_legend(canvas, model, colours)
    shown = "" if depth == level.max() else f", {depth} of {level.max()} levels drawn"
    canvas.axes.set_title(f"{count(counts.n_nodes, 'node')}{shown}", fontsize=10)
    return canvas.axes


def _describe_node(model: Any, node: int) -> str:
    counts = model.tree_.counts
    condition = textwrap.wrap(
        describe_branch(model, node), WRAP, max_lines=MAX_LINES, placeholder=" ...",
        break_on_hyphens=False,
    )  # fmt: skip
    prior = round(100.0 * (1.0 - model.smoothing_.path_shares(counts, node)[-1]))
    best = int(model.node_proba_[node].argmax())
    label = textwrap.shorten(str(model.classes_[best]), WRAP, placeholder="...")
    return "\n".join([
        *condition,
        count(counts.totals[node], "row") + (f", {prior} % prior" if prior else ""),
        f"p({label}) = {show_probability(model.node_proba_[node, best], 2)}",
    ])  # fmt: skip


def _children(counts: Any, node: int) -> range:
    return range(counts.child_start[node], counts.child_start[node + 1])


def _count_below(counts: Any, node: int) -> int:
    stack, n_below = [*_children(counts, node)], 0
    while stack:
        n_below += 1
        stack.extend(_children(counts, stack.pop()))
    return n_below


def _number_lines(counts: Any, depth: int) -> NDArray[np.float64]:
    """Line of each node: leaves one below the other, others in the middle of their children."""
    line = np.zeros(counts.n_nodes)
    n_leaves, order, stack = 0, [], [0]
    while stack:
        node = stack.pop()
        children = _children(counts, node) if counts.level[node] < depth else range(0)
        if children:
            order.append((node, children))
        else:
            line[node] = n_leaves
            n_leaves += 1
        stack.extend(reversed(children))
    for node, children in reversed(order):
        line[node] = (line[children[0]] + line[children[-1]]) / 2
    return line


def _colour_classes(model: Any) -> dict[int, str]:
    """Colours of the most frequent classes by their place; the others are grey."""
    total = model.tree_.counts.count_rows()[0]
    frequent = np.sort(np.argsort(-total, kind="stable")[: len(CLASS_COLOURS)])
    return dict(zip(frequent.tolist(), CLASS_COLOURS, strict=False))


def _draw_bar(
    canvas: Canvas, x: float, y: float, width: float, proba: Any, colours: dict[int, str]
) -> None:
    for k, colour in colours.items():
        canvas.box(x, y, width * proba[k], BAR, facecolor=colour, linewidth=0)
        x += width * proba[k]
    others = 1.0 - sum(proba[k] for k in colours)
    if len(proba) > len(colours):
        canvas.box(x, y, width * others, BAR, facecolor=GREY, linewidth=0)


def _add_legend(canvas: Canvas, model: Any, colours: dict[int, str]) -> None:
    labels = {str(model.classes_[k]): colour for k, colour in colours.items()}
    if len(model.classes_) > len(colours):
        labels[f"{len(model.classes_) - len(colours)} other classes"] = GREY
    patch = import_matplotlib("patches").Patch
    canvas.axes.legend(
        [patch(color=colour) for colour in labels.values()], list(labels), ncols=4, fontsize=8,
        loc="upper center", bbox_to_anchor=(0.5, 0.0), frameon=False, title="probability of",
        title_fontsize=8,
    )  # fmt: skip
