"""Axes for drawings of boxes and texts, measured in inches."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from priorwise.common.plots import import_matplotlib, new_axes

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
