"""Boosting of scores by trees that all classes share, written as its definition reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp, softmax


@dataclass
class Node:
    rows: NDArray[np.intp]
    value: NDArray[np.float64]
    least: float = -np.inf
    most: float = np.inf
    feature: int = -1
    threshold: float = 0.0
    missing_second: bool = False
    children: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Split:
    gain: float
    feature: int
    threshold: float
    missing_second: bool


@dataclass(frozen=True)
class Rules:
    max_depth: int = 3
    max_leaves: int = 0
    symmetric: bool = False
    rate: float = 0.3
    l2: float = 1.0
    min_hessian: float = 0.1
    monotone: tuple[int, ...] = ()
    row_share: float = 1.0
    column_share: float = 1.0
    seed: int = 0


def draw_number(key: int, of: int) -> int:
    """A 64-bit number for a row or a feature: the finaliser of splitmix64."""
    z = (key + (of + 1) * 0x9E3779B97F4A7C15) % 2**64
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
    return z ^ z >> 31


def draw(
    rules: Rules, booster: int, n_trees: int, rows: NDArray[np.intp], n_features: int
) -> tuple[NDArray[np.intp], list[int]]:
    """The rows and the features that the next tree of a booster is grown from."""
    key = draw_number(draw_number(rules.seed, booster), n_trees)
    drawn = np.array([draw_number(key, int(r)) < rules.row_share * 2**64 for r in rows])
    column_key = draw_number(key, 2**40)
    order = sorted(range(n_features), key=lambda f: draw_number(column_key, f))
    return rows[drawn], sorted(order[: int(np.ceil(rules.column_share * n_features))])


def slopes(
    score: NDArray[np.float64], y: NDArray[np.int32], weight: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """First and second derivatives of the log-loss, (rows, width), in single precision."""
    w = weight[:, None]
    if score.shape[1] == 1:
        p = expit(score)
        g, h = w * (p - y[:, None]), w * p * (1 - p)
    else:
        p, n = softmax(score, axis=1), score.shape[1]
        g = w * (p - (y[:, None] == np.arange(n)))
        h = w * p * (1 - p) * n / (n - 1)
    return g.astype(np.float32).astype(float), h.astype(np.float32).astype(float)


def goes_second(column: NDArray[Any], threshold: float, missing_second: bool) -> NDArray[np.bool_]:
    if column.dtype == np.int32:
        return np.asarray(column == threshold)
    return np.where(np.isnan(column), missing_second, column > threshold)


def bound(parent: Node, children: list[Node], direction: int) -> None:
    """Keep the values of children in the bounds of their parent and apart from each other."""
    for child in children:
        child.least, child.most = parent.least, parent.most
        child.value = np.clip(child.value, child.least, child.most)
    if direction:
        low, high = children if direction > 0 else children[::-1]
        low.most = high.least = float(low.value[0] + high.value[0]) / 2
        low.value, high.value = np.minimum(low.value, low.most), np.maximum(high.value, high.least)


def grow(
    columns: list[NDArray[Any]],
    rows: NDArray[np.intp],
    g: NDArray[np.float64],
    h: NDArray[np.float64],
    rules: Rules,
    features: list[int],
) -> list[Node]:
    """A tree that splits by some features, its nodes numbered level by level.

    It grows level by level, with one split for all nodes of a level if it is symmetric, or with a
    limit of leaves always at the leaf of the largest gain.
    """

    def node(rows: NDArray[np.intp]) -> Node:
        return Node(rows, -rules.rate * g[rows].sum(0) / (h[rows].sum(0) + rules.l2))

    def score(rows: NDArray[np.intp]) -> float:
        return float((g[rows].sum(0) ** 2 / (h[rows].sum(0) + rules.l2)).sum())

    def thresholds(f: int) -> list[float]:
        """Codes, or cuts between values of the whole table; one above all parts off the missing."""
        column = columns[f]
        if column.dtype == np.int32:
            return [float(code) for code in np.unique(column)]
        distinct = np.unique(column[~np.isnan(column)])
        above = [np.inf] if np.isnan(column).any() else []
        return [*((distinct[:-1] + distinct[1:]) / 2), *above]

    def weigh_first(rows: NDArray[np.intp], f: int, cut: float) -> float:
        return float(h[rows[columns[f][rows] <= cut]].sum())

    def candidates(rows: NDArray[np.intp]) -> list[tuple[int, float, bool]]:
        found = []
        for f in features:
            column = columns[f]
            values = column[rows]
            if column.dtype == np.int32:
                found += [(f, code, False) for code in thresholds(f) if code in values]
                continue
            distinct = np.unique(column[~np.isnan(column)])
            here = np.unique(values[~np.isnan(values)])
            for cut in thresholds(f):
                below = distinct[distinct <= cut].max()
                if below not in here:  # the same split as the cut before
                    continue
                if np.isnan(values).any():
                    found += [(f, cut, True), (f, cut, False)]
                else:
                    found.append((f, cut, bool(2 * weigh_first(rows, f, cut) < h[rows].sum())))
        return found

    def part(
        rows: NDArray[np.intp], f: int, threshold: float, missing_second: bool
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
        """The rows of both children, unless one would have too little."""
        second = goes_second(columns[f][rows], threshold, missing_second)
        sides = rows[~second], rows[second]
        return sides if min(h[side].sum() for side in sides) >= rules.min_hessian else None

    def gain_of(rows: NDArray[np.intp], f: int, threshold: float, missing_second: bool) -> float:
        sides = part(rows, f, threshold, missing_second)
        if sides is None:
            return 0.0
        if rules.monotone:
            first, other = (node(side).value[0] for side in sides)
            if rules.monotone[f] * (other - first) < 0.0:
                return -np.inf
        return score(sides[0]) + score(sides[1]) - score(rows)

    def best_split(rows: NDArray[np.intp]) -> Split | None:
        best = None
        for candidate in candidates(rows):
            gain = gain_of(rows, *candidate)
            if gain > 1e-9 and (best is None or gain > best.gain * (1 + 1e-6)):
                best = Split(gain, *candidate)
        return best

    def common_split(leaves: list[NDArray[np.intp]]) -> Split | None:
        """The split of the largest sum of gains."""
        large = [
            rows for rows in leaves if len(rows) > 1 and h[rows].sum() >= 2 * rules.min_hessian
        ]
        total, best = sum(h[rows].sum() for rows in large), None
        for f in features:
            for threshold in thresholds(f):
                first, second = (
                    sum(gain_of(rows, f, threshold, missing_second) for rows in large)
                    for missing_second in (False, True)
                )
                to_second = second > first
                if first == second and columns[f].dtype != np.int32:
                    to_second = 2 * sum(weigh_first(rows, f, threshold) for rows in large) < total
                gain = max(first, second)
                if gain > 1e-9 and (best is None or gain > best.gain * (1 + 1e-6)):
                    best = Split(gain, f, threshold, bool(to_second))
        return best

    nodes, depth = [node(rows)], [0]

    def split_node(at: int, split: Split) -> None:
        parent = nodes[at]
        sides = part(parent.rows, split.feature, split.threshold, split.missing_second)
        if sides is None:
            return
        parent.feature, parent.threshold = split.feature, split.threshold
        parent.missing_second = split.missing_second
        pair = [node(side) for side in sides]
        bound(parent, pair, rules.monotone[split.feature] if rules.monotone else 0)
        for child in pair:
            parent.children.append(len(nodes))
            depth.append(depth[at] + 1)
            nodes.append(child)

    def grow_levels() -> None:
        """All leaves of a level have the same split; one that it does not part stays a leaf."""
        leaves = [0]
        for _ in range(rules.max_depth):
            split = common_split([nodes[at].rows for at in leaves])
            if split is None:
                return
            for at in leaves:
                split_node(at, split)
            leaves = [at for at in range(len(nodes)) if not nodes[at].children]

    def grow_leaves() -> None:
        """Leaves are split one by one, in their order or, if they are limited, by their gains."""
        splits = {0: best_split(rows)}
        while not rules.max_leaves or len(splits) < rules.max_leaves:
            open_ = [(at, split) for at, split in splits.items() if split is not None]
            if not open_:
                return
            at, split = max(open_, key=lambda one: one[1].gain if rules.max_leaves else -one[0])
            del splits[at]
            split_node(at, split)
            for child in nodes[at].children:
                is_open = depth[child] < rules.max_depth
                splits[child] = best_split(nodes[child].rows) if is_open else None

    if rules.symmetric:
        grow_levels()
    else:
        grow_leaves()
    order = [0]
    for at in order:
        order += nodes[at].children
    for one in nodes:
        one.children = [order.index(child) for child in one.children]
    return [nodes[at] for at in order]


def route(nodes: list[Node], columns: list[NDArray[Any]], n_rows: int) -> NDArray[np.float64]:
    """The value of the leaf of each row."""
    out = np.empty((n_rows, len(nodes[0].value)))
    for r in range(n_rows):
        at = 0
        while nodes[at].children:
            node = nodes[at]
            value = columns[node.feature][r : r + 1]
            at = node.children[int(goes_second(value, node.threshold, node.missing_second)[0])]
        out[r] = nodes[at].value
    return out


def boost(
    columns: list[NDArray[Any]],
    y: NDArray[np.int32],
    weight: NDArray[np.float64],
    offset: NDArray[np.float64],
    fold: NDArray[np.int32],
    n_boosters: int,
    n_rounds: int,
    scales: list[float],
    rules: Rules,
) -> tuple[list[list[list[Node]]], NDArray[np.float64]]:
    """The trees of every booster, and the held-out losses of every round and scale."""
    first = offset if offset.shape[1] > 2 else offset[:, 1:] - offset[:, :1]
    scores = [first.copy() for _ in range(n_boosters)]
    trees: list[list[list[Node]]] = [[] for _ in range(n_boosters)]

    def losses() -> list[float]:
        found = []
        for scale in scales:
            total = 0.0
            for b in range(n_boosters):
                own = fold == b
                s = first[own] + scale * (scores[b][own] - first[own])
                if s.shape[1] == 1:
                    s = np.hstack([np.zeros_like(s), s])
                loss = logsumexp(s, axis=1) - s[np.arange(len(s)), y[own]]
                total += float(weight[own] @ loss)
            found.append(total / weight[fold < n_boosters].sum())
        return found

    history = [losses()]
    for _ in range(n_rounds):
        for b in range(n_boosters):
            g, h = slopes(scores[b], y, weight)
            learnt = np.flatnonzero(fold != b)
            rows, features = draw(rules, b, len(trees[b]), learnt, len(columns))
            trees[b].append(grow(columns, rows, g, h, rules, features))
            scores[b] += route(trees[b][-1], columns, len(y))
        history.append(losses())
    return trees, np.array(history)
