"""Slow twins of the pair counts: one table per pair, information by its definition."""

import numpy as np


def table(codes_i, codes_j, classes, arity_i, arity_j, n_classes, weight):
    cells = np.zeros((n_classes, arity_i, arity_j))
    np.add.at(cells, (classes, codes_i, codes_j), weight)
    return cells


def mutual(codes, classes, arity, n_classes, weight):
    """sum p(x, y) log p(x, y) / (p(x) p(y)), in nats."""
    joint = np.zeros((n_classes, arity))
    np.add.at(joint, (classes, codes), weight)
    p = joint / joint.sum()
    independent = p.sum(axis=1, keepdims=True) * p.sum(axis=0, keepdims=True)
    seen = p > 0
    return float((p[seen] * np.log(p[seen] / independent[seen])).sum())


def conditional(cells):
    """sum p(a, b, y) log p(a, b | y) / (p(a | y) p(b | y)), in nats."""
    p = cells / cells.sum()
    p_y = p.sum(axis=(1, 2), keepdims=True)
    expected = p.sum(axis=2, keepdims=True) * p.sum(axis=1, keepdims=True)
    seen = p > 0
    ratio = (p * p_y)[seen] / expected[seen]
    return float((p[seen] * np.log(ratio)).sum())
