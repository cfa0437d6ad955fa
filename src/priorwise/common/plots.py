"""Axes to draw on."""

from __future__ import annotations

import importlib
from typing import Any

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


def new_axes(ax: Any, figsize: tuple[float, float]) -> Any:
    """Return `ax`, or the axes of a new figure if it is None."""
    if ax is not None:
        return ax
    try:
        pyplot = importlib.import_module("matplotlib.pyplot")
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install priorwise[plot]") from error
    _, axes = pyplot.subplots(figsize=figsize, layout="constrained")
    return axes
