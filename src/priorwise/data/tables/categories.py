"""The values of one nominal feature, learnt batch by batch."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from priorwise.data.tables.factorise import NominalColumn, is_missing


class Categories:
    """Labels of one nominal feature and their codes.

    Labels are matched by equality, never by the code a frame gave them. The first batch's labels
    are sorted, so codes don't depend on the order of rows; labels a later batch brings follow.

    Attributes
    ----------
    labels : list
        The label of each code; ``None`` stands for missing.
    counts : list of float
        Weight of each code in training.

    Examples
    --------
    >>> categories = Categories()
    >>> first = NominalColumn(["b", "a"], np.array([0, 1, 1, -1], dtype=np.int32))
    >>> categories.learn(first)
    >>> categories.labels
    ['a', 'b', None]
    >>> categories.encode(NominalColumn(["c", "b"], np.array([0, 1], dtype=np.int32)))
    array([-1,  1], dtype=int32)
    """

    def __init__(self) -> None:
        self.labels: list[Hashable] = []
        self.counts: list[float] = []
        self._codes: dict[Hashable, int] = {}

    def learn(self, column: NominalColumn, weight: NDArray[np.float64] | None = None) -> None:
        """Add the labels and weights of a batch; rows of weight zero bring no label."""
        n_labels = len(column.labels)
        # Missing is counted last.
        places = np.where(column.codes < 0, n_labels, column.codes)
        totals = np.bincount(places, weight, n_labels + 1)
        new = [
            label
            for label, total in zip(column.labels, totals, strict=False)
            if total > 0 and label not in self._codes
        ]
        for label in sorted_labels(new):
            self._add(label)
        if totals[n_labels] > 0 and None not in self._codes:
            self._add(None)
        for label, total in zip([*column.labels, None], totals, strict=True):
            if total > 0:
                self.counts[self._codes[label]] += float(total)

    def declare(self, labels: list[Hashable]) -> None:
        """Add labels in their order, seen or not."""
        for label in labels:
            if label not in self._codes:
                self._add(label)

    def code(self, label: Hashable) -> int:
        """Return the code of one label, -1 if training did not have it.

        >>> categories = Categories()
        >>> categories.declare(["low", "high"])
        >>> categories.code("high"), categories.code("huge")
        (1, -1)
        """
        return self.missing_code if is_missing(label) else self._codes.get(label, -1)

    def encode(self, column: NominalColumn) -> NDArray[np.int32]:
        """Return each row's code, -1 for a label that training did not have."""
        codes = [self._codes.get(label, -1) for label in column.labels]
        return np.array([*codes, self.missing_code], dtype=np.int32)[column.codes]

    @property
    def missing_code(self) -> int:
        """The code of missing; -1 if training had none."""
        return self._codes.get(None, -1)

    @property
    def mode_code(self) -> int:
        """The code of the heaviest label, of equals the first; missing only if all were."""
        known = [i for i, label in enumerate(self.labels) if label is not None]
        return max(known or [0], key=lambda code: (self.counts[code], -code))

    def _add(self, label: Hashable) -> None:
        self._codes[label] = len(self.labels)
        self.labels.append(label)
        self.counts.append(0.0)


def sorted_labels(labels: list[Hashable]) -> list[Hashable]:
    """Labels in ascending order, or by the name of their type where they don't compare."""
    try:
        return sorted(labels)  # type: ignore[type-var]
    except TypeError:
        return sorted(labels, key=lambda label: (type(label).__name__, repr(label)))
