"""Gaussians whose means and covariances are shrunk towards those of their ancestors."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.sparse.csgraph import minimum_spanning_tree

from priorwise.steps.linear.gaussians import GaussianTree, place_rows

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

    The first context is that of all rows, level 0; the next ones are the classes, level 1; then
    come pairs of a class and a label of the first parent, and so on. `child` of a level (n_contexts
    of the level before, n_labels) is the context of a label, -1 if that has no Gaussian. Moments of
    several tables that were joined have the contexts of all tables in each level.
    """

    count: NDArray[np.float64]
    mean: NDArray[np.float64]
    scatter: NDArray[np.float64]
    parent: NDArray[np.intp]
    level: NDArray[np.intp]
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
        context = []
        parent, level, children = [-1], [0], list[NDArray[np.int32]]()
        own, first = 1 + y.astype(np.intp), 1
        context.append(own)
        parent += [0] * n_classes
        level += [1] * n_classes
        n_contexts = 1 + n_classes
        for codes, n in zip(parents, n_labels, strict=True):
            size = n_contexts - first
            key = np.where((own >= first) & (codes >= 0), (own - first) * n + codes, -1)
            counted = None if weight is None else weight[key >= 0]
            rows = np.bincount(key[key >= 0], counted, minlength=size * n)
            child = np.full(size * n, -1, dtype=np.int32)
            kept = np.flatnonzero(rows >= MIN_ROWS)
            child[kept] = n_contexts + np.arange(len(kept))
            children.append(child.reshape(size, n))
            own = np.where(key >= 0, child[np.maximum(key, 0)], -1)
            context.append(own)
            parent += (first + kept // n).tolist()
            level += [len(context)] * len(kept)
            first, n_contexts = n_contexts, n_contexts + len(kept)
        n_values = values.shape[1]
        count, mean = np.zeros(n_contexts), np.zeros((n_contexts, n_values))
        scatter = np.zeros((n_contexts, n_values, n_values))
        all_weights = weight if weight is not None else np.ones(len(y))
        count[0] = all_weights.sum()
        # Zero is the mean of the rows held out too. A mean shrunk towards it would be farther from
        # such a row the more rows it is of, which tells the class that has one row less.
        mean[0] = all_weights @ values / count[0]
        for own in context:
            order = np.argsort(own, kind="stable")
            starts = np.searchsorted(own[order], np.arange(own.max(initial=-1) + 2))
            for g in np.unique(own[own >= 0]).tolist():
                rows = order[starts[g] : starts[g + 1]]
                own_weight, own_values = all_weights[rows], values[rows]
                count[g] = own_weight.sum()
                mean[g] = (own_weight @ own_values + mean[parent[g]]) / (count[g] + 1.0)
                step = own_values - mean[g]
                scatter[g] = (step if weight is None else own_weight[:, None] * step).T @ step
        # Scatter around the classes' own means, so that the common covariance is within classes.
        scatter[0] = scatter[1 : 1 + n_classes].sum(axis=0)
        return cls(count, mean, scatter, np.array(parent), np.array(level), n_classes, children)

    @classmethod
    def join(cls, parts: list[Moments]) -> tuple[Moments, list[NDArray[np.int32]]]:
        """Join the moments of several tables of the same classes.

        Also returns the place of each Gaussian of each table among all Gaussians.
        """
        level = np.concatenate([part.level for part in parts])
        place = np.argsort(np.argsort(level, kind="stable"), kind="stable")
        places = np.split(place, np.cumsum([len(part.level) for part in parts])[:-1])
        n_values = parts[0].mean.shape[1]
        joined = cls(
            np.empty(len(level)),
            np.empty((len(level), n_values)),
            np.empty((len(level), n_values, n_values)),
            np.empty(len(level), dtype=np.intp),
            np.sort(level),
            parts[0].n_classes,
            [],
        )
        for part, own in zip(parts, places, strict=True):
            joined.count[own] = part.count
            joined.mean[own] = part.mean
            joined.scatter[own] = part.scatter
            joined.parent[own] = own[np.maximum(part.parent, 0)]
        return joined, [(own[1:] - len(parts)).astype(np.int32) for own in places]

    def place(self, parents: list[NDArray[np.int32]], n_rows: int) -> NDArray[np.int32]:
        """Return the Gaussian of each row and class, as a `GaussianTree` places it."""
        return place_rows(self.n_classes, self._list_children(), parents, n_rows)

    def shrink(self, shrinkage: Shrinkage, structure: str) -> GaussianTree:
        """Return the Gaussians of classes and their contexts."""
        n_values = self.mean.shape[1]
        share = self.count / np.maximum(self.count + shrinkage.strength * n_values, TINY)
        own_share = share / np.maximum(self.count, TINY)
        starts = np.searchsorted(self.level, np.arange(self.level[-1] + 2)).tolist()
        n_roots = starts[1]
        own_share[:n_roots] = 1.0 / self.count[:n_roots]
        covariance = own_share[:, None, None] * self.scatter
        covariance[:n_roots] += RIDGE * np.eye(n_values)
        for first, end in pairwise(starts[1:]):
            above = covariance[self.parent[first:end]]
            above *= 1.0 - share[first:end, None, None]
            covariance[first:end] += above
            del above
        covariance = covariance[n_roots:]
        diagonal = np.einsum("gii->gi", covariance).copy()
        covariance *= 0.0 if structure == "naive" else 1.0 - shrinkage.diagonal
        np.einsum("gii->gi", covariance)[:] = diagonal
        invert = self._follow_trees if structure == "tree" else _invert
        precision, log_det = invert(covariance)
        return GaussianTree(
            self.mean[n_roots:], precision, -0.5 * log_det, self.n_classes, self._list_children()
        )

    def _list_children(self) -> tuple[NDArray[np.int32], ...]:
        """Return `children` as places among the Gaussians, of which all rows have none."""
        return tuple(np.where(child > 0, child - 1, -1).astype(np.int32) for child in self.children)

    def _follow_trees(
        self, covariance: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return precisions and log determinants, with a tree of arcs of each table."""
        precision, log_det = np.empty_like(covariance), np.empty(len(covariance))
        n_tables = len(self.level) - len(covariance)
        table = np.arange(len(self.level))
        for level in range(1, int(self.level[-1]) + 1):
            at = np.flatnonzero(self.level == level)
            table[at] = table[self.parent[at]]
        for one in range(n_tables):
            own = np.flatnonzero(table == one)[1:]
            part, count = covariance[own - n_tables], self.count[own]
            arcs = self._choose_tree(part, count)
            precision[own - n_tables], log_det[own - n_tables] = _follow_tree(part, arcs)
        return precision, log_det

    def _choose_tree(
        self, covariance: NDArray[np.float64], count: NDArray[np.float64]
    ) -> NDArray[np.intp]:
        """Return arcs (n_arcs, 2) that have most information given the class."""
        classes, count = covariance[: self.n_classes], count[: self.n_classes]
        scale = np.sqrt(np.einsum("gii->gi", classes))
        correlation = classes / scale[:, :, None] / scale[:, None, :]
        information = -0.5 * np.log1p(-np.minimum(correlation**2, 1.0 - 1e-12))
        gain = np.tensordot(count / count.sum(), information, axes=1)
        # Every pair gets an arc that can be chosen, however small its information is.
        cost = -np.triu(gain + 1e-9, 1)
        return np.stack(minimum_spanning_tree(cost).nonzero(), axis=1)


def _invert(covariance: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return precisions, in the place of the covariances, and log determinants of Gaussians."""
    log_det = np.empty(len(covariance))
    for one, matrix in enumerate(covariance):
        root, failed = dpotrf(matrix.T)
        if failed:
            raise np.linalg.LinAlgError("a covariance must be positive definite")
        log_det[one] = 2.0 * np.log(root.diagonal()).sum()
        if root.size:  # LAPACK prints a message about a matrix of size zero.
            # LAPACK fills one half, the other is zero.
            half = dpotri(root, overwrite_c=True)[0]
            np.add(half, half.T, out=matrix)
            np.fill_diagonal(matrix, half.diagonal())
    return covariance, log_det


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
