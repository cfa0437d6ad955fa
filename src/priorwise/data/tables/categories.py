"""The codes of one feature: those of labels, with or without an order, or bins between cuts."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from priorwise.common.texts import show_value
from priorwise.data.tables.dates import show_date
from priorwise.data.tables.label_keys import (
    NUMBERS,
    NominalColumn,
    is_missing,
    label_key,
    parse_number,
    spell_label,
)

OTHER = "other"
"""The label of all values whose own labels have too few rows."""


class Categories:
    """Labels of one nominal feature and their codes.

    Labels are matched by their keys (`label_key`), never by the code that a frame gave them: 1, 1.0
    and "1" are one label, True and 1 are two. In `labels` None stands for missing; `counts` holds
    the weight of each code in training, `left_out` that of the missing values that have no code,
    and `declared` that of the rows whose column's type lists the label. A label with one of the
    keys `marks` that training did not have is missing. With `has_other` labels of few rows were
    joined: any label that is not known has the code of `OTHER`. `replacement` is the label that
    missing values are replaced by if they are imputed, once it has been decided.

    >>> categories = Categories.of(["a", None], [2.0, 1.0], frozenset())
    >>> categories.code("a"), categories.code("b"), categories.missing_code
    (0, -1, 1)
    """

    def __init__(self, marks: frozenset[Hashable] = frozenset()) -> None:
        self.marks = marks
        self.labels: list[Hashable] = []
        self.counts: list[float] = []
        self.declared: list[float] = []
        self.left_out = 0.0
        self.has_other = False
        self.replacement: tuple[Hashable, ...] = ()
        self.codes: dict[Hashable, int] = {}  # by key

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "codes"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.codes = {label_key(label): code for code, label in enumerate(self.labels)}

    @classmethod
    def of(cls, labels: list[Hashable], counts: list[float], marks: frozenset[Hashable]) -> Self:
        """Return known labels in their order; ValueError if two of them have the same key."""
        categories = cls(marks)
        categories.labels, categories.counts = labels, counts
        categories.declared = [0.0] * len(labels)
        categories.codes = {label_key(label): code for code, label in enumerate(labels)}
        if len(categories.codes) != len(labels):
            raise ValueError("labels must differ")
        return categories

    def __contains__(self, key: Hashable) -> bool:
        """Whether a key has a code."""
        return key in self.codes

    def extend(
        self,
        labels: list[Hashable],
        weights: Mapping[Hashable, float],
        declared: Mapping[Hashable, float],
    ) -> Categories:
        """Return the same labels with others behind them, and more weight, given by key.

        The weight of missing values is left out if they have no code.
        """
        more = self.relabel([*self.labels, *labels], [*self.counts, *[0.0] * len(labels)])
        for key, weight in declared.items():
            more.declared[more.codes[key]] += weight
        for key, weight in weights.items():
            if key in more.codes:
                more.counts[more.codes[key]] += weight
            elif key is None:
                more.left_out += weight
        return more

    def relabel(self, labels: list[Hashable], counts: list[float]) -> Categories:
        """Return other labels that are read alike."""
        other = Categories.of(labels, counts, self.marks)
        other.left_out, other.has_other = self.left_out, self.has_other
        own = (self.codes.get(key, -1) for key in other.codes)
        other.declared = [0.0 if code < 0 else self.declared[code] for code in own]
        other.replacement = self.replacement
        return other

    def scale(self, factor: float) -> Categories:
        """Return the same labels, with weights multiplied by a factor."""
        other = self.relabel([*self.labels], [factor * count for count in self.counts])
        other.declared = [factor * weight for weight in self.declared]
        other.left_out = factor * self.left_out
        return other

    def decide_replacement(self) -> None:
        """Let missing values be replaced by the heaviest label so far, also if others come."""
        self.replacement = ()
        if self.labels:
            self.replacement = (self.labels[self.mode_code],)

    def declare(self, labels: list[Hashable]) -> None:
        """Add labels in their order, seen or not."""
        for label in labels:
            key = label_key(label)
            if key not in self.codes:
                self.codes[key] = len(self.labels)
                self.labels.append(label)
                self.counts.append(0.0)
                self.declared.append(0.0)

    def code(self, label: Hashable) -> int:
        """Return the code of one label, `unknown_code` if training did not have it.

        A boolean that training did not have has the code of the number that it equals, and a number
        that of the boolean: a column may change its type between training and prediction.
        """
        return (
            self.missing_code
            if is_missing(label)
            else self.find(label_key(label), self.missing_code)
        )

    def encode(self, column: NominalColumn, *, impute: bool = False) -> NDArray[np.int32]:
        """Return the code of each row, `unknown_code` for a label that training did not have.

        With `impute`, missing values have the code of the heaviest label.
        """
        missing = self.mode_code if impute and self.labels else self.missing_code
        codes = [self.find(key, missing) for key in column.keys]
        return np.array([*codes, missing], dtype=np.int32)[column.codes]

    @property
    def unknown_code(self) -> int:
        """Code of labels that training did not have, or too rarely; -1 if there is none."""
        return self.codes.get(OTHER, -1) if self.has_other else -1

    @property
    def missing_code(self) -> int:
        """Code of missing values; -1 if training had none."""
        return self.codes.get(None, -1)

    @property
    def has_values(self) -> bool:
        """Whether rows of training have a label that is not missing."""
        weights = zip(self.labels, self.counts, strict=True)
        return any(weight > 0 for label, weight in weights if label is not None)

    @property
    def mode_code(self) -> int:
        """Code of the label that replaces missing values.

        If none has been decided it is the heaviest, of equals the first; missing only if all rows
        were.
        """
        if self.replacement:
            return self.codes[label_key(self.replacement[0])]
        known = [i for i, label in enumerate(self.labels) if label is not None and self.counts[i]]
        return max(known or [max(self.missing_code, 0)], key=lambda i: (self.counts[i], -i))

    @property
    def missing_share(self) -> float:
        """Share of the rows of training, by weight, that have no value."""
        n_missing = self.left_out + (self.counts[self.missing_code] if None in self.codes else 0.0)
        return n_missing / max(sum(self.counts) + self.left_out, 1.0)

    def find(self, key: Hashable, missing_code: int) -> int:
        """Return the code of a key; `missing_code` for a mark of missing values."""
        code = self.codes.get(key)
        if code is None:
            if key in self.marks:
                return missing_code
            if isinstance(key, tuple) and key[:1] == (bool,):
                code = self.codes.get(int(key[1]))
            elif isinstance(key, NUMBERS) and key in (0, 1):
                code = self.codes.get((bool, key == 1))
        return self.unknown_code if code is None else code


def code_numbers(
    labels: Sequence[Hashable], cut_points: NDArray[np.float64], instead: float
) -> NDArray[np.int32]:
    """Return the bins of labels that are numbers; of others, None too, that of `instead`.

    The bin of NaN comes after all others.

    >>> code_numbers(["1.5", None, 3], np.array([2.0]), np.nan)
    array([0, 2, 1], dtype=int32)
    """
    numbers = [None if label is None else parse_number(label) for label in labels]
    values = np.array([instead if number is None else number for number in numbers], float)
    codes = np.searchsorted(cut_points, values, side="left").astype(np.int32)
    codes[np.isnan(values)] = len(cut_points) + 1
    return codes


def name_bins(cut_points: NDArray[np.float64], *, is_date: bool = False) -> list[str]:
    """Return the intervals of the bins, of numbers or of dates in seconds.

    >>> name_bins(np.array([1.5, 4.0]))
    ['(-inf, 1.5]', '(1.5, 4]', '(4, inf)']
    """
    show = show_date if is_date else show_value
    edges = ["-inf", *map(show, cut_points.tolist())]
    return [*(f"({low}, {high}]" for low, high in pairwise(edges)), f"({edges[-1]}, inf)"]


def sorted_labels(labels: list[Hashable]) -> list[Hashable]:
    """Return labels in ascending order of their keys, so that 10 and "10" have the same place.

    Those of different kinds are sorted by kind; those of a kind that do not compare, by their text.

    >>> sorted_labels(["b", 2, True, "10", "a", 1])
    [True, 1, 2, '10', 'a', 'b']
    """
    keys = [_sort_key(label) for label in labels]
    try:
        order = sorted(range(len(labels)), key=keys.__getitem__)
    except TypeError:
        texts = [(kind, repr(value)) for kind, value in keys]
        order = sorted(range(len(labels)), key=texts.__getitem__)
    return [labels[place] for place in order]


def _sort_key(label: Hashable) -> tuple[str, Any]:
    key = label_key(label)
    if isinstance(key, tuple) and key[:1] == (bool,):
        return "bool", key[1]
    return ("number" if isinstance(key, NUMBERS) else type(key).__name__), key


def read_order(
    table: Any, i: int, encoder: Any, feature_names: Sequence[str], marks: frozenset[Hashable]
) -> Categories:
    """Return the labels of an ordered column in their order.

    They are those that `ordinal_features` lists for it, else those of its type. ValueError, which
    names the column, if neither has an order.
    """
    chosen = encoder.ordinal_features
    labels = table.declared_labels(i) if table.is_ordered(i, enums=True) else None
    if isinstance(chosen, Mapping):
        name = feature_names[i] if len(feature_names) else i
        labels = chosen.get(name, chosen.get(i, labels))
        if isinstance(labels, str) or len(set(map(label_key, labels))) < len(labels):
            raise ValueError(
                f"ordinal_features must list each value of column {table.name(i)} once, "
                f"got {labels!r}"
            )
    if labels is None:
        raise ValueError(
            f"ordinal_features must list the values of column {table.name(i)} in their order, "
            "since its type has none: a dict such as {'size': ['small', 'large']}"
        )
    order = Categories(marks)
    order.declare([spell_label(label) for label in labels])
    return order


def to_ranks(order: Categories, column: NominalColumn) -> NDArray[np.float64]:
    """Return the rank of each row; NaN if it is missing or a label that the order does not have.

    >>> order = Categories()
    >>> order.declare(["low", "high"])
    >>> to_ranks(order, NominalColumn(["high", "other"], np.array([0, 1, -1])))
    array([ 1., nan, nan])
    """
    codes = order.encode(column)
    return np.where(codes < 0, np.nan, codes)


def refuse_unlisted(order: Categories, column: NominalColumn, name: str) -> None:
    """Raise ValueError, which names the column, if training has a label without a rank."""
    unlisted = [
        label
        for label, key in zip(column.labels, column.keys, strict=True)
        if key not in order.marks and order.code(label) < 0
    ]
    if unlisted:
        raise ValueError(
            f"ordinal_features must list every value of column {name}, got {unlisted[0]!r} in X"
        )


def name_ranks(order: Categories, cut_points: NDArray[np.float64]) -> list[str]:
    """Return the labels of the bins of ranks: one label, or the first and the last.

    >>> order = Categories()
    >>> order.declare(["low", "middle", "high"])
    >>> name_ranks(order, np.array([1.5]))
    ['low..middle', 'high']
    """
    n = len(order.labels)
    edges = [0, *(min(max(int(np.floor(cut)) + 1, 0), n) for cut in cut_points), n]
    return [
        f"{order.labels[low]}..{order.labels[high - 1]}"
        if high - low > 1
        else str(order.labels[min(low, n - 1)])
        for low, high in pairwise(edges)
    ]
