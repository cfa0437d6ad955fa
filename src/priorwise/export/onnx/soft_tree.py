"""A tree with soft thresholds as nodes of an ONNX graph."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from priorwise.export.layout import EQUAL, NOT_AT_MOST, Arrays
from priorwise.export.onnx.graph import OnnxGraph

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
        is_large = graph.add("GreaterOrEqual", part, graph.add_constant(LEAST_PART))
        above = graph.add(
            "Where",
            graph.add("And", is_large, graph.take_columns(is_soft, nodes)),
            graph.take_columns(share, nodes),
            graph.take_columns(goes_above, nodes),
        )
        to_above = graph.add("Mul", part, above)
        to_below = graph.add("Mul", part, graph.add("Sub", graph.add_constant(1.0), above))
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
        counts = graph.add("And", reason, graph.add_constant(nodes))
        goes_above = graph.add("Or", goes_above, counts)
    is_number = graph.add("Not", is_missing)
    soft = trees.bandwidth > 0.0
    is_soft = graph.add("And", is_number, graph.add_constant(soft))
    # Other thresholds may be infinite.
    distance = graph.add("Sub", value, graph.add_constant(np.where(soft, trees.threshold, 0.0)))
    bandwidth = graph.add_constant(np.where(soft, trees.bandwidth, 1.0))
    distance = graph.add("Div", distance, bandwidth)
    zero, one = graph.add_constant(0.0), graph.add_constant(1.0)
    distance = graph.add("Where", is_number, distance, zero)
    share = _add_normal(graph, distance)
    is_tiny = graph.add("Less", share, graph.add_constant(LEAST_SHARE))
    is_nearly_all = graph.add("Greater", share, graph.add_constant(1.0 - LEAST_SHARE))
    share = graph.add("Where", is_nearly_all, one, graph.add("Where", is_tiny, zero, share))
    return share, is_soft, graph.cast(goes_above, "DOUBLE")


def _add_normal(graph: OnnxGraph, z: str) -> str:
    """Add the normal distribution function, to 1e-11, which has no operator for doubles.

    It is a Taylor polynomial of degree four around the nearest place of a table.
    """
    most = float(MAX_DISTANCE)
    z = graph.add("Min", z, graph.add_constant(most))
    z = graph.add("Max", z, graph.add_constant(-most))
    per_unit = graph.add_constant(float(STEPS_PER_UNIT))
    nearest = graph.add("Round", graph.add("Mul", z, per_unit))
    u = graph.add("Sub", z, graph.add("Div", nearest, per_unit))
    place = graph.add("Add", nearest, graph.add_constant(float(MAX_DISTANCE * STEPS_PER_UNIT)))
    place = graph.cast(place, "INT64")
    result = ""
    for coefficients in _expand_normal()[::-1]:
        term = graph.add("Gather", graph.add_constant(coefficients), place)
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
