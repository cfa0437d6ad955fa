"""Pictures of the networks and trees of a model, for a report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from priorwise.common.texts import MANY, count, show_percent
from priorwise.counts.packed_trees import EQUAL_BIT, MISSING_BIT, expand_rows
from priorwise.report.html import paragraph, section, zoomed
from priorwise.report.scores import member_table
from priorwise.report.svg import COLOURS, DASHES, MAX_NAME, Picture, cut_middle, cut_text
from priorwise.steps.trees import Trees
from priorwise.structure.trees.decision_tree import describe_branch

MAX_DEPTH = 3
"""Levels of a tree that are drawn below its root."""

BOX, GAP, LEVEL, LINE = 172.0, 14.0, 96.0, 32.0

ARCS = (
    "An arc leads from a feature to one that depends on it; solid arcs are the strongest. The "
    "class is a parent of every feature."
)


@dataclass
class Node:
    """A box of a tree: the condition that leads to it, what it holds, and the boxes below."""

    condition: str
    text: str
    below: list[Node] = field(default_factory=list)
    is_cut: bool = False


def structure_section(model: Any) -> str:
    """Return the members with their weights, and a picture of each that has a network or a tree."""
    pictures = [zoomed(picture, text) for picture, text in _list_pictures(model, "")]
    note = paragraph("Pictures scroll in their frames; the buttons change their size.", "screen")
    if not pictures:
        note = paragraph(f"There is no picture of it: {model.step_.describe()}.")
    return section("structure", "What is inside", member_table(model), note, *pictures)


def _list_pictures(model: Any, name: str) -> Iterator[tuple[Picture, str]]:
    prefix = f"Member {name}: " if name else ""
    members = getattr(model, "estimators_", [])
    if isinstance(members, dict):
        for member, estimator in members.items():
            yield from _list_pictures(estimator, member)
    elif hasattr(model, "tree_"):
        root = _read_tree(model, 0)
        text = f"{prefix}the tree, with {count(model.tree_.n_nodes, 'node')}. {_key()}"
        yield draw_tree(root, f"{prefix}a tree"), text
    elif isinstance(getattr(model, "step_", None), Trees):
        step: Trees = model.step_
        text = f"{prefix}the first of {count(step.n_trees, 'tree')}. {_key()}"
        rows = expand_rows(step.rows)[: step.trees.tree_start[1]]
        yield draw_tree(_read_binary(model, step, rows, 0, "all rows", 0), text), text
    elif hasattr(model, "structure_"):
        yield _draw_first(model.structure_, f"{prefix}the network.")
    else:
        first = next(iter(members), None)
        network = getattr(getattr(first, "model", first), "network", None)
        if network is not None:
            text = f"{prefix}the first of {count(len(members), 'network')}, each learnt with "
            yield _draw_first(network, f"{text}other draws.")


def _draw_first(network: Any, text: str) -> tuple[Picture, str]:
    """Return a picture of a network, of many features of those that come first in it."""
    n_features = len(network.order)
    text = f"{text} {ARCS}"
    if n_features > 2 * MANY:
        network = network.restrict(MANY, max(map(len, network.parents)))
        text += f" Of its {n_features:,} features the {MANY} that come first in it are shown."
    return draw_network(network, text), text


def _key() -> str:
    text = f"Boxes show the {MAX_DEPTH} levels below all rows"
    return f"{text}, and the most probable class there; dots mean that there is more below."


def _describe_node(model: Any, proba: Any) -> str:
    k = int(np.argmax(proba))
    return f"{cut_text(str(model.classes_[k]), 14)}: {show_percent(proba[k] / np.sum(proba), 0)}"


def _read_tree(model: Any, node: int) -> Node:
    counts = model.tree_.counts
    n_rows = float(counts.count_rows([node]).sum())
    text = f"{_describe_node(model, model.node_proba_[node])} of {count(n_rows, 'row')}"
    result = Node(describe_branch(model, node), text)
    children = range(int(counts.child_start[node]), int(counts.child_start[node + 1]))
    if counts.level[node] < MAX_DEPTH:
        result.below = [_read_tree(model, child) for child in children]
    result.is_cut = bool(len(children)) and not result.below
    return result


def _read_binary(model: Any, step: Trees, rows: Any, node: int, condition: str, depth: int) -> Node:
    """Return the box of a node of the first tree; `rows` are the probabilities of its nodes."""
    nodes = step.trees.nodes
    threshold, first, split = nodes[node].tolist()
    is_leaf = bool(step.trees.is_leaf[node])
    result = Node(condition, _describe_node(model, rows[node]))
    if not is_leaf and depth < MAX_DEPTH:
        feature = split >> 4
        name = model.feature_labels_[feature]
        labels = (
            model.encoder_.category_labels(feature) if model.encoder_.is_nominal_[feature] else []
        )
        if split & EQUAL_BIT:
            known = 0 <= threshold < len(labels)
            label = labels[int(threshold)] if known else threshold
            label = "missing" if label is None else label
            conditions = [f"{name} \u2260 {label}", f"{name} = {label}"]
        else:
            limit = model.encoder_.name_threshold(feature, threshold, digits=4)
            lower, upper = f"{name} \u2264 {limit}", f"{name} > {limit}"
            conditions = [lower, upper + (" or missing" if split & MISSING_BIT else "")]
        result.below = [
            _read_binary(model, step, rows, child, text, depth + 1)
            for child, text in zip((first, first + 1), conditions, strict=True)
        ]
    result.is_cut = not is_leaf and not result.below
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
        bold = {"font_size": 11.5, "font_weight": 600}
        condition = cut_middle(node.condition, 24)
        picture.text(left + BOX / 2, top + 18, condition, **bold, **middle)
        picture.text(left + BOX / 2, top + 35, cut_text(node.text, 24), font_size=11, **middle)
        if node.is_cut:
            picture.text(left + BOX / 2, top + 55, "\u22ef", **middle)
    return picture


def draw_network(network: Any, title: str) -> Picture:
    """Return a picture of a network: features in their order, and an arc from each parent.

    Arcs go down on the right side of the features, so that none is hidden.
    """
    order, names = network.order, network.feature_names
    first = int(network.class_name is not None)
    place = {i: 4.0 + LINE * (k + first) for k, i in enumerate(order)}
    arcs = [(p, c, rank) for c in order for rank, p in enumerate(network.parents[c])]
    longest = max((place[c] - place[p] for p, c, _ in arcs), default=0.0)
    width = BOX + 20 + min(0.45 * longest, 360.0)
    text = "; ".join(f"{names[p]} to {names[c]}" for p, c, _ in arcs[:12])
    height = LINE * (len(order) + first) + 8
    picture = Picture(width, height, title, text or "no arcs between features")
    for parent, child, rank in arcs:
        y, to_y = place[parent] + 12, place[child] + 12
        bend = min(0.6 * (to_y - y), 480.0)
        ends = f"M{BOX:.1f} {y:.1f} C{BOX + bend:.1f} {y:.1f}"
        path = f"{ends} {BOX + bend:.1f} {to_y:.1f} {BOX + 6:.1f} {to_y:.1f}"
        style = {"fill": "none", "stroke": f"var({COLOURS[rank % 4]})"}
        picture.add("path", d=path, stroke_width=1.6, stroke_dasharray=DASHES[rank % 4], **style)
        tip = f"M{BOX + 8:.1f} {to_y - 4:.1f} L{BOX:.1f} {to_y:.1f} L{BOX + 8:.1f} {to_y + 4:.1f} Z"
        picture.add("path", d=tip, fill=f"var({COLOURS[rank % 4]})")
    boxes = [(4.0, network.class_name)] * first + [(place[i], names[i]) for i in order]
    for k, (y, name) in enumerate(boxes):
        fill, corner = ("--fill", 0) if k < first else ("--panel", 6)
        picture.rect(1, y, BOX - 2, 24, fill, stroke="var(--neutral)", rx=corner)
        picture.text(BOX / 2, y + 17, cut_text(str(name), MAX_NAME), text_anchor="middle")
    return picture
