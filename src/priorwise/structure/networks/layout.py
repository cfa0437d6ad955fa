"""Where the features of a network are drawn."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from priorwise.structure.networks.network import Network

CLASS = -1
"""The class among the features of a network."""

SWEEPS = 4
"""How often the columns are put in order by what they are joined to."""

Node = tuple[int, int]
"""A feature and a column: its box there, or the place where its arcs pass by."""


@dataclass
class Layout:
    """Columns of features, each to the right of all its parents."""

    column: dict[int, int]
    nodes: list[list[Node]] = field(default_factory=list)
    before: dict[Node, list[Node]] = field(default_factory=dict)
    after: dict[Node, list[Node]] = field(default_factory=dict)

    def join(self, start: Node, end: Node) -> None:
        """Draw a line between two neighbouring columns."""
        if start not in self.before.setdefault(end, []):
            self.before[end].append(start)
            self.after.setdefault(start, []).append(end)


def lay_out(network: Network, show_class: bool) -> Layout:
    """Put features in columns, in an order that has few crossings of arcs.

    >>> lay_out(Network.from_parents([[], [0], [0, 1]]), False).nodes
    [[(0, 0)], [(0, 1), (1, 1)], [(2, 2)]]
    """
    column = {CLASS: 0} if show_class else {}
    parents = {i: [*network.parents[i], *([CLASS] if show_class else [])] for i in network.order}
    for child in network.order:
        column[child] = 1 + max((column[p] for p in parents[child]), default=-1)
    # A feature without parents stands right before the first of its children.
    for i in network.order:
        children = [column[child] for child in network.order if i in parents[child]]
        if not parents[i] and children:
            column[i] = min(children) - 1
    layout = Layout(column, [[] for _ in range(1 + max(column.values(), default=-1))])
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
