"""Pictures of networks without a class, whose arcs may join any two variables."""

from __future__ import annotations

from priorwise.report.svg import COLOURS, DASHES, MAX_NAME, Picture, cut_text, find_width
from priorwise.structure.networks import Network
from priorwise.structure.networks.layout import lay_out

CHARACTER, BOX, LINE, GAP = 6.8, 24.0, 34.0, 64.0
"""Width of a lower-case letter, height of a box, of a line of boxes, and width between columns."""


def draw_graph(network: Network, title: str) -> Picture:
    """Return a picture in columns, each variable to the right of all its parents.

    Arcs of a variable that pass by a column share a line between its boxes.
    """
    layout = lay_out(network, False)
    names = {i: cut_text(network.feature_names[i], MAX_NAME) for i in network.order}
    size = {i: find_width(names[i]) for i in network.order}
    widths = [
        16.0 + CHARACTER * max(size[i] for i, own in layout.column.items() if own == at)
        for at in range(len(layout.nodes))
    ]
    left = [2.0]
    for width in widths:
        left.append(left[-1] + width + GAP)
    height = LINE * max(map(len, layout.nodes), default=0) + 4
    arcs = [(p, c, rank) for c in network.order for rank, p in enumerate(network.parents[c])]
    text = "; ".join(f"{names[p]} to {names[c]}" for p, c, _ in arcs[:12])
    picture = Picture(left[-1] - GAP + 2, height, title, text or "no arcs")
    middle = {
        node: height / 2 + LINE * (k - (len(column) - 1) / 2)
        for column in layout.nodes
        for k, node in enumerate(column)
    }
    for parent, child, rank in arcs:
        first, last = layout.column[parent], layout.column[child]
        end = left[last] - 7, middle[child, last]
        path = f"M{left[first] + widths[first]:.1f} {middle[parent, first]:.1f}"
        for at in range(first + 1, last + 1):
            start, y0 = left[at - 1] + widths[at - 1], middle[parent, at - 1]
            x, y = end if at == last else (left[at], middle[parent, at])
            bend = (start + x) / 2
            path += f" H{start:.1f} C{bend:.1f} {y0:.1f} {bend:.1f} {y:.1f} {x:.1f} {y:.1f}"
        colour = f"var({COLOURS[rank % 4]})"
        picture.add(
            "path", d=path, fill="none", stroke=colour, stroke_width=1.4,
            stroke_dasharray=DASHES[rank % 4],
        )  # fmt: skip
        x, y = end
        tip = f"M{x - 1:.1f} {y - 4:.1f} L{x + 7:.1f} {y:.1f} L{x - 1:.1f} {y + 4:.1f} Z"
        picture.add("path", d=tip, fill=colour)
    for i, at in layout.column.items():
        y = middle[i, at]
        picture.rect(
            left[at], y - BOX / 2, widths[at], BOX, "--panel", stroke="var(--neutral)", rx=6
        )
        picture.text(left[at] + widths[at] / 2, y + 4.5, names[i], text_anchor="middle")
    return picture
