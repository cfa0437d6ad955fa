"""Gaussians whose means and covariances are shrunk towards those of their ancestors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import minimum_spanning_tree

from priorwise.steps.linear.gaussians import GaussianTree

RIDGE = 1e-3
"""Added to the variances of standardised numbers, so that no covariance is singular."""

TINY = float(np.finfo(float).tiny)
MIN_ROWS = 10
"""Contexts of fewer rows have no Gaussian of their own."""


@dataclass(frozen=True)
class Shrinkage:
    """How strongly Gaussians are shrunk.

    A covariance of N rows has the weight N / (N + strength d) against its parent's, with d the
    number of features; then `diagonal` of the sum is its diagonal alone.
    """

    strength: float
    diagonal: float


@dataclass(frozen=True, eq=False)
class Moments:
    """Numbers of rows, means and scatter matrices of contexts, parents before children.

    The first context is that of all rows, the next ones are the classes; then come pairs of a class
    and a label of the first parent, and so on. `child` of a level (n_contexts of the level before,
    n_labels) is the context of a label, -1 if that has no Gaussian.
    """

    count: NDArray[np.float64]
    mean: NDArray[np.float64]
    scatter: NDArray[np.float64]
    parent: NDArray[np.intp]
    n_classes: int
    children: list[NDArray[np.int32]]

    @classmethod
    def sum_up(
        cls,
        values: NDArray[np.float64],
        y: NDArray[np.int32],
        n_classes: int,
        weight: NDArray[np.float64] | None,
        parents: list[NDArray[np.int32]],
        n_labels: list[int],
    ) -> Moments:
        """Sum up rows; `parents` are the codes of the nominal parents, -1 for none."""
        weight = np.ones(len(y)) if weight is None else weight
        context = [np.zeros(len(y), dtype=np.intp)]
        parent, children = [-1], list[NDArray[np.int32]]()
        level, first = 1 + y.astype(np.intp), 1
        context.append(level)
        parent += [0] * n_classes
        n_contexts = 1 + n_classes
        for codes, n in zip(parents, n_labels, strict=True):
            size = n_contexts - first
            key = np.where((level >= first) & (codes >= 0), (level - first) * n + codes, -1)
            rows = np.bincount(key[key >= 0], weight[key >= 0], minlength=size * n)
            child = np.full(size * n, -1, dtype=np.int32)
            kept = np.flatnonzero(rows >= MIN_ROWS)
            child[kept] = n_contexts + np.arange(len(kept))
            children.append(child.reshape(size, n))
            level = np.where(key >= 0, child[np.maximum(key, 0)], -1)
            context.append(level)
            parent += (first + kept // n).tolist()
            first, n_contexts = n_contexts, n_contexts + len(kept)
        n_values = values.shape[1]
        count, mean = np.zeros(n_contexts), np.zeros((n_contexts, n_values))
        scatter = np.zeros((n_contexts, n_values, n_values))
        for own in context:
            order = np.argsort(own, kind="stable")
            places, starts = np.unique(own[order], return_index=True)
            for g, rows in zip(places.tolist(), np.split(order, starts[1:]), strict=True):
                if g < 0:
                    continue
                own_weight, own_values = weight[rows], values[rows]
                count[g] = own_weight.sum()
                above = mean[parent[g]] if g > 0 else np.zeros(n_values)
                mean[g] = (own_weight @ own_values + above) / (count[g] + 1.0)
                if g > 0:
                    step = own_values - mean[g]
                    scatter[g] = (own_weight[:, None] * step).T @ step
        # Scatter around the classes' own means, so that the common covariance is within classes.
        scatter[0] = scatter[1 : 1 + n_classes].sum(axis=0)
        return cls(count, mean, scatter, np.array(parent), n_classes, children)

    def shrink(self, shrinkage: Shrinkage, structure: str) -> GaussianTree:
        """Return the Gaussians of classes and their contexts."""
        n_values = self.mean.shape[1]
        covariance = np.empty_like(self.scatter)
        covariance[0] = self.scatter[0] / self.count[0] + RIDGE * np.eye(n_values)
        share = self.count / np.maximum(self.count + shrinkage.strength * n_values, TINY)
        own_share = share / np.maximum(self.count, TINY)
        first = 1
        for size in [self.n_classes, *((child >= 0).sum() for child in self.children)]:
            level = slice(first, first + size)
            covariance[level] = (1.0 - share[level, None, None]) * covariance[self.parent[level]]
            covariance[level] += own_share[level, None, None] * self.scatter[level]
            first += size
        own = covariance[1:]
        diagonal = np.einsum("gii->gi", own).copy()
        own = (1.0 - shrinkage.diagonal) * own
        np.einsum("gii->gi", own)[:] = diagonal
        if structure == "naive":
            own = np.zeros_like(own)
            np.einsum("gii->gi", own)[:] = diagonal
        if structure == "tree":
            precision, log_det = _follow_tree(own, self._choose_tree(own))
        else:
            precision, log_det = _invert(own)
        children = [np.where(child > 0, child - 1, -1).astype(np.int32) for child in self.children]
        return GaussianTree(
            self.mean[1:], precision, -0.5 * log_det, self.n_classes, tuple(children)
        )

    def _choose_tree(self, covariance: NDArray[np.float64]) -> NDArray[np.intp]:
        """Return arcs (n_arcs, 2) that have most information given the class."""
        classes = covariance[: self.n_classes]
        scale = np.sqrt(np.einsum("gii->gi", classes))
        correlation = classes / scale[:, :, None] / scale[:, None, :]
        information = -0.5 * np.log1p(-np.minimum(correlation**2, 1.0 - 1e-12))
        share = self.count[1 : 1 + self.n_classes] / self.count[0]
        gain = np.tensordot(share, information, axes=1)
        # Every pair gets an arc that can be chosen, however small its information is.
        cost = -np.triu(gain + 1e-9, 1)
        return np.stack(minimum_spanning_tree(cost).nonzero(), axis=1)


def _invert(covariance: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return precisions and log determinants of Gaussians."""
    precision: NDArray[np.float64] = np.linalg.inv(covariance).astype(np.float64, copy=False)
    return precision, np.linalg.slogdet(covariance)[1]


def _follow_tree(
    covariance: NDArray[np.float64], arcs: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return precisions and log determinants of Gaussians with the dependencies of a tree alone.

    The density is the product of those of the arcs' pairs over those of features, each as often as
    it has arcs less one.
    """
    n_values = covariance.shape[1]
    precision = np.zeros_like(covariance)
    log_det = np.zeros(len(covariance))
    n_arcs = np.bincount(arcs.ravel(), minlength=n_values)
    for i in range(n_values):
        precision[:, i, i] -= (n_arcs[i] - 1.0) / covariance[:, i, i]
        log_det -= (n_arcs[i] - 1.0) * np.log(covariance[:, i, i])
    for i, j in arcs:
        a, b, c = covariance[:, i, i], covariance[:, j, j], covariance[:, i, j]
        det = a * b - c**2
        precision[:, i, i] += b / det
        precision[:, j, j] += a / det
        precision[:, i, j] -= c / det
        precision[:, j, i] -= c / det
        log_det += np.log(det)
    return precision, log_det
