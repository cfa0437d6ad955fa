"""Forests, the slow and obvious way: one row, one tree and one node at a time."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from priorwise.counts.packed_trees import NODE


def step(node, value):
    """The child a value goes to, from the meaning of the four bits."""
    if math.isnan(value):
        bit = 2
    elif value == node["threshold"]:
        bit = 1
    else:
        bit = 3 if value > node["threshold"] else 0
    return int(node["first"]) + (int(node["split"]) >> bit & 1)


def path(forest, t, columns, row):
    """The nodes of tree t from the root to the leaf of a row."""
    nodes = forest.nodes[forest.tree_start[t] : forest.tree_start[t + 1]]
    found = [0]
    while nodes[found[-1]]["split"] & 15:
        node = nodes[found[-1]]
        found.append(step(node, float(columns[node["split"] >> 4][row])))
    return found


def count(forest, columns, outcome, weight, n_outcomes):
    """Counts at every node of rows of given weight in every tree (n_trees x n_rows)."""
    counts = np.zeros((len(forest.nodes), n_outcomes))
    for t, start in enumerate(forest.tree_start[:-1]):
        for row in range(len(outcome)):
            for node in path(forest, t, columns, row):
                counts[start + node, outcome[row]] += weight[t][row]
    return counts


def smooth_path(counts, nodes, strength):
    """The estimate of every node on a path, from the root on."""
    above = np.full(counts.shape[1], 1.0 / counts.shape[1])
    estimates = []
    for place, node in enumerate(nodes):
        c = strength if place else 1.0
        above = (counts[node] + c * above) / (counts[node].sum() + c)
        estimates.append(above)
    return estimates


def out_of_bag(forest, all_counts, columns, out, outcome, own, strength):
    """Each row by the trees it did not grow, `own` of it taken off the nodes on its path."""
    found = np.full((len(outcome), all_counts.shape[1]), np.nan)
    for row in range(len(outcome)):
        answers, weights = [], []
        for t, start in enumerate(forest.tree_start[:-1]):
            if out[t, row] == 0:
                continue
            nodes = [start + node for node in path(forest, t, columns, row)]
            counts = all_counts.copy()
            for node in nodes:
                counts[node, outcome[row]] -= own[row]
            answers.append(smooth_path(counts, nodes, strength)[-1])
            weights.append(out[t, row])
        if answers:
            found[row] = np.average(answers, axis=0, weights=weights)
    return found


def average(forest, columns, n_rows, node_rows):
    return np.array([
        np.mean([node_rows[start + path(forest, t, columns, row)[-1]]
                 for t, start in enumerate(forest.tree_start[:-1])], axis=0, dtype=np.float64)
        for row in range(n_rows)
    ])  # fmt: skip


def link_nodes(tree_start, split, threshold):
    """The nodes of trees from their splits: children in the order of their parents, two by two."""
    nodes = np.zeros(len(split), dtype=NODE)
    for start, end in pairwise(tree_start):
        n_children = 1
        for place in range(start, end):
            leaf = bool(split[place] & 15 == 0)
            nodes[place] = threshold[place], place - start if leaf else n_children, split[place]
            n_children += 0 if leaf else 2
    return nodes
