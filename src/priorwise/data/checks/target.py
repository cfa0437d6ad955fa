"""Mistakes of a target, and columns that give it away."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.texts import FEW, count, show_percent
from priorwise.data.checks.columns import MIN_ROWS, group_variants, show_labels
from priorwise.data.checks.findings import Finding
from priorwise.data.checks.reading import CheckedColumn
from priorwise.data.checks.strength import is_leak, measure_labels, measure_numbers

MIN_CLASS_ROWS = 5
"""Fewest rows of a class that is no finding: each of 5 folds then has one."""
MANY_CLASSES_SHARE = 0.2
"""Share of different values among the rows from which on a target is a number or an id."""


@dataclass(frozen=True, eq=False)
class CheckedTarget:
    """The target: its labels, sorted, and the place of each row among them, -1 where missing."""

    labels: list[Any]
    codes: NDArray[np.int32]

    @property
    def rows(self) -> NDArray[np.int64]:
        """Number of rows of each class."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.labels))

    @property
    def is_class(self) -> bool:
        """Whether the values are few enough to be classes, and at least two."""
        n_known = int((self.codes >= 0).sum())
        is_many = n_known >= MIN_ROWS and len(self.labels) > MANY_CLASSES_SHARE * n_known
        return len(self.labels) > 1 and not is_many


def find_in_target(target: CheckedTarget) -> Iterator[Finding]:
    """Find what is wrong with a target alone."""
    n_missing = int((target.codes < 0).sum())
    if n_missing:
        yield Finding(
            "missing target", "", f"the target is missing in {count(n_missing, 'row')} "
            f"of {len(target.codes):,}", "leave these rows out, or find their classes",
        )  # fmt: skip
    if len(target.labels) < 2:
        yield Finding(
            "one class", "", f"the target has one class only, {show_labels(target.labels)}",
            "there is nothing to tell apart: check how the rows were chosen",
        )  # fmt: skip
    elif not target.is_class:
        yield Finding(
            "many classes", "", f"the target has {len(target.labels):,} different values in "
            f"{len(target.codes) - n_missing:,} rows, such as {show_labels(target.labels)}",
            "give a column of classes; a number has to be cut into ranges first",
        )  # fmt: skip
    else:
        yield from find_class_variants(target.labels)
        rare = np.flatnonzero(target.rows < MIN_CLASS_ROWS).tolist()
        if rare:
            named = ", ".join(
                f"{str(target.labels[k])!r:.40} ({count(int(target.rows[k]), 'row')})"
                for k in rare[:FEW]
            )
            more = f" and {len(rare) - FEW} more" if len(rare) > FEW else ""
            yield Finding(
                "rare class", "", f"few rows have the class {named}{more}",
                "its probabilities are guesses: collect more rows, or join it to another class",
            )  # fmt: skip


def find_class_variants(labels: list[Any]) -> Iterator[Finding]:
    """Find classes that differ only by case or spaces."""
    groups = group_variants(labels)
    if groups:
        yield Finding(
            "class variants", "", "the target has classes that differ only by case or spaces, "
            + "; ".join(show_labels(group) for group in groups[:FEW]),
            "write each class in one way",
        )  # fmt: skip


def find_leak(column: CheckedColumn, target: CheckedTarget) -> Iterator[Finding]:
    """Find whether a column gives the class away."""
    if column.n_seen < 2 and column.n_known == column.n_rows:
        return
    cells = column.count_classes(target.codes, len(target.labels))
    if column.numbers is None:
        strength = measure_labels(cells)
    else:
        # Few numbers may be codes of the classes, in any order.
        strength = max(
            measure_numbers(column.summarise(cells)),
            measure_labels(cells) if len(cells) <= 2 * len(target.labels) else 0.0,
        )
    if is_leak(strength, cells.sum(axis=0)):
        yield describe_leak(column.name, cells, strength)


def describe_leak(name: str, cells: NDArray[Any], strength: float) -> Finding:
    """Say that a column gives the class away; `cells` are the rows by value and class."""
    seen = cells[cells.sum(axis=1) > 0]
    classes = seen.argmax(axis=1)
    is_copy = len(seen) == len(np.unique(classes)) == int((cells.sum(axis=0) > 0).sum())
    if is_copy:
        same = show_percent(float(seen.max(axis=1).sum() / seen.sum()))
        return Finding(
            "copy of the target", name, f"is the target in other words, in {same} of the rows",
            "leave it out",
        )  # fmt: skip
    return Finding(
        "leak", name, f"gives the class away: alone it leaves {show_percent(1.0 - strength)} of "
        "the uncertainty", "leave it out if it is not known before the class is",
    )  # fmt: skip
