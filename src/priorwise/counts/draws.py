"""Rows as draws, one each whatever its weight: folds, bootstraps and samples choose from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

N_FOLDS = 5
"""Number of folds that rows are dealt into, where the size of the table does not ask for others."""

MAX_HELD_BACK = 5_000
"""Most rows that `draw_held_back` draws, and on which the smoothing of a forest is chosen."""

MAX_JUDGED_ROWS = 2_000
"""Most held-out rows by which the smoothing of a tree, or the contexts of a network, are chosen."""

MIN_CONTINUOUS_VALUES = 30
"""Fewest distinct values of a continuous number: scales of grades and hours of a day have fewer."""

MAX_ROWS_PER_DIFFERENT = 20
"""Most rows for each different one, on average, of a table with copies. Where there are more, the
table has few different rows, and equal rows are draws."""

CHANCE_FACTOR = 10.0
"""Equal rows are copies if two rows that agree in all other columns share the number at least this
many times as often as two rows that do not. The factor is above one because a number that depends
on other features is shared more often by rows that agree in these. Set by hand on 100 UCI sets."""

_ODD = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


@dataclass(frozen=True, eq=False)
class Draws:
    """The rows of a table in an order that depends on their content alone.

    A row is one draw, whatever its weight: what is learnt from a row and what judges it are never
    parts of the same draw. Copies of a row are one draw too, with the sum of their weights.

    >>> hashes = np.array([9, 7, 9], dtype=np.uint64)
    >>> Draws.order(hashes, None).row.tolist()
    [1, 0, 2]
    >>> joined = Draws.order(hashes, None, may_be_copy=np.array([True, True, True]))
    >>> joined.row.tolist(), joined.weight.tolist(), joined.draw_of_row.tolist()
    ([1, 0], [1.0, 2.0], [1, 0, 1])
    """

    row: NDArray[np.intp]  # a given row with the content of each draw
    weight: NDArray[np.float64] | None  # weights of the draws; None if all are one
    draw_of_row: NDArray[np.intp]  # the draw that each given row is, or is a copy of

    @classmethod
    def order(
        cls,
        hashes: NDArray[np.uint64],
        weight: NDArray[np.float64] | None,
        *,
        may_be_copy: NDArray[np.bool_] | None = None,
    ) -> Draws:
        """Order rows with the given hashes of content, as `hash_rows` gives them.

        Of the rows that `may_be_copy`, equal ones are joined; by default none are.
        """
        row = np.lexsort((hashes,) if weight is None else (weight, hashes))
        number = np.arange(len(row))
        if may_be_copy is not None:
            is_copy = np.append(False, hashes[row[1:]] == hashes[row[:-1]]) & may_be_copy[row]
            number = np.cumsum(~is_copy) - 1
            total = np.bincount(number, None if weight is None else weight[row])
            row_weight = None if (total == 1.0).all() else total.astype(np.float64)
        else:
            row_weight = None if weight is None else weight[row]
        draw_of_row = np.empty_like(row)
        draw_of_row[row] = number
        first = np.append(True, number[1:] != number[:-1])
        return cls(row[first], row_weight, draw_of_row)


@dataclass(frozen=True)
class NumberEquality:
    """The number of a table that equal rows are least likely to share by chance.

    `place` is that of the feature with the most distinct values, `n_values` their number, and
    `n_equal_pairs` the number of pairs of rows that have the same value, or none.
    """

    place: int
    n_values: int
    n_equal_pairs: float

    @classmethod
    def find(
        cls, places: NDArray[np.intp], value_counts: Sequence[NDArray[Any]]
    ) -> NumberEquality | None:
        """Choose among numeric features at some places, given the rows of each of their values.

        None if no feature has as many values as a continuous number has.
        """
        n_values = [len(counts) for counts in value_counts]
        if max(n_values, default=0) < MIN_CONTINUOUS_VALUES:
            return None
        most = int(np.argmax(n_values))
        return cls(int(places[most]), n_values[most], count_pairs(value_counts[most]))

    def tells_copies(self, hashes: NDArray[np.uint64], others: NDArray[np.uint64]) -> bool:
        """Whether equal rows are copies of a row, rather than draws that happen to be equal.

        `hashes` are of the rows, `others` of the rows without this number. They are copies if
        the number is continuous, with a value for every two different rows at least, and rows
        that agree in all else share it far more often than rows that do not. Where there are more
        than `MAX_ROWS_PER_DIFFERENT` rows for each different one, equal rows are draws.
        """
        n_rows = len(hashes)
        n_copies = np.unique(hashes, return_counts=True)[1]
        n_different = len(n_copies)
        if n_rows > MAX_ROWS_PER_DIFFERENT * n_different or self.n_values < n_different / 2:
            return False
        equal, alike = count_pairs(n_copies), count_pairs(np.unique(others, return_counts=True)[1])
        share_if_alike = equal / max(1.0, alike)
        share_by_chance = (self.n_equal_pairs - equal) / max(1.0, count_pairs([n_rows]) - alike)
        return share_if_alike > CHANCE_FACTOR * share_by_chance


def count_pairs(counts: Any) -> float:
    """Return the number of pairs of rows within groups, given the size of each group."""
    counts = np.asarray(counts, dtype=np.float64)
    return float((counts * (counts - 1.0)).sum() / 2.0)


def hash_rows(columns: Sequence[NDArray[Any]], outcome: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Return a 64-bit hash of the content of each row: its columns and its outcome."""
    mixed = np.zeros(len(outcome), dtype=np.uint64)
    for column in [*columns, outcome]:
        mixed = _mix(mixed ^ _as_bits(column))
    return mixed


def draw_held_back(n_rows: int, seed: int) -> NDArray[np.intp]:
    """Draw a tenth of the rows, at least one and at most `MAX_HELD_BACK`, in ascending order.

    Smoothers are chosen on such rows (Petitjean et al. 2018, section 6.1).
    """
    n_held = max(1, min(n_rows // 10, MAX_HELD_BACK))
    drawn = np.random.default_rng(seed).choice(n_rows, n_held, replace=False, shuffle=False)
    return np.sort(drawn)


def mean_row_weights(
    y: NDArray[np.int32], weight: NDArray[np.float64], n_classes: int
) -> NDArray[np.float64]:
    """Return sum w^2 / sum w over the rows of each class.

    That is the mean weight of a row, where heavy rows count more. Leaving out one row of the class
    takes about this weight out of a sum, and exactly this weight if its rows all weigh the same.

    >>> mean_row_weights(np.array([0, 0, 1], np.int32), np.array([3.0, 3.0, 0.5]), 2)
    array([3. , 0.5])
    """
    total = np.bincount(y, weight, minlength=n_classes)
    # Weights are divided by the largest first: squares of large ones overflow.
    unit = weight.max()
    squares = np.bincount(y, (weight / unit) * weight, minlength=n_classes)
    mean = np.divide(squares, total, out=np.full(n_classes, 1.0 / unit), where=total > 0.0)
    return np.asarray(mean * unit)


def _as_bits(column: NDArray[Any]) -> NDArray[np.uint64]:
    if column.dtype == np.float64:
        # Adding zero turns -0.0 into 0.0; NaN becomes the one NaN that NumPy writes.
        return np.where(np.isnan(column), np.nan, column + 0.0).view(np.uint64)
    return column.astype(np.uint64)


def _mix(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    bits = (bits ^ (bits >> _SHIFT)) * _ODD
    bits = (bits ^ (bits >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return bits ^ (bits >> _SHIFT) ^ _ODD


def deal_into_folds(
    y: NDArray[np.int32],
    n_folds: int,
    generator: np.random.Generator,
    group: NDArray[np.intp] | None = None,
) -> NDArray[np.intp]:
    """Return a fold for each row; the rows of each class are spread evenly over the folds.

    Rows of the same `group` are in the same fold: groups are dealt by the class of most of their
    rows and by their size.

    >>> np.bincount(deal_into_folds(np.zeros(10, np.int32), 5, np.random.default_rng(0)))
    array([2, 2, 2, 2, 2])
    """
    if group is None:
        shuffled = generator.permutation(len(y))
        by_class = shuffled[np.argsort(y[shuffled], kind="stable")]
        folds = np.empty(len(y), dtype=np.intp)
        folds[by_class] = np.arange(len(y)) % n_folds
        return folds
    number = number_groups(group)
    size = np.bincount(number)
    n_classes = int(y.max(initial=0)) + 1
    counts = np.bincount(number * n_classes + y, minlength=len(size) * n_classes)
    main_class = counts.reshape(len(size), n_classes).argmax(axis=1)
    shuffled = generator.permutation(len(size))
    dealt = shuffled[np.lexsort((-size[shuffled], main_class[shuffled]))]
    fold_of_group = np.empty(len(size), dtype=np.intp)
    fold_of_group[dealt] = np.arange(len(size)) % n_folds
    return fold_of_group[number]


def deal_repeatedly(
    y: NDArray[np.int32],
    n_folds: int,
    n_dealings: int,
    generator: np.random.Generator,
    group: NDArray[np.intp] | None = None,
) -> NDArray[np.int32]:
    """Return a fold for each row (n_dealings, n_rows), dealt anew by `deal_into_folds`."""
    dealt = [deal_into_folds(y, n_folds, generator, group) for _ in range(n_dealings)]
    return np.array(dealt, dtype=np.int32)


def number_groups(group: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the groups of rows numbered from zero in the order of their first rows.

    >>> number_groups(np.array([7, 2, 7, 3])).tolist()
    [0, 1, 0, 2]
    """
    _, first, number = np.unique(group, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[number]


def draw_by_group(
    group: NDArray[np.intp] | None, n_rows: int, generator: np.random.Generator
) -> NDArray[np.float64]:
    """Return a uniform random number for each row, the same for the rows of a group."""
    if group is None:
        return generator.random(n_rows)
    return generator.random(int(group.max()) + 1)[group]


def draw_rows(
    n_rows: int,
    weight: NDArray[np.float64] | None,
    n_drawn: int,
    generator: np.random.Generator,
    group: NDArray[np.intp] | None = None,
) -> tuple[NDArray[np.intp], NDArray[np.float64] | None]:
    """Draw rows without replacement, with chances in proportion to their weights.

    Returns the rows in ascending order, and their weights to learn with, of the same mean as those
    of all rows: rows drawn in proportion to their weights count alike, a row so heavy that it is
    drawn for certain counts more. Weights are above zero, None for ones. With groups, whole groups
    are drawn with equal chances, as long as there is room for another, and rows keep their weights.
    """
    if n_rows <= n_drawn:
        return np.arange(n_rows), weight
    if group is not None:
        order = generator.permutation(int(group.max()) + 1)
        n_together = np.cumsum(np.bincount(group)[order])
        n_groups = max(1, int(np.searchsorted(n_together, n_drawn, side="right")))
        rows = np.flatnonzero(np.isin(group, order[:n_groups]))
        return rows, None if weight is None else weight[rows]
    if weight is None:
        return np.sort(generator.choice(n_rows, n_drawn, replace=False)), None
    chance = _draw_chances(weight, n_drawn)
    # Systematic sampling in random order: rows lie side by side on a line, each as long as its
    # chance; points at distance one, which is no less than any row is long, choose the rows.
    order = generator.permutation(n_rows)
    ends = np.cumsum(chance[order])
    points = (generator.random() + np.arange(n_drawn)) * (ends[-1] / n_drawn)
    rows = np.unique(order[np.minimum(np.searchsorted(ends, points, side="right"), n_rows - 1)])
    drawn_weight = weight[rows] / chance[rows]
    return rows, drawn_weight * (weight.mean() / drawn_weight.mean())


def _draw_chances(weight: NDArray[np.float64], n_drawn: int) -> NDArray[np.float64]:
    """Return min(1, c * weight) with the c that makes the sum `n_drawn`."""
    certain = np.zeros(len(weight), dtype=bool)
    while True:
        n_left = n_drawn - int(certain.sum())
        chance = np.where(certain, 1.0, weight * (n_left / weight[~certain].sum()))
        above = chance > 1.0
        if not above.any():
            return chance
        certain |= above
