"""A picture of a tree."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from priorwise.explain.tree_text import branch_text
from priorwise.models import ProbabilityTreeClassifier

_GREY = "#dddddd"


def plot_tree(model: ProbabilityTreeClassifier, *, max_depth: int = 3, ax: Any = None) -> Any:
    """Draw a tree: what each node holds, what it answers, and where the answer comes from.

    A node shows its condition, its rows of each class and its smoothed probabilities; below, a
    bar: the shares that its own rows (black) and those of its ancestors up to the uniform row
    (lighter, the root lightest; white for uniform) have in its answer.

    Parameters
    ----------
    model : fitted ProbabilityTreeClassifier
    max_depth : int
        Levels to draw.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    check_is_fitted(model)
    try:
        from matplotlib import pyplot
        from matplotlib.patches import Rectangle
    except ImportError:
        raise ImportError("plot_tree needs matplotlib: pip install priorwise[plot]") from None
    counts = model.tree_.counts
    drawn = np.flatnonzero(counts.level <= max_depth)
    place = _places(model, drawn)
    if ax is None:
        width = max(4.0, 1.9 * (place.max() + 1))
        _, ax = pyplot.subplots(figsize=(width, 1.7 * (1 + counts.level[drawn].max())))
    rows = counts.rows(counts.counts)
    for node in drawn:
        x, y = float(place[node]), -float(counts.level[node])
        if node > 0:
            parent = int(counts.parent[node])
            ax.plot([place[parent], x], [1 - counts.level[node] - 0.36, y + 0.26],
                    color=_GREY, zorder=0)  # fmt: skip
        numbers = ", ".join(f"{n:g}" for n in rows[node])
        proba = ", ".join(f"{p:.2f}" for p in model.node_proba_[node])
        ax.text(x, y, f"{branch_text(model, int(node))}\n[{numbers}]\np = [{proba}]",
                ha="center", va="center", fontsize=7)  # fmt: skip
        left = x - 0.4
        shares = model.smoothing_.path_shares(counts, int(node))
        for i, share in enumerate(shares):
            shade = str(1.0 - i / (len(shares) - 1))
            ax.add_patch(Rectangle((left, y - 0.36), 0.8 * share, 0.07, facecolor=shade,
                                   edgecolor="black", linewidth=0.3))  # fmt: skip
            left += 0.8 * share
    ax.set_xlim(place[drawn].min() - 0.6, place[drawn].max() + 0.6)
    ax.set_ylim(-float(counts.level[drawn].max()) - 0.6, 0.5)
    ax.set_title("classes: " + ", ".join(str(label) for label in model.classes_.tolist()))
    ax.set_axis_off()
    return ax


def _places(model: ProbabilityTreeClassifier, drawn: NDArray[np.intp]) -> NDArray[np.float64]:
    """Leaves of the picture side by side, other nodes above the middle of their children."""
    counts = model.tree_.counts
    shown = np.zeros(counts.n_nodes, dtype=bool)
    shown[drawn] = True
    place = np.zeros(counts.n_nodes)
    n_leaves, order, stack = 0, [], [0]
    while stack:
        node = stack.pop()
        order.append(node)
        children = range(counts.child_start[node], counts.child_start[node + 1])
        below = [child for child in children if shown[child]]
        if not below:
            place[node] = n_leaves
            n_leaves += 1
        stack.extend(reversed(below))
    for node in reversed(order):
        children = range(counts.child_start[node], counts.child_start[node + 1])
        below = [child for child in children if shown[child]]
        if below:
            place[node] = (place[below[0]] + place[below[-1]]) / 2
    return place
