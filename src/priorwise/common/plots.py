"""Axes to draw on, and the style that plots share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.runtime import import_extra

Places = NDArray[np.intp]

AXES = """
Parameters
----------
ax : matplotlib Axes, optional
    Axes to draw on; by default those of a new figure.

Returns
-------
matplotlib Axes
    The axes.
"""
"""Descriptions that all plots share."""


BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "0.6"
"""Colours for and against a class, and of what is neither."""

CLASS_COLOURS = (BLUE, ORANGE, "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#f0e442")
"""Colours of classes, which colour-blind people can tell apart (Okabe and Ito)."""


def new_axes(ax: Any, figsize: tuple[float, float]) -> Any:
    """Return `ax`, or the axes of a new figure if it is None."""
    if ax is not None:
        return ax
    _, axes = import_matplotlib("pyplot").subplots(figsize=figsize, layout="constrained")
    return axes


def import_matplotlib(module: str) -> Any:
    """Import a module of matplotlib, which is not a required package."""
    return import_extra(f"matplotlib.{module}", "a plot", "priorwise[plot]")


def part_largest(sizes: NDArray[Any], most: int) -> tuple[Places, Places]:
    """Return the places of the largest sizes, to be drawn one by one, and of the others.

    A single other one is drawn too: a line for it takes no more room than one for their sum.
    """
    order = np.argsort(-sizes, kind="stable")
    n_shown = most if len(order) > most + 1 else len(order)
    return order[:n_shown], order[n_shown:]


def hide_frame(axes: Any) -> None:
    """Leave of the frame the lower line only, and no ticks on the left."""
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
