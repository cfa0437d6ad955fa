"""Labels of a feature and how many rows have each, over many batches."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.data.survey.numbers import NumberCounts
from priorwise.data.tables.categories import OTHER, Categories, sorted_labels
from priorwise.data.tables.column_kinds import is_numeric
from priorwise.data.tables.label_keys import NominalColumn, label_key, parse_number

MANY_LABELS = 1_000
"""Labels above which a column is read as one label if they tell nothing of the class. Below, the
labels of a column take less than 100 kB of a model (benchmarks/high_cardinality.py; 2026-11)."""


def tell_nothing(counts: NDArray[Any]) -> bool:
    """Whether labels tell nothing of the class, by the rows of each label and class.

    Rows of one label must agree on the class by at most two standard errors more than rows drawn at
    random. With c_k of the t rows of a label in class k, whose share is s_k, the excess is::

        sum over labels of (sum_k (c_k - t s_k)^2 - c_k (1 - s_k)^2 - (t - c_k) s_k^2) / (t - 1)

    with the variance V 2 t / (t - 1), V = sum_k s_k^2 - 2 s_k^3 + (sum_k s_k^2)^2, summed over
    labels. Labels with one row say nothing. Without two classes nothing is known.

    >>> tell_nothing(np.array([[5, 5], [4, 6]])), tell_nothing(np.array([[9, 1], [0, 10]]))
    (True, False)
    """
    cells = np.asarray(counts, dtype=np.float64)
    cells = cells[cells.sum(axis=1) > 0.0]
    if (cells.sum(axis=0) > 0.0).sum() < 2:
        return False
    shares = cells.sum(axis=0) / cells.sum()
    cells = cells[cells.sum(axis=1) > 1.0]
    rows = cells.sum(axis=1, keepdims=True)
    alone = cells * (1.0 - shares) ** 2 + (rows - cells) * shares**2
    pairs = (cells - rows * shares) ** 2 - alone
    excess = float((pairs.sum(axis=1) / (rows[:, 0] - 1.0)).sum())
    squares = float((shares**2).sum())
    variance = squares - 2.0 * float((shares**3).sum()) + squares**2
    variance *= 2.0 * float((rows / (rows - 1.0)).sum())
    return excess <= 2.0 * float(np.sqrt(variance))


@dataclass(frozen=True, eq=False)
class LabelCounts:
    """Labels of a feature in any order, None for missing, and their rows by class.

    The feature is nominal, unless `is_text`: then all its labels together decide whether it is.
    Labels that no row has are forgotten, unless the type of the column lists them: `declared` are,
    for each label, the rows of batches whose type does; None if no type does.
    """

    labels: list[Hashable]
    counts: NDArray[Any]
    """Rows or weights, of shape (n_labels, n_classes)."""
    is_text: bool = False
    declared: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, column: NominalColumn, weight: NDArray[np.float64] | None = None) -> LabelCounts:
        """Count the rows of one batch without a look at their classes; missing comes last.

        >>> LabelCounts.of(NominalColumn(["b"], np.array([0, 0, -1]))).counts.tolist()
        [[2.0], [1.0]]
        """
        labels = [*column.labels, None]
        places = np.where(column.codes < 0, len(column.labels), column.codes)
        counts = np.bincount(places, weight, len(labels)).astype(np.float64)
        return cls(labels, counts[:, None])

    @property
    def totals(self) -> NDArray[Any]:
        """Rows or weight of each label."""
        return self.counts.sum(axis=1)

    @property
    def declared_rows(self) -> NDArray[np.float64]:
        """Rows of batches whose type lists the label, for each label."""
        return np.zeros(len(self.labels)) if self.declared is None else self.declared

    @property
    def example(self) -> Hashable:
        """A label with rows that is not a number; None if there is none."""
        texts = (
            label
            for label, total in zip(self.labels, self.totals.tolist(), strict=True)
            if total > 0 and label is not None and (not self.is_text or parse_number(label) is None)
        )
        return next(texts, None)

    def merge(self, other: LabelCounts) -> LabelCounts:
        """The labels of both, those of `other` that are new behind."""
        is_text, declared = self.is_text and other.is_text, None
        has_types = self.declared is not None or other.declared is not None
        if self.labels is other.labels or _are_same(self.labels, other.labels):
            if has_types:
                declared = self.declared_rows + other.declared_rows
            return LabelCounts(self.labels, self.counts + other.counts, is_text, declared)
        labels, place = join_labels(self.labels, other.labels)
        kind = np.result_type(self.counts, other.counts)
        counts = np.zeros((len(labels), self.counts.shape[1]), kind)
        counts[: len(self.labels)] = self.counts
        counts[place] += other.counts
        if has_types:
            declared = np.zeros(len(labels))
            declared[: len(self.labels)] = self.declared_rows
            declared[place] += other.declared_rows
        return LabelCounts(labels, counts, is_text, declared)

    def subtract(self, other: LabelCounts) -> LabelCounts:
        """The same labels without the rows of `other`."""
        left = self.merge(other.scale(-1.0))
        declared = None if left.declared is None else np.maximum(left.declared, 0.0)
        return replace(left, counts=np.maximum(left.counts, 0.0), declared=declared)

    def scale(self, factor: float) -> LabelCounts:
        """The same labels where every row counts `factor` times."""
        declared = None if self.declared is None else factor * self.declared
        return replace(self, counts=factor * self.counts, declared=declared)

    def is_numeric(self, name: str, whole_numbers: list[str]) -> bool:
        """Decide whether all rows hold numbers (`is_numeric`)."""
        known = [i for i, label in enumerate(self.labels) if label is not None]
        labels = [self.labels[i] for i in known]
        return self.is_text and is_numeric(name, labels, self.totals[known], whole_numbers)

    def numbers(self) -> NDArray[np.float64]:
        """The number that each label is; NaN for others."""
        parsed = [None if label is None else parse_number(label) for label in self.labels]
        return np.array([np.nan if number is None else number for number in parsed])

    def to_numbers(
        self, max_bytes: int | None, numbers: NDArray[np.float64] | None = None
    ) -> NumberCounts:
        """Return the numbers that all labels with rows are, or those given for each label."""
        n_classes = self.counts.shape[1]
        at, y = np.nonzero(self.counts)
        values = (self.numbers() if numbers is None else numbers)[at]
        return NumberCounts.by_class(
            values, y.astype(np.int32), n_classes, max_bytes, self.counts[at, y]
        )

    def known(self) -> Iterator[Hashable]:
        """The labels that rows have, without missing ones."""
        for label, total in zip(self.labels, self.totals.tolist(), strict=True):
            if total > 0 and label is not None:
                yield label

    def with_classes(self, place: NDArray[np.intp], n_classes: int) -> LabelCounts:
        """The same rows where class i is class ``place[i]`` of more classes."""
        counts = np.zeros((len(self.labels), n_classes), dtype=self.counts.dtype)
        counts[:, place] = self.counts
        return replace(self, counts=counts)

    def to_categories(
        self,
        marks: frozenset[Hashable],
        missing: str,
        known: Categories | None = None,
        *,
        min_rows: int = 1,
        n_rows: NDArray[Any] | None = None,
        joins_all: bool = False,
    ) -> tuple[Categories, NDArray[np.int32]]:
        """Give codes to the labels; also return the code of each label of this survey.

        The `known` labels come first with their weights, others are sorted behind them, whatever
        batch they came with. With ``missing="impute"`` a missing label has the code of the heaviest
        label, with ``missing="ignore"`` the code -1.

        Labels of fewer than `min_rows` rows are `OTHER`, with `joins_all` all of them, and so are
        all others behind known ones. `n_rows` are the rows of each label, by default their weights.
        """
        is_first = known is None
        joins = min_rows > 1 or joins_all or (known is not None and known.has_other)
        known = Categories(marks) if known is None else known
        keys, totals = list(map(label_key, self.labels)), self.totals
        rows = (totals if n_rows is None else n_rows).tolist()
        new, rare, declared = list[Hashable](), set[Hashable](), self.declared_rows
        counted = (totals > 0) | (declared > 0)
        each = zip(keys, self.labels, counted.tolist(), rows, strict=True)
        for key, label, has_rows, n in each:
            if key is None or key in known or not has_rows:
                continue
            if joins and (joins_all or n < min_rows or not is_first):
                rare.add(key)
            else:
                new.append(_shared(label))
        keys = [OTHER if key in rare else key for key in keys]
        if rare and OTHER not in known and OTHER not in map(label_key, new):
            new.append(OTHER)
        new = sorted_labels(new)
        weights = dict.fromkeys(keys, 0.0)
        for key, total in zip(keys, totals.tolist(), strict=True):
            weights[key] += total
        has_values = known.has_values or any(
            weight > 0 for key, weight in weights.items() if key is not None
        )
        codes_missing = missing == "value" or (missing == "impute" and not has_values)
        if codes_missing and weights.get(None, 0) > 0 and None not in known:
            new.append(None)
        listed = dict[Hashable, float]()
        for at in np.flatnonzero(declared).tolist():
            listed[keys[at]] = listed.get(keys[at], 0.0) + float(declared[at])
        categories = known.extend(new, weights, listed)
        categories.has_other |= bool(rare)
        # No row has a label without a code, but for missing values.
        instead = categories.mode_code if missing == "impute" and categories.labels else 0
        codes = [categories.codes.get(key, instead) for key in keys]
        if missing == "ignore" and None in weights:
            codes[keys.index(None)] = -1
        return categories, np.array(codes, dtype=np.int32)


def join_labels(
    mine: list[Hashable], theirs: list[Hashable]
) -> tuple[list[Hashable], NDArray[np.intp]]:
    """Union of both lists of labels, `mine` first, and the place of each of `theirs` in it.

    >>> join_labels(["b", "a"], ["c", "b"])
    (['b', 'a', 'c'], array([2, 0]))
    """
    place = {label_key(label): i for i, label in enumerate(mine)}
    labels = list(mine)
    places = np.empty(len(theirs), dtype=np.intp)
    for i, label in enumerate(theirs):
        places[i] = place.setdefault(label_key(label), len(labels))
        if places[i] == len(labels):
            labels.append(label)
    return labels, places


def _are_same(a: list[Hashable], b: list[Hashable]) -> bool:
    return a == b and list(map(type, a)) == list(map(type, b))


def _shared(label: Hashable) -> Hashable:
    # One object for one text: a model learnt in one go and one that was resumed are then saved
    # as the same bytes.
    return sys.intern(label) if type(label) is str else label
