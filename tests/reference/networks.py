"""Slow twins of the network classifiers: products of conditional probabilities from dicts."""

from collections import Counter

import numpy as np


class DictNetwork:
    """p(y, x) of one network, by its definition, from rows of codes.

    `smoothing` is "mle", "laplace", ("m-estimate", m), ("m-branch", m) or ("parent", m): weight m
    towards the parent at every level. A code of -1 is a missing value: the row is not counted for
    that feature, and contexts end before it.
    """

    def __init__(self, rows, y, arities, n_classes, parents, order, smoothing, weight=None):
        self.arities, self.n_classes = arities, n_classes
        self.parents, self.order, self.smoothing = parents, order, smoothing
        self.counts: Counter[tuple[object, ...]] = Counter()
        weight = [1.0] * len(rows) if weight is None else weight
        for row, label, w in zip(rows, y, weight, strict=True):
            self.add_row(row, label, w)

    def add_row(self, row, label, w):
        self.counts["class", (), label] += w
        self.counts["class", ()] += w
        for i in self.order:
            if row[i] < 0:
                continue
            path = (label, *(row[j] for j in self.parents[i]))
            path = path[: path.index(-1)] if -1 in path else path
            for depth in range(len(path) + 1):
                self.counts[i, path[:depth], row[i]] += w
                self.counts[i, path[:depth]] += w

    def p(self, i, path, value):
        """p(value of feature i | path); i = "class" for the prior."""
        n_outcomes = self.n_classes if i == "class" else self.arities[i]
        depth = 0 if i == "class" else 1 + len(self.parents[i])
        estimate = 1.0 / n_outcomes
        for level in range(len(path) + 1):
            context = path[:level]
            n, total = self.counts[i, context, value], self.counts[i, context]
            if total > 1e-12:
                base = 1.0 / n_outcomes
                if self.smoothing == "mle":
                    m = 0.0
                elif self.smoothing == "laplace":
                    m = n_outcomes
                elif self.smoothing[0] == "m-estimate":
                    m = self.smoothing[1]
                elif self.smoothing[0] == "parent":
                    base, m = estimate, self.smoothing[1]
                else:
                    base = estimate
                    height = depth - level + 1
                    m = self.smoothing[1] * (1 + (1 - 1 / height) * self.counts[i, ()] ** 0.5)
                estimate = (n + m * base) / (total + m)
        return estimate

    def log_joint(self, row, features=None, max_parents=None):
        with np.errstate(divide="ignore"):
            result = []
            for y in range(self.n_classes):
                sum_ = np.log(self.p("class", (), y))
                for i in self.order if features is None else features:
                    if row[i] < 0:
                        continue
                    path = (y, *(row[j] for j in self.parents[i][:max_parents]))
                    sum_ += np.log(self.p(i, path, row[i]))
                result.append(sum_)
        return np.array(result)


def normalise(log_joint, log_prior):
    """Class probabilities; those of the prior where every class is impossible."""
    if np.isneginf(log_joint).all():
        log_joint = log_prior
    largest = log_joint.max()
    p = np.exp(log_joint - largest)
    return p / p.sum()


def leave_one_out_losses(rows, y, arities, n_classes, network, smoothing, k, loss):
    """Mean loss of every (k', prefix), each row judged by counts that never had it."""
    losses = np.zeros((k + 1, len(network.order) + 1))
    for r, row in enumerate(rows):
        others = [q for q in range(len(rows)) if q != r]
        twin = DictNetwork(
            [rows[q] for q in others], [y[q] for q in others], arities, n_classes,
            network.parents, network.order, smoothing,
        )  # fmt: skip
        for depth in range(k + 1):
            for f in range(len(network.order) + 1):
                joint = twin.log_joint(row, network.order[:f], depth)
                p = normalise(joint, twin.log_joint(row, []))[y[r]]
                losses[depth, f] += (1 - p) ** 2 if loss == "squared" else -np.log(max(p, 1e-300))
    return losses / len(rows)
