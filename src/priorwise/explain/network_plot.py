"""A plot of a network."""

from __future__ import annotations

from typing import Any

import numpy as np

from priorwise.common.docstrings import describe
from priorwise.common.plots import AXES, new_axes
from priorwise.structure.networks import Network


@describe(AXES)
def plot_network(network: Any, *, show_class: bool = False, ax: Any = None) -> Any:
    """Draw a network in layers, each feature one layer below the lowest of its parents.

    Within a layer, features are placed near the mean of their parents. The arc from the first
    parent, which has the largest influence, is the darkest.

    Parameters
    ----------
    network : Network or classifier
        The network, or a fitted classifier with the attribute `structure_`.
    show_class : bool
        Whether to draw the class, which is a parent of every feature, and its arcs.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> axes = plot_network(Network.from_parents([[], [0], [0]], ["age", "job", "pay"]))
    >>> sorted(text.get_text() for text in axes.texts if text.get_text())
    ['age', 'job', 'pay']
    """
    network = getattr(network, "structure_", network)
    if not isinstance(network, Network):
        raise TypeError(
            f"network must be a Network or a classifier with structure_, got {network!r}"
        )
    places = _place_in_layers(network)
    widest = max((sum(y == layer for _, y in places.values()) for layer in range(len(places))),
                 default=1)  # fmt: skip
    depth = max((y for _, y in places.values()), default=0)
    longest = max((len(network.feature_names[i]) for i in network.order), default=1)
    width = min(24.0, max(4.0, widest * (0.3 + 0.075 * longest)))
    axes = new_axes(ax, (width, 1.4 + 1.1 * (depth + show_class)))
    axes.set_axis_off()
    boxes = {
        i: _draw_box(axes, x, -y, network.feature_names[i], "round") for i, (x, y) in places.items()
    }
    if show_class:
        root = _draw_box(axes, 0.0, 1.0, network.class_name, "square")
        for i in network.order:
            _draw_arc(axes, root, boxes[i], places[i], (0.0, -1.0), "0.85", curve=0.0)
    for child in network.order:
        for rank, parent in enumerate(network.parents[child]):
            shade = str(min(0.75, 0.15 + 0.2 * rank))
            # Arcs over several layers are bent, so that they pass beside the boxes in between.
            far = places[child][1] - places[parent][1] > 1
            _draw_arc(axes, boxes[parent], boxes[child], places[child], places[parent], shade,
                      curve=0.25 if far else 0.0)  # fmt: skip
    half = max(0.5, (widest - 1) / 2 + 0.6)
    axes.set(xlim=(-half, half), ylim=(-depth - 0.5, 0.5 + show_class))
    return axes


def _place_in_layers(network: Network) -> dict[int, tuple[float, int]]:
    """Horizontal position of each feature, centred on zero, and its layer from the top."""
    layer: dict[int, int] = {}
    for child in network.order:
        layer[child] = 1 + max((layer[p] for p in network.parents[child]), default=-1)
    places: dict[int, tuple[float, int]] = {}
    for at in range(1 + max(layer.values(), default=-1)):
        members = [i for i in network.order if layer[i] == at]
        wanted = [_mean_place(network.parents[i], places) for i in members]
        for position, i in enumerate(np.argsort(wanted, kind="stable")):
            places[members[int(i)]] = (position - (len(members) - 1) / 2, at)
    return places


def _mean_place(parents: tuple[int, ...], places: dict[int, tuple[float, int]]) -> float:
    return float(np.mean([places[p][0] for p in parents])) if parents else 0.0


def _draw_box(axes: Any, x: float, y: float, text: str, style: str) -> Any:
    return axes.annotate(
        text,
        (x, y),
        ha="center",
        va="center",
        fontsize=9,
        zorder=3,
        bbox={"boxstyle": f"{style},pad=0.35", "facecolor": "white", "edgecolor": "0.3"},
    )


def _draw_arc(
    axes: Any,
    source: Any,
    target: Any,
    end: tuple[float, float],
    start: tuple[float, float],
    colour: str,
    curve: float,
) -> None:
    axes.annotate(
        "",
        (end[0], -end[1]),
        xytext=(start[0], -start[1]),
        zorder=1,
        arrowprops={
            "arrowstyle": "-|>",
            "color": colour,
            "patchA": source.get_bbox_patch(),
            "patchB": target.get_bbox_patch(),
            "shrinkA": 0,
            "shrinkB": 0,
            "connectionstyle": f"arc3,rad={curve}",
        },
    )
