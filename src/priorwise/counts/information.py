"""Training rows as codes, and the information that their features hold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priorwise import _core
from priorwise.common.numeric import MAX_WHOLE_NUMBER
from priorwise.counts.draws import Draws, draw_held_back, hash_rows

MAX_KEPT_FEATURES = 2_000
"""With more features than this or than rows, the information of pairs is not kept."""


@dataclass(frozen=True, eq=False)
class CodedRows:
    """Training rows as codes: what networks count."""

    columns: list[NDArray[np.int32]]  # one contiguous array of codes per feature
    arities: NDArray[np.int32]  # number of codes of each feature
    y: NDArray[np.int32]  # class codes
    n_classes: int
    weight: NDArray[np.float64] | None = None  # None if all are one

    @property
    def n_features(self) -> int:
        return len(self.columns)

    @property
    def n_rows(self) -> int:
        return len(self.y)

    @property
    def weights(self) -> NDArray[np.float64]:
        """Weights of the rows, ones if there are none."""
        return np.ones(self.n_rows) if self.weight is None else self.weight

    def take(self, rows: NDArray[np.intp]) -> CodedRows:
        """Return some of the rows."""
        return replace(
            self,
            columns=[column[rows] for column in self.columns],
            y=self.y[rows],
            weight=None if self.weight is None else self.weight[rows],
        )

    def order_by_content(self) -> NDArray[np.intp]:
        """Return the rows in an order that does not depend on the order given (`Draws`)."""
        return Draws.order(hash_rows(self.columns, self.y), self.weight).row

    def hold_back(self, seed: int) -> tuple[CodedRows, CodedRows] | None:
        """Return rows to learn from, and a tenth of the rows to judge what was learnt.

        The order of the rows does not matter. None if there is only one row.
        """
        if self.n_rows < 2:
            return None
        order, held = self.order_by_content(), draw_held_back(self.n_rows, seed)
        return self.take(np.delete(order, held)), self.take(order[held])


class PairInformation:
    """Structures that the information of pairs of features leads to."""

    mutual: NDArray[np.float64]  # I(X_i; Y), nats
    n_seen: NDArray[np.int64]  # number of values of X_i (row) that occur with class y (column)
    total: float  # number of rows, or sum of their weights

    def conditional_with(self, feature: int, others: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return I(X_i; X_j | Y) of feature i with each of the others, in nats."""
        raise NotImplementedError

    def bias_with(self, feature: int, others: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the mean of `conditional_with` for independent features, in nats.

        Because counts are finite, two independent features have on average about::

            sum_y (v_iy - 1)(v_jy - 1) / (2 N)

        with v_iy the number of values of X_i that occur in class y (the first term of Miller and
        Madow's correction).
        """
        free = self._free_values
        return np.asarray(free[others] @ free[feature] / self._bias_divisor)

    @property
    def _bias_divisor(self) -> float:
        return 2.0 * max(self.total, 1.0)

    @cached_property
    def _free_values(self) -> NDArray[np.float64]:
        return np.maximum(self.n_seen - 1, 0).astype(np.float64)

    def best_parents(
        self, order: NDArray[np.int64], max_parents: int, *, subtract_bias: bool
    ) -> tuple[tuple[int, ...], ...]:
        """Return the earlier features of largest information for each feature of the order.

        Of equals the earlier one comes first. With `subtract_bias` only those are taken whose
        information is larger than its bias. Features that are not in the order have none.
        """
        parents: list[tuple[int, ...]] = [()] * len(self.mutual)
        for place, child in enumerate(order.tolist()):
            earlier = order[:place]
            scores = self.conditional_with(child, earlier)
            if subtract_bias:
                scores = scores - self.bias_with(child, earlier)
            best = _find_largest(scores, max_parents)
            if subtract_bias:
                best = best[scores[best] > 0.0]
            parents[child] = tuple(earlier[best].tolist())
        return tuple(parents)

    def spanning_tree(self, root: int) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
        """Return the order and the parents of the features in the tree of largest information.

        The tree is grown from the root by its heaviest arc to a new feature, which gives a maximum
        spanning tree. Of equal arcs the one to the lower feature is taken, and of those the one
        that was found first.
        """
        parents: list[tuple[int, ...]] = [()] * len(self.mutual)
        order, outside = [root], np.delete(np.arange(len(self.mutual)), root)
        heaviest, nearest = np.full(len(outside), -np.inf), np.zeros(len(outside), dtype=np.intp)
        while len(outside):
            arcs = self.conditional_with(order[-1], outside)
            better = arcs > heaviest
            heaviest[better], nearest[better] = arcs[better], order[-1]
            best = int(np.argmax(heaviest))
            order.append(int(outside[best]))
            parents[order[-1]] = (int(nearest[best]),)
            outside, heaviest, nearest = (np.delete(a, best) for a in (outside, heaviest, nearest))
        return tuple(order), tuple(parents)


@dataclass(frozen=True)
class Information(PairInformation):
    """Mutual information of features with the class and with each other, in nats."""

    mutual: NDArray[np.float64]
    # I(X_i; X_j | Y), symmetric; the diagonal is zero by convention
    conditional: NDArray[np.float64]
    n_seen: NDArray[np.int64]
    total: float

    def conditional_with(self, feature: int, others: NDArray[np.int64]) -> NDArray[np.float64]:
        return self.conditional[feature, others]

    def best_parents(
        self, order: NDArray[np.int64], max_parents: int, *, subtract_bias: bool
    ) -> tuple[tuple[int, ...], ...]:
        divisor = self._bias_divisor if subtract_bias else 0.0
        parents: list[tuple[int, ...]] = [()] * len(self.mutual)
        of_order = _core.find_parents(
            self.conditional, self._free_values, order, max_parents, divisor
        )
        for child, best in zip(order.tolist(), of_order, strict=True):
            parents[child] = tuple(best)
        return tuple(parents)


class WideInformation(PairInformation):
    """Information of features with the class; that of pairs is computed when it is needed.

    Memory is linear in the number of features. The structures are those that
    :func:`measure_information` leads to, since the information of a pair has the same bits. The
    `weight` replaces the weights of the rows.
    """

    def __init__(self, rows: CodedRows, weight: ArrayLike | None, *, n_threads: int = 1) -> None:
        whole, real = split_weights(weight)
        columns, y = np.asarray(rows.columns, dtype=np.int32), rows.y
        if whole is not None:
            # Rows that a bootstrap has not drawn would cost time for every pair.
            kept = np.flatnonzero(whole)
            columns, y, whole = columns[:, kept], y[kept], whole[kept]
        self.rows = np.ascontiguousarray(columns), y, rows.arities, rows.n_classes
        self.weight = real if whole is None else whole
        self.n_threads = n_threads
        self.pairs = _core.WidePairs(
            self.rows[0], rows.arities, y, rows.n_classes, whole, real, n_threads
        )
        self.mutual = self.pairs.mutual
        self.n_seen = self.pairs.n_seen.reshape(-1, rows.n_classes)
        self.total = float(len(y)) if self.weight is None else float(self.weight.sum())

    def conditional_with(self, feature: int, others: NDArray[np.int64]) -> NDArray[np.float64]:
        return _core.measure_pairs(self.pairs, feature, others, self.n_threads)

    @cached_property
    def conditional(self) -> NDArray[np.float64]:
        """I(X_i; X_j | Y) of all pairs at once, for a structure that needs them all."""
        return measure_information(*self.rows, self.weight, n_threads=self.n_threads).conditional


def measure_rows(
    rows: CodedRows,
    weight: ArrayLike | None,
    *,
    max_features: int | None = None,
    n_threads: int = 1,
) -> Information | WideInformation:
    """Measure the information in coded rows; `weight` replaces their weights.

    That of pairs is kept if there are at most `MAX_KEPT_FEATURES` features, no more than rows, and
    no more than the `max_features` that will be used.
    """
    max_kept = min(MAX_KEPT_FEATURES, rows.n_rows, max_features or MAX_KEPT_FEATURES)
    if rows.n_features > max_kept:
        return WideInformation(rows, weight, n_threads=n_threads)
    return measure_information(
        np.asarray(rows.columns), rows.y, rows.arities, rows.n_classes, weight, n_threads=n_threads
    )


def _find_largest(scores: NDArray[np.float64], n: int) -> NDArray[np.intp]:
    """Return the places of the `n` largest scores, in decreasing order; the first of equals first.

    >>> _find_largest(np.array([1.0, 3.0, 2.0, 3.0, 1.0]), 4)
    array([1, 3, 2, 0])
    """
    places = np.arange(len(scores))
    if 0 < n < len(scores):
        places = np.flatnonzero(scores >= np.partition(scores, -n)[-n])
    return places[np.argsort(-scores[places], kind="stable")[:n]]


def measure_information(
    codes: NDArray[np.int32],
    classes: NDArray[np.int32],
    arities: ArrayLike,
    n_classes: int,
    sample_weight: ArrayLike | None = None,
    *,
    counting: str = "fastest",
    n_threads: int = 1,
) -> Information:
    """Measure I(X_i; Y) and I(X_i; X_j | Y) over coded rows.

    With n the counts, N their total and f(n) = n ln n::

        N I(X_i; Y)       = sum f(n_iy) - sum f(n_i) - sum f(n_y) + f(N)
        N I(X_i; X_j | Y) = sum f(n_ijy) - sum f(n_iy) - sum f(n_jy) + sum f(n_y)

    The sums are taken in fixed point, so the result has the same bits for any order of the rows,
    features, values and classes, and for any number of threads. Counts of one pair are dropped once
    they are summed: memory does not grow with arity squared. `counting` is how: "fastest" and all
    others give the same bits. `codes` holds one contiguous row per feature. A code of -1 is a
    missing value: only rows in which the features are known count, and N is that of all rows, so
    that the information of a feature is multiplied by the share of rows that have it. Rows of
    weight zero do not count; whole weights are the same as repeated rows.
    """
    whole, real = split_weights(sample_weight)
    mutual, conditional, n_seen = _core.measure_information(
        np.ascontiguousarray(codes, dtype=np.int32),
        np.ascontiguousarray(arities, dtype=np.int32),
        np.ascontiguousarray(classes, dtype=np.int32),
        n_classes,
        whole,
        real,
        counting,
        n_threads,
    )
    total = total_weight(codes.shape[1], whole, real)
    return Information(mutual, conditional, n_seen.reshape(len(codes), n_classes), total)


def split_weights(
    sample_weight: ArrayLike | None,
) -> tuple[NDArray[np.int64] | None, NDArray[np.float64] | None]:
    """Return weights as integers and None if all are whole, else None and the weights."""
    if sample_weight is None:
        return None, None
    weight = np.asarray(sample_weight)
    if weight.size and not (np.isfinite(weight).all() and weight.min() >= 0):
        wrong = weight[~(np.isfinite(weight) & (weight >= 0))][0]
        raise ValueError(f"sample_weight must be finite and not negative, got {wrong}")
    check_total(sum_weights(weight))
    whole = weight.astype(np.int64)
    if np.array_equal(whole, weight):
        return np.ascontiguousarray(whole), None
    return None, np.ascontiguousarray(weight, dtype=np.float64)


def sum_weights(weight: NDArray[Any]) -> float:
    """Return the sum of weights, infinite if it is too large for a number."""
    with np.errstate(over="ignore"):
        return float(weight.sum(dtype=np.float64))


def check_total(total: float) -> None:
    """Raise ValueError if a sum of weights exceeds what counts can hold exactly."""
    if total > MAX_WHOLE_NUMBER:
        raise ValueError(
            f"sample_weight must have a sum of at most 2**53 (9.0e15), got {total:.3g}"
        )


def total_weight(
    n_rows: int, whole: NDArray[np.int64] | None, real: NDArray[np.float64] | None
) -> float:
    """Return the number of rows, or the sum of their weights as `split_weights` returns them."""
    if whole is not None:
        return float(whole.sum())
    return float(n_rows) if real is None else float(real.sum())
