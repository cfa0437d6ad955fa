"""Branches of trees in words."""

from __future__ import annotations

from typing import Any

from priorwise.structure.trees.decision_tree import ABOVE, BELOW, EQUAL, NUMERIC


def describe_branch(model: Any, node: int) -> str:
    """Return the condition of rows of the parent that reach a node; "all rows" for the root.

    `model` has a `tree_`, an `encoder_` and `feature_labels_`.
    """
    tree = model.tree_
    if node == 0:
        return "all rows"
    parent, branch = int(tree.counts.parent[node]), int(tree.counts.value[node])
    feature = int(tree.feature[parent])
    name = model.feature_labels_[feature]
    if tree.kind[parent] == NUMERIC:
        threshold = model.encoder_.name_threshold(feature, float(tree.threshold[parent]))
        if threshold == "inf":
            return f"{name} is known" if branch == BELOW else f"{name} is missing"
        signs = {BELOW: f"<= {threshold}", ABOVE: f"> {threshold}"}
        return f"{name} {signs.get(branch, 'is missing')}"
    labels = model.encoder_.category_labels(feature)
    if tree.kind[parent] == EQUAL:
        sign = "=" if branch else "!="
        return f"{name} {sign} {labels[int(tree.threshold[parent])]}"
    label = labels[branch]
    return f"{name} is missing" if label is None else f"{name} = {label}"
