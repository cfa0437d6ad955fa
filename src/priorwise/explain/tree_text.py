"""A fitted tree as text."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from priorwise.common.documents import Document
from priorwise.common.texts import show_probability
from priorwise.structure.trees.decision_tree import describe_branch


def export_text(model: Any, *, max_depth: int | None = None, decimals: int = 3) -> str:
    """Write a tree as indented text: conditions, rows of each class and probabilities.

    Parameters
    ----------
    model : ProbabilityTreeClassifier
        A fitted tree.
    max_depth : int, optional
        Number of levels to show below the root; of deeper ones the number of branches is shown.
    decimals : int
        Number of decimals of probabilities.

    Returns
    -------
    str
        One line for each node.

    Examples
    --------
    >>> from priorwise import ProbabilityTreeClassifier
    >>> X, y = [["sun"], ["sun"], ["rain"], ["rain"]], ["out", "out", "in", "in"]
    >>> model = ProbabilityTreeClassifier("laplace", criterion="gain").fit(X, y)
    >>> print(export_text(model))
    classes: in, out
    all rows: 4 rows [2, 2], p = [0.500, 0.500]
    |   x0 = rain: 2 rows [2, 0], p = [0.750, 0.250]
    |   x0 = sun: 2 rows [0, 2], p = [0.250, 0.750]
    """
    check_is_fitted(model)
    counts = model.tree_.counts
    rows = counts.count_rows()
    lines = ["classes: " + ", ".join(str(label) for label in model.classes_.tolist())]
    stack = [0]
    while stack:
        node = stack.pop()
        level = int(counts.level[node])
        numbers = ", ".join(f"{n:g}" for n in rows[node])
        proba = ", ".join(show_probability(p, decimals) for p in model.node_proba_[node])
        line = (
            f"{describe_branch(model, node)}: {rows[node].sum():g} rows [{numbers}], p = [{proba}]"
        )
        children = range(counts.child_start[node], counts.child_start[node + 1])
        if max_depth is not None and level == max_depth and len(children):
            line += f" and {len(children)} branches"
            children = range(0)
        lines.append("|   " * level + line)
        stack.extend(reversed(children))
    return Document("\n".join(lines))
