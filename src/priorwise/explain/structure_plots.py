"""Plots of networks and trees, on axes for boxes and texts that are measured in inches."""

from __future__ import annotations

import textwrap
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from priorwise.common.docstrings import describe
from priorwise.common.plots import AXES, CLASS_COLOURS, GREY, import_matplotlib, new_axes
from priorwise.common.texts import count, show_probability
from priorwise.common.validation import check_number
from priorwise.structure.networks import Network
from priorwise.structure.networks.layout import CLASS, Node, lay_out
from priorwise.structure.trees.decision_tree import describe_branch

MAX_INCHES = 40.0
"""Largest width and height of a new figure; texts of larger drawings are made smaller."""

FONT_SIZE = 8.0
"""Size of texts, in points, where the drawing has the room it needs."""

LINE = 1.3 * FONT_SIZE / 72.0
"""Height of a line of text, in inches."""

HINTING = 1.08
"""Factor by which text on a screen may be wider than its outline."""


class Canvas:
    """Axes whose data coordinates are inches, with the origin at the upper left.

    On axes smaller than the drawing everything shrinks by the same factor, texts too, so that
    texts that are apart stay apart.
    """

    def __init__(self, ax: Any, width: float, height: float, *, above_and_below: float) -> None:
        """Open axes for a drawing, with room for title and legend in a new figure."""
        room = np.minimum([width, height], MAX_INCHES)
        self.axes = new_axes(ax, (room[0] + 0.1, room[1] + above_and_below + 0.1))
        self.axes.set_axis_off()
        if ax is not None:
            place = ax.get_position()
            room = np.multiply([place.width, place.height], ax.figure.get_size_inches())
        scale = float(min(room / [width, height]))
        # Limits beyond the drawing keep its proportions on axes of other proportions.
        right, below = (room / scale - [width, height]) / 2
        self.axes.set(xlim=(-right, width + right), ylim=(height + below, -below))
        self._font_size = FONT_SIZE * min(1.0, scale)

    def write(self, x: float, y: float, text: str, **style: Any) -> Any:
        """Write text that is vertically centred on y."""
        style = {"va": "center", "fontsize": self._font_size, "linespacing": 1.2} | style
        return self.axes.text(x, y, text, parse_math=False, **style)

    def box(self, x: float, y: float, width: float, height: float, **style: Any) -> Any:
        """Draw a rectangle with its upper left corner at (x, y)."""
        patches = import_matplotlib("patches")
        return self.axes.add_patch(patches.Rectangle((x, y), width, height, **style))

    def curve(self, points: list[tuple[float, float]], *, arrow: bool = False, **style: Any) -> Any:
        """Draw a line through points; between columns it leaves and arrives horizontally."""
        patches = import_matplotlib("patches")
        path = import_matplotlib("path").Path
        vertices, codes = [points[0]], [path.MOVETO]
        for (x0, y0), (x1, y1) in pairwise(points):
            middle = (x0 + x1) / 2
            vertices += [(middle, y0), (middle, y1), (x1, y1)]
            codes += [path.CURVE4] * 3
        return self.axes.add_patch(
            patches.FancyArrowPatch(path=path(vertices, codes), arrowstyle="-|>" if arrow else "-",
                                    mutation_scale=self._font_size, shrinkA=0, shrinkB=0, **style)
        )  # fmt: skip


def text_width(text: str) -> float:
    """Width of the widest line of a text, in inches, where the drawing has the room it needs."""
    text_path = import_matplotlib("textpath").TextPath
    lines = [
        float(text_path((0, 0), line.replace("$", "S"), size=FONT_SIZE).get_extents().x1)
        for line in text.split("\n")
        if line.strip()
    ]
    return HINTING * max(lines, default=0.0) / 72.0


GAP = 0.7
"""Inches between columns."""


@describe(AXES)
def plot_network(network: Any, *, show_class: bool | None = None, ax: Any = None) -> Any:
    """Draw a network in columns, each feature one column to the right of the last of its parents.

    Arcs of a feature that pass by a column share a line between its boxes. The arc from the first
    parent, which has the largest influence, is the darkest; those of the class are dashed.

    Parameters
    ----------
    network : Network or classifier
        The network, or a fitted classifier or `BayesianNetwork` with the attribute `structure_`.
    show_class : bool, optional
        Whether to draw the class, which is a parent of every feature, and its arcs; by default
        only if no feature has another one as parent, as in naive Bayes.

    Examples
    --------
    >>> axes = plot_network(Network.from_parents([[], [0], [0]], ["age", "job", "pay"]))
    >>> sorted(text.get_text() for text in axes.texts)
    ['age', 'job', 'pay']
    """
    network = getattr(network, "structure_", network)
    if not isinstance(network, Network):
        raise TypeError(
            f"network must be a Network or a classifier with structure_, got {network!r}"
        )
    if network.class_name is None:
        if show_class:
            raise ValueError("show_class must not be True for a network without a class")
        show_class = False
    if show_class is None:
        show_class = bool(network.order) and not any(network.parents[i] for i in network.order)
    layout = lay_out(network, show_class)
    names = {i: str(network.class_name) if i == CLASS else network.feature_names[i]
             for i in layout.column}  # fmt: skip
    widths = np.zeros(len(layout.nodes))
    for i, at in layout.column.items():
        widths[at] = max(widths[at], text_width(names[i]) + 0.2)
    left = np.cumsum([0.05, *(widths + GAP)])
    # Arcs that pass by need less height than boxes.
    heights = [
        {(i, at): 3 * LINE if layout.column[i] == at else LINE for i, at in column}
        for column in layout.nodes
    ]
    height = max((sum(column.values()) for column in heights), default=0.5)
    canvas = Canvas(ax, max(1.0, float(left[-1] - GAP + 0.05)), height, above_and_below=0.0)
    middle: dict[Node, float] = {}
    for column in heights:
        y = (height - sum(column.values())) / 2
        for node, size in column.items():
            middle[node] = y + size / 2
            y += size
    for i, at in layout.column.items():
        x, y = float(left[at]), middle[i, at]
        canvas.box(x, y - LINE, widths[at], 2 * LINE, facecolor="0.9" if i == CLASS else "white",
                   edgecolor="0.3", linewidth=0.8, zorder=3)  # fmt: skip
        canvas.write(x + widths[at] / 2, y, names[i], ha="center", zorder=4)
    for child in network.order:
        parents = [*network.parents[child], *([CLASS] if show_class else [])]
        for rank, parent in enumerate(parents):
            points = []
            for at in range(layout.column[parent], layout.column[child]):
                y = middle[parent, at]
                points += [(float(left[at]), y), (float(left[at] + widths[at]), y)]
            end = (float(left[layout.column[child]]), middle[child, layout.column[child]])
            shade = "0.6" if parent == CLASS else str(min(0.7, 0.1 + 0.25 * rank))
            canvas.curve([*points[1:], end], arrow=True, color=shade, linewidth=0.9, zorder=1,
                         linestyle="--" if parent == CLASS else "-")  # fmt: skip
    return canvas.axes


WRAP = 26
"""Characters of the lines, at most `MAX_LINES`, that a condition is broken into."""

MAX_LINES = 3

BRANCH_GAP, BAR = 0.35, 0.09
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
    left = np.cumsum([0.1, *(width + BRANCH_GAP for width in columns)])
    slot = LINE * max(text.count("\n") + 1 for text in texts.values()) + BAR + 0.2
    place = 0.05 + slot * (0.5 + _number_lines(counts, depth))
    width = left[-1] + max((text_width(sign) for sign in signs.values()), default=-BRANCH_GAP + 0.1)
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
