"""Plot of a tree."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from priorwise.common.docstrings import describe
from priorwise.common.plots import AXES, new_axes
from priorwise.explain.tree_text import branch_text
from priorwise.models.trees.tree import ProbabilityTreeClassifier

_GREY = "#dddddd"


@describe(AXES)
def plot_tree(model: ProbabilityTreeClassifier, *, max_depth: int = 3, ax: Any = None) -> Any:
    """Draw a tree with the counts and probabilities of its nodes.

    A node shows its condition, its number of rows of each class and its smoothed probabilities.
    A bar below shows what these are a mixture of: the frequencies of the node itself (black), of
    its ancestors (the lighter the closer to the root) and the uniform distribution (white).

    Parameters
    ----------
    model : ProbabilityTreeClassifier
        A fitted tree.
    max_depth : int
        Number of levels to draw below the root.
    """
    check_is_fitted(model)
    counts = model.tree_.counts
    drawn = np.flatnonzero(counts.level <= max_depth)
    place = _places(model, drawn)
    width = max(4.0, 1.9 * (place.max() + 1))
    ax = new_axes(ax, (width, 1.7 * (1 + counts.level[drawn].max())))
    patches = importlib.import_module("matplotlib.patches")
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
            ax.add_patch(patches.Rectangle((left, y - 0.36), 0.8 * share, 0.07, facecolor=shade,
                                   edgecolor="black", linewidth=0.3))  # fmt: skip
            left += 0.8 * share
    ax.set_xlim(place[drawn].min() - 0.6, place[drawn].max() + 0.6)
    ax.set_ylim(-float(counts.level[drawn].max()) - 0.6, 0.5)
    ax.set_title("classes: " + ", ".join(str(label) for label in model.classes_.tolist()))
    ax.set_axis_off()
    return ax


def _places(model: ProbabilityTreeClassifier, drawn: NDArray[np.intp]) -> NDArray[np.float64]:
    """Horizontal positions: leaves side by side, other nodes above the middle of their children."""
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
