"""A plot of a network."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from priorwise.common.docstrings import describe
from priorwise.common.plots import AXES
from priorwise.explain.canvas import LINE, Canvas, text_width
from priorwise.structure.networks import Network

CLASS = -1
"""The class among the features of a network."""

GAP = 0.7
"""Inches between columns."""

SWEEPS = 4
"""How often the columns are put in order by what they are joined to."""

Node = tuple[int, int]
"""A feature and a column: its box there, or the place where its arcs pass by."""


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
    >>> import matplotlib
    >>> matplotlib.use("agg")
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
    layout = _lay_out(network, show_class)
    names = {i: str(network.class_name) if i == CLASS else network.feature_names[i]
             for i in layout.column}  # fmt: skip
    widths = np.zeros(len(layout.nodes))
    for i, at in layout.column.items():
        widths[at] = max(widths[at], text_width(names[i]) + 0.2)
    left = np.cumsum([0.05, *(widths + GAP)])
    heights = [_stack(column, layout) for column in layout.nodes]
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


@dataclass
class _Layout:
    column: dict[int, int]
    nodes: list[list[Node]] = field(default_factory=list)
    before: dict[Node, list[Node]] = field(default_factory=dict)
    after: dict[Node, list[Node]] = field(default_factory=dict)

    def join(self, start: Node, end: Node) -> None:
        if start not in self.before.setdefault(end, []):
            self.before[end].append(start)
            self.after.setdefault(start, []).append(end)


def _lay_out(network: Network, show_class: bool) -> _Layout:
    """Put features in columns, in an order that has few crossings of arcs."""
    column = {CLASS: 0} if show_class else {}
    parents = {i: [*network.parents[i], *([CLASS] if show_class else [])] for i in network.order}
    for child in network.order:
        column[child] = 1 + max((column[p] for p in parents[child]), default=-1)
    layout = _Layout(column, [[] for _ in range(1 + max(column.values(), default=-1))])
    last = dict(column)
    for child in network.order:
        for parent in parents[child]:
            last[parent] = max(last[parent], column[child] - 1)
            for at in range(column[parent], column[child] - 1):
                layout.join((parent, at), (parent, at + 1))
            layout.join((parent, column[child] - 1), (child, column[child]))
    for i, at in column.items():
        for passed in range(at, last[i] + 1):
            layout.nodes[passed].append((i, passed))
    for sweep in range(SWEEPS):
        neighbours = layout.after if sweep % 2 else layout.before
        columns = layout.nodes[::-1] if sweep % 2 else layout.nodes
        place: dict[Node, float] = {}
        for nodes in columns:
            for position, node in enumerate(nodes):
                near = [place[other] for other in neighbours.get(node, []) if other in place]
                place[node] = float(np.mean(near)) if near else position - (len(nodes) - 1) / 2
            nodes.sort(key=place.__getitem__)
            for position, node in enumerate(nodes):
                place[node] = position - (len(nodes) - 1) / 2
    return layout


def _stack(nodes: list[Node], layout: _Layout) -> dict[Node, float]:
    """Height of each node of a column, in inches; passing arcs need less than boxes."""
    return {(i, at): 3 * LINE if layout.column[i] == at else LINE for i, at in nodes}
