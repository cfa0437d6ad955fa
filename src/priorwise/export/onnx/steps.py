"""Steps as nodes of an ONNX graph, all in double precision."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from priorwise.common.numeric import LEAST_PROBABILITY
from priorwise.export.layout import (
    EQUAL,
    GREATER,
    NOT_AT_MOST,
    Arrays,
    ExportedModel,
    StepWriter,
    list_levels,
)
from priorwise.export.onnx.graph import ML, OnnxGraph
from priorwise.steps.pool import Pool

LEAST_PART, LEAST_SHARE = 1e-4, 1e-6
"""A smaller part of a row goes one way; a smaller share of a part is left out."""

MAX_DISTANCE, STEPS_PER_UNIT = 5, 32
"""Range of the table of the normal distribution, and the density of its places."""


def add_soft_tree(graph: OnnxGraph, trees: Arrays, x: str) -> str:
    """Add the tree level by level: the parts of a row at its nodes, and what its leaves add."""
    share, is_soft, goes_above = _add_shares(graph, trees, x)
    values = trees.values.astype(np.float64)
    part = graph.repeat([1.0], x)
    level = trees.root
    sums = graph.add_constant(np.zeros(values.shape[1]))
    while True:
        leaves = np.flatnonzero(level < 0)
        if len(leaves):
            rows = graph.add_constant(values[~level[leaves]])
            sums = graph.add(
                "Add", sums, graph.add("MatMul", graph.take_columns(part, leaves), rows)
            )
        inner = np.flatnonzero(level >= 0)
        if not len(inner):
            return sums
        nodes = level[inner]
        part = graph.take_columns(part, inner)
        is_large = graph.add("GreaterOrEqual", part, LEAST_PART)
        above = graph.add(
            "Where",
            graph.add("And", is_large, graph.take_columns(is_soft, nodes)),
            graph.take_columns(share, nodes),
            graph.take_columns(goes_above, nodes),
        )
        to_above = graph.add("Mul", part, above)
        to_below = graph.add("Mul", part, graph.add("Sub", 1.0, above))
        part = graph.add("Concat", to_below, to_above, axis=1)
        level = np.concatenate([trees.below[nodes], trees.above[nodes]])


def _add_shares(graph: OnnxGraph, trees: Arrays, x: str) -> tuple[str, str, str]:
    """Add for each node the soft share of the second child, if it is soft, and its hard share."""
    value = graph.take_columns(x, trees.feature)
    threshold, is_missing = graph.add_constant(trees.threshold), graph.add("IsNaN", value)
    reasons = [
        (graph.add("Greater", value, threshold), trees.way != EQUAL),
        (graph.add("Equal", value, threshold), trees.way == EQUAL),
        (is_missing, trees.way == NOT_AT_MOST),
    ]
    goes_above = graph.add_constant(np.zeros(len(trees.way), dtype=bool))
    for reason, nodes in reasons:
        goes_above = graph.add("Or", goes_above, graph.add("And", reason, nodes))
    is_number = graph.add("Not", is_missing)
    soft = trees.bandwidth > 0.0
    is_soft = graph.add("And", is_number, soft)
    # Other thresholds may be infinite.
    distance = graph.add("Sub", value, np.where(soft, trees.threshold, 0.0))
    bandwidth = graph.add_constant(np.where(soft, trees.bandwidth, 1.0))
    distance = graph.add("Div", distance, bandwidth)
    zero, one = graph.add_constant(0.0), graph.add_constant(1.0)
    distance = graph.add("Where", is_number, distance, zero)
    share = _add_normal(graph, distance)
    is_tiny = graph.add("Less", share, LEAST_SHARE)
    is_nearly_all = graph.add("Greater", share, 1.0 - LEAST_SHARE)
    share = graph.add("Where", is_nearly_all, one, graph.add("Where", is_tiny, zero, share))
    return share, is_soft, graph.cast(goes_above, "DOUBLE")


def _add_normal(graph: OnnxGraph, z: str) -> str:
    """Add the normal distribution function, to 1e-11, which has no operator for doubles.

    It is a Taylor polynomial of degree four around the nearest place of a table.
    """
    most = float(MAX_DISTANCE)
    z = graph.add("Min", z, most)
    z = graph.add("Max", z, -most)
    per_unit = graph.add_constant(float(STEPS_PER_UNIT))
    nearest = graph.add("Round", graph.add("Mul", z, per_unit))
    u = graph.add("Sub", z, graph.add("Div", nearest, per_unit))
    place = graph.add("Add", nearest, float(MAX_DISTANCE * STEPS_PER_UNIT))
    place = graph.cast(place, "INT64")
    result = ""
    for coefficients in _expand_normal()[::-1]:
        term = graph.add("Gather", coefficients, place)
        result = graph.add("Add", graph.add("Mul", result, u), term) if result else term
    return result


def _expand_normal() -> NDArray[np.float64]:
    """Return the coefficients of u^0 .. u^4 at each place of the table."""
    n = MAX_DISTANCE * STEPS_PER_UNIT
    z = np.arange(-n, n + 1) / STEPS_PER_UNIT
    density = np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    derivatives = [density, -z * density, (z * z - 1.0) * density, (3.0 - z * z) * z * density]
    factors = [1.0, 2.0, 6.0, 24.0]
    return np.array([ndtr(z), *(d / k for d, k in zip(derivatives, factors, strict=True))])


_AT_MOST, _EQUAL = 0, 4
"""Modes of a node of ONNX's TreeEnsemble."""


class OnnxSteps(StepWriter):
    """Adds steps to a graph; `rows` are the matrices of rows as each reader reads them."""

    def __init__(self, model: ExportedModel, graph: OnnxGraph, rows: list[str]) -> None:
        super().__init__(model)
        self.graph = graph
        self.rows = rows

    def add_trees(self, trees: Arrays, reader: int) -> str:
        x = self.rows[reader]
        if len(trees.bandwidth):
            return add_soft_tree(self.graph, trees, x)
        graph = self.graph
        # An ensemble's leaf adds to one output only: each tree has its own, with the leaf's row.
        rows = graph.cast(self._add_ensemble(trees, x), "INT64")
        values = graph.add_constant(trees.values.astype(np.float64))
        sums = graph.add_up(graph.add("Gather", values, rows, axis=0), 1)
        result = graph.add("Mul", sums, float(trees.scale))
        if trees.normalise:
            result = graph.add("Div", result, graph.add_up(result, 1, keep=True))
        return result

    def _add_ensemble(self, trees: Arrays, x: str) -> str:
        """Add the row of the leaf of each tree, as a matrix of numbers."""
        numpy_helper = self.graph.onnx.numpy_helper
        equal = trees.way == EQUAL
        # The first child of a node takes what is true in ONNX, but if values must be equal.
        children = {
            "true": np.where(equal, trees.above, trees.below),
            "false": np.where(equal, trees.below, trees.above),
        }
        roots, nodes = trees.root.tolist(), {}
        for name, child in children.items():
            nodes[name] = np.where(child < 0, ~child, child).tolist()
            nodes[f"{name} is leaf"] = (child < 0).astype(int).tolist()
        feature, threshold = trees.feature.tolist(), trees.threshold
        mode = np.where(equal, _EQUAL, _AT_MOST).astype(np.uint8)
        missing = (trees.way == GREATER).astype(int).tolist()
        # A tree that is a leaf is a node both of whose children are that leaf.
        for tree, root in enumerate(roots):
            if root < 0:
                roots[tree] = len(feature)
                feature.append(0)
                missing.append(0)
                for name in children:
                    nodes[name].append(~root)
                    nodes[f"{name} is leaf"].append(1)
        # A tree has one leaf more than nodes.
        is_inner, n_leaves = trees.root >= 0, np.ones(len(roots), dtype=np.intp)
        n_leaves[is_inner] += np.diff(trees.root[is_inner], append=len(threshold))
        n_added = len(feature) - len(threshold)
        return self.graph.add(
            "TreeEnsemble",
            x,
            domain=ML,
            n_targets=len(roots),
            tree_roots=roots,
            nodes_featureids=feature,
            nodes_modes=numpy_helper.from_array(np.pad(mode, (0, n_added))),
            nodes_splits=numpy_helper.from_array(np.pad(threshold, (0, n_added))),
            nodes_missing_value_tracks_true=missing,
            nodes_truenodeids=nodes["true"],
            nodes_trueleafs=nodes["true is leaf"],
            nodes_falsenodeids=nodes["false"],
            nodes_falseleafs=nodes["false is leaf"],
            leaf_targetids=np.repeat(np.arange(len(roots)), n_leaves).tolist(),
            leaf_weights=numpy_helper.from_array(np.arange(len(trees.values), dtype=np.float64)),
        )

    def add_pieces(self, step: Arrays, reader: int) -> str:
        x = self.rows[reader]
        graph, n_classes = self.graph, len(step.intercept)
        scores = self._score_labels(step, x)
        if not len(step.numeric):
            return graph.add("Softmax", scores)
        numbers = graph.take_columns(x, step.numeric)
        missing = graph.cast(graph.add("IsNaN", numbers), "DOUBLE")
        weight = graph.add_constant(step.missing_score.reshape(-1, n_classes))
        scores = graph.add("Add", scores, graph.add("MatMul", missing, weight))
        z = self._standardise(step, numbers)
        # The piece of a number is the first one plus how many others begin at most there.
        first, n_pieces = step.first_piece[:-1], np.diff(step.first_piece)
        begins = np.full((len(step.numeric), max(n_pieces.max() - 1, 1)), np.inf)
        for j, begin in enumerate(first.tolist()):
            begins[j, : n_pieces[j] - 1] = step.first_value[begin + 1 : begin + n_pieces[j]]
        lines = graph.add("Unsqueeze", z, [2])
        reached = graph.add("GreaterOrEqual", lines, begins)
        n_reached = graph.add_up(graph.cast(reached, "INT64"), 2)
        piece = graph.add("Add", n_reached, first)
        left = graph.add("Gather", step.left, piece)
        u = graph.add("Unsqueeze", graph.add("Sub", z, left), [2])
        powers = [
            graph.add("Gather", one, piece)
            for one in np.moveaxis(step.coefficient.reshape(-1, 3, n_classes), 1, 0)
        ]
        terms = powers[2]
        for lower in (powers[1], powers[0]):
            terms = graph.add("Add", graph.add("Mul", terms, u), lower)
        return graph.add("Softmax", graph.add("Add", scores, graph.add_up(terms, 1)))

    def add_landmarks(self, step: Arrays, reader: int) -> str:
        graph, x = self.graph, self.rows[reader]
        n_nominal = len(step.nominal)
        squares = np.square(step.landmark_values.astype(np.float64)).sum(axis=0)
        distance = graph.add_constant(squares + (step.landmark_codes >= 0).sum(axis=0))
        parts = []
        if n_nominal:
            codes = step.landmark_codes[:n_nominal]
            n_labels = codes.max(axis=1) + 1
            owner, label = np.repeat(np.arange(n_nominal), n_labels), _count_up(n_labels)
            known = self._match_labels(x, step.nominal[owner], label)
            parts.append((known, -2.0 * (codes[owner] == label[:, None])))
            given = graph.add("GreaterOrEqual", graph.take_columns(x, step.nominal), 0.0)
            ones = np.ones((n_nominal, step.coefficient.shape[1]))
            parts.append((graph.cast(given, "DOUBLE"), ones))
        if len(step.missing):
            numbers = graph.take_columns(x, step.numeric[step.missing])
            missing = graph.cast(graph.add("IsNaN", numbers), "DOUBLE")
            parts.append((missing, 1.0 - 2.0 * (step.landmark_codes[n_nominal:] == 0)))
        if len(step.numeric):
            z = self._standardise(step, graph.take_columns(x, step.numeric))
            z = graph.cast(graph.cast(z, "FLOAT"), "DOUBLE")
            parts.append((z, -2.0 * step.landmark_values.astype(np.float64)))
            parts.append((graph.add("Mul", z, z), np.ones(step.landmark_values.shape)))
        for values, weight in parts:
            distance = graph.add("Add", distance, graph.add("MatMul", values, weight))
        scaled = graph.add("Mul", distance, -step.rate)
        likeness = graph.add("Exp", graph.add("Max", scaled, -708.0))
        terms = graph.add("MatMul", likeness, step.coefficient.T)
        return graph.add("Softmax", graph.add("Add", terms, step.intercept))

    def add_quadratic_forms(self, step: Arrays, reader: int) -> str:
        """Add the scores of all QuadraticForms, of which each class takes the row's."""
        graph, x = self.graph, self.rows[reader]
        scores = self._score_labels(step, x)
        if not len(step.numeric):
            return graph.add("Softmax", scores)
        n_forms, n_values = step.centre.shape
        z = self._standardise(step, graph.take_columns(x, step.numeric))
        steps = graph.add("Sub", z, step.centre[:, None])
        form = np.zeros((n_forms, n_values, n_values))
        form[:, *np.tril_indices(n_values)] = step.form
        product = graph.add("MatMul", steps, form)
        sums = graph.add_up(graph.add("Mul", product, steps), 2)
        terms = graph.add("Transpose", sums, perm=[1, 0])
        terms = graph.add("Add", terms, step.constant)
        place = graph.repeat(np.arange(len(step.intercept)), x)
        for feature, first, children in list_levels(step):
            n = children.shape[1]
            # QuadraticForms of other levels have no children, and code -1 leads nowhere.
            table = np.full((n_forms, n + 1), -1)
            table[first : first + len(children), 1:] = children
            code = graph.cast(graph.take_columns(x, [feature]), "INT64")
            code = graph.add("Max", code, -1)
            at = graph.add("Mul", place, n + 1)
            at = graph.add("Add", at, graph.add("Add", code, 1))
            found = graph.add("Gather", table.ravel(), at)
            known = graph.add("GreaterOrEqual", found, 0)
            place = graph.add("Where", known, found, place)
        return graph.add(
            "Softmax", graph.add("Add", scores, graph.add("GatherElements", terms, place, axis=1))
        )

    def _score_labels(self, step: Arrays, x: str) -> str:
        """Add the intercept and the terms of labels."""
        graph = self.graph
        scores = graph.repeat(step.intercept, x)
        if step.first_label[-1] == 0:
            return scores
        n_labels = np.diff(step.first_label)
        known = self._match_labels(x, np.repeat(step.nominal, n_labels), _count_up(n_labels))
        weight = graph.add_constant(step.label_score.reshape(-1, len(step.intercept)))
        return graph.add("Add", scores, graph.add("MatMul", known, weight))

    def _match_labels(self, x: str, feature: NDArray[Any], label: NDArray[Any]) -> str:
        """Add a matrix with one where a feature has a label, else zero."""
        codes = self.graph.take_columns(x, feature)
        labels = self.graph.add_constant(label.astype(np.float64))
        return self.graph.cast(self.graph.add("Equal", codes, labels), "DOUBLE")

    def _standardise(self, step: Arrays, numbers: str) -> str:
        graph = self.graph
        if step.logs is not None:
            numbers = self._take_logs(step.logs, numbers)
        z = graph.add("Div", graph.add("Sub", numbers, step.mean), step.scale)
        z = graph.add("Where", graph.add("IsNaN", z), 0.0, z)
        most = float(step.max_deviation)
        z = graph.add("Min", z, most)
        return graph.add("Max", z, -most)

    def _take_logs(self, logs: Arrays, numbers: str) -> str:
        graph = self.graph
        argument = graph.add("Add", graph.add("Mul", numbers, logs.sign), logs.shift)
        positive = graph.add("Max", argument, logs.least)
        logged = graph.add("Mul", graph.add("Log", positive), logs.sign)
        kept = graph.add("Or", graph.add("IsNaN", numbers), logs.sign == 0.0)
        return graph.add("Where", kept, numbers, logged)

    def add_pool(self, step: Pool, members: list[str], reader: int) -> str:
        graph = self.graph
        scores = graph.repeat(step.intercept, self.rows[reader])
        for member, weight in zip(members, step.weight.tolist(), strict=True):
            logs = self._take_log(member, step.floor)
            scores = graph.add("Add", scores, graph.add("Mul", logs, weight))
        return graph.add("Softmax", scores)

    def add_boosted(self, base: str, trees: str, reader: int) -> str:
        logs = self._take_log(base, LEAST_PROBABILITY)
        return self.graph.add("Softmax", self.graph.add("Add", logs, trees))

    def _take_log(self, proba: str, least: float) -> str:
        return self.graph.add("Log", self.graph.add("Max", proba, least))


def _count_up(sizes: NDArray[Any]) -> NDArray[Any]:
    """Return 0, 1, ... below each of the sizes, one after the other."""
    return np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
