"""Pictures of the networks and trees of a model, for a report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from priorwise.explain.tree_text import branch_text
from priorwise.export.describe import describe_model
from priorwise.export.program import EQUAL, NOT_AT_MOST, Trees
from priorwise.models.pool.base import BasePool
from priorwise.models.trees.forest import ProbabilityForestClassifier
from priorwise.models.trees.tree import ProbabilityTreeClassifier
from priorwise.report.html import paragraph, section, zoomed
from priorwise.report.svg import Picture, cut_text

MAX_DEPTH, PER_ROW = 3, 7
"""Levels of a tree below its root, and most features of a network side by side."""

BOX, GAP, LEVEL = 150.0, 14.0, 96.0


@dataclass
class Node:
    """A box of a tree: the condition that leads to it, what it holds, and the boxes below."""

    condition: str
    text: str
    below: list[Node] = field(default_factory=list)
    is_cut: bool = False


def structure_section(model: Any) -> str:
    """Return a picture for each member that has a network or a tree; empty if none has."""
    pictures = [zoomed(picture, text) for picture, text in _list_pictures(model, "")]
    if not pictures:
        return ""
    note = "Pictures scroll in their frames; the buttons change their size."
    return section("structure", "What it looks like inside", paragraph(note), *pictures)


def _list_pictures(model: Any, name: str) -> Iterator[tuple[Picture, str]]:
    prefix = f"Member {name}: " if name else ""
    if isinstance(model, BasePool):
        for member, estimator in model.estimators_.items():
            yield from _list_pictures(estimator, member)
    elif isinstance(model, ProbabilityTreeClassifier):
        root = _read_tree(model, 0)
        text = f"{prefix}the tree, with {model.tree_.n_nodes:,} nodes. {_key(model)}"
        yield draw_tree(root, f"{prefix}a tree"), text
    elif isinstance(model, ProbabilityForestClassifier):
        step: Any = describe_model(model, inner_rows=True).model.step
        n_trees = len(step.root)
        text = f"{prefix}the first of {n_trees} trees. {_key(model)}"
        yield draw_tree(_read_binary(model, step, int(step.root[0]), "all rows", 0), text), text
    elif hasattr(model, "structure_"):
        text = f"{prefix}the network. The class is a parent of every feature."
        yield draw_network(model.structure_, text), text
    else:
        members = getattr(model, "estimators_", [])
        first = next(iter(members), None)
        network = getattr(getattr(first, "model", first), "network", None)
        if network is not None:
            text = f"{prefix}the first of {len(members)} networks, each learnt with other draws. "
            text += "The class is a parent of every feature."
            yield draw_network(network, text), text


def _key(model: Any) -> str:
    text = f"Boxes show the {MAX_DEPTH} levels below all rows"
    return f"{text}, and the most probable class there; dots mean that there is more below."


def _describe_node(model: Any, proba: Any) -> str:
    k = int(np.argmax(proba))
    return f"{cut_text(str(model.classes_[k]), 14)}: {proba[k] / np.sum(proba):.0%}"


def _read_tree(model: ProbabilityTreeClassifier, node: int) -> Node:
    counts = model.tree_.counts
    n_rows = float(counts.rows(counts.counts, [node]).sum())
    text = f"{_describe_node(model, model.node_proba_[node])} of {n_rows:,.6g} rows"
    result = Node(branch_text(model, node), text)
    children = range(int(counts.child_start[node]), int(counts.child_start[node + 1]))
    if counts.level[node] < MAX_DEPTH:
        result.below = [_read_tree(model, child) for child in children]
    result.is_cut = bool(len(children)) and not result.below
    return result


def _read_binary(model: Any, trees: Trees, node: int, condition: str, depth: int) -> Node:
    row = ~node if node < 0 else int(trees.own[node])
    result = Node(condition, _describe_node(model, trees.values[row]))
    if node >= 0 and depth < MAX_DEPTH:
        feature, threshold = int(trees.feature[node]), float(trees.threshold[node])
        name, way = model.feature_labels_[feature], trees.way[node]
        labels = (
            model.encoder_.category_labels(feature) if model.encoder_.is_nominal_[feature] else []
        )
        if way == EQUAL:
            known = 0 <= threshold < len(labels)
            label = labels[int(threshold)] if known else threshold
            label = "missing" if label is None else label
            conditions = [f"{name} \u2260 {label}", f"{name} = {label}"]
        else:
            lower, upper = f"{name} \u2264 {threshold:.4g}", f"{name} > {threshold:.4g}"
            conditions = [lower, upper + (" or missing" if way == NOT_AT_MOST else "")]
        children = (int(trees.below[node]), int(trees.above[node]))
        result.below = [
            _read_binary(model, trees, child, text, depth + 1)
            for child, text in zip(children, conditions, strict=True)
        ]
    result.is_cut = node >= 0 and not result.below
    return result


def draw_tree(root: Node, title: str) -> Picture:
    """Return a picture with a box for each node, parents above the middle of their children."""
    places: list[tuple[Node, float, int, int]] = []
    n_leaves = 0

    def place(node: Node, depth: int, parent: int) -> float:
        nonlocal n_leaves
        own = len(places)
        places.append((node, 0.0, depth, parent))
        if node.below:
            xs = [place(child, depth + 1, own) for child in node.below]
            x = (xs[0] + xs[-1]) / 2
        else:
            x = float(n_leaves)
            n_leaves += 1
        places[own] = (node, x, depth, parent)
        return x

    place(root, 0, -1)
    depth = max(level for _, _, level, _ in places)
    step = BOX + GAP
    splits = "; ".join(f"{node.condition}: {node.text}" for node, *_ in places[:7])
    picture = Picture(n_leaves * step, LEVEL * depth + 66, title, splits)
    for node, x, level, parent in places:
        left, top = x * step + GAP / 2, level * LEVEL + 4
        if parent >= 0:
            _, above, height, _ = places[parent]
            ends = [(above * step + step / 2, height * LEVEL + 48), (x * step + step / 2, top)]
            picture.line(ends, "--neutral", stroke_width=1.2)
        picture.rect(left, top, BOX, 44, "--panel", stroke="var(--neutral)", rx=5)
        middle = {"text_anchor": "middle"}
        picture.text(
            left + BOX / 2, top + 18, cut_text(node.condition, 22), font_weight=600, **middle
        )
        picture.text(left + BOX / 2, top + 35, cut_text(node.text, 24), font_size=11, **middle)
        if node.is_cut:
            picture.text(left + BOX / 2, top + 55, "\u22ef", **middle)
    return picture


def draw_network(network: Any, title: str) -> Picture:
    """Return a picture of a network: each feature below its parents, the class above all."""
    layer: dict[int, int] = {}
    for child in network.order:
        layer[child] = 1 + max((layer[p] for p in network.parents[child]), default=0)
    lines: list[list[int]] = []
    for depth in range(1, 1 + max(layer.values(), default=0)):
        members = [i for i in network.order if layer[i] == depth]
        rank = {i: k for line in lines for k, i in enumerate(line)}
        members.sort(key=lambda i: np.mean([rank[p] for p in network.parents[i]] or [0.0]))
        lines += [members[k : k + PER_ROW] for k in range(0, len(members), PER_ROW)]
    widest = max((len(line) for line in lines), default=1)
    step = BOX + GAP
    width = widest * step
    places = {
        i: ((k + 0.5 + (widest - len(line)) / 2) * step, 4 + LEVEL * 0.8 * (row + 1))
        for row, line in enumerate(lines)
        for k, i in enumerate(line)
    }
    arcs = [(p, c, r) for c in network.order for r, p in enumerate(network.parents[c])]
    names = network.feature_names
    text = "; ".join(f"{names[p]} to {names[c]}" for p, c, _ in arcs[:12])
    picture = Picture(width, LEVEL * 0.8 * (len(lines) + 1), title, text or "no arcs of features")
    for i in lines[0] if lines else []:
        _draw_arc(picture, (width / 2, 34.0), places[i], "--line", 1.5)
    for parent, child, rank in arcs:
        x, y = places[parent]
        _draw_arc(picture, (x, y + 30), places[child], "--for", max(0.8, 2.4 - 0.6 * rank))
    boxes = [(width / 2, 4.0, network.class_name), *((*places[i], names[i]) for i in network.order)]
    for place, (x, y, name) in enumerate(boxes):
        fill = "--fill" if place == 0 else "--panel"
        picture.rect(
            x - BOX / 2, y, BOX, 30, fill, stroke="var(--neutral)", rx=0 if place == 0 else 6
        )
        picture.text(x, y + 20, cut_text(str(name), 20), text_anchor="middle")
    return picture


def _draw_arc(
    picture: Picture, start: tuple[float, float], end: tuple[float, float], colour: str, wide: float
) -> None:
    (x, y), (to_x, to_y) = start, end
    bend = max(20.0, (to_y - y) / 2)
    path = f"M{x:.1f} {y:.1f} C{x:.1f} {y + bend:.1f} {to_x:.1f} {to_y - bend:.1f} {to_x:.1f} {to_y:.1f}"
    picture.add(
        "path", d=path, fill="none", stroke=f"var({colour})", stroke_width=wide, opacity=0.75
    )
    tip = f"M{to_x - 4:.1f} {to_y - 7:.1f} L{to_x:.1f} {to_y:.1f} L{to_x + 4:.1f} {to_y - 7:.1f} Z"
    picture.add("path", d=tip, fill=f"var({colour})")
