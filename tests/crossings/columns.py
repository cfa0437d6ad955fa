"""Kinds of columns: how values are drawn, what columns are called, how a classifier is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

Rows = tuple[np.random.Generator, np.ndarray]
"""Random numbers and the number of the group, from 0, that each row belongs to."""


def numbers(rng: np.random.Generator, group: np.ndarray) -> pd.Series:
    return pd.Series(rng.normal(size=len(group)) + group)


def missing(rng: np.random.Generator, group: np.ndarray) -> pd.Series:
    return numbers(rng, group).where(rng.random(len(group)) > 0.3)


def pick(labels: list) -> Callable[[np.random.Generator, np.ndarray], pd.Series]:
    """Labels of which each group has one more often than the others."""

    def draw(rng: np.random.Generator, group: np.ndarray) -> pd.Series:
        place = np.where(rng.random(len(group)) < 0.6, group, rng.integers(99, size=len(group)))
        return pd.Series(np.array(labels, dtype=object)[place % len(labels)])

    return draw


def ordered(rng: np.random.Generator, group: np.ndarray) -> pd.Series:
    sizes = ["small", "medium", "large", "huge"]
    return pick(sizes)(rng, group).astype(pd.CategoricalDtype(sizes, ordered=True))


def booleans(rng: np.random.Generator, group: np.ndarray) -> pd.Series:
    return pick([False, True])(rng, group).astype("boolean")


def dates(rng: np.random.Generator, group: np.ndarray) -> pd.Series:
    days = rng.integers(300, size=len(group)) + 200 * group
    return pd.Series(pd.Timestamp("1968-03-01") + pd.to_timedelta(days, unit="D"))


def times(rng: np.random.Generator, group: np.ndarray) -> pd.Series:
    seconds = pd.to_timedelta(rng.integers(86_400, size=len(group)), unit="s")
    return dates(rng, group) + seconds


def text_dates(rng: np.random.Generator, group: np.ndarray) -> pd.Series:
    return dates(rng, group).dt.strftime("%d.%m.%Y").astype(object)


def many_labels(rng: np.random.Generator, group: np.ndarray) -> pd.Series:
    number = 20 * rng.integers(100, size=len(group)) + group % 20
    return pd.Series([f"customer {i}" for i in number])


def rare_labels(rng: np.random.Generator, group: np.ndarray) -> pd.Series:
    """Labels of which some have few rows, or none in another table."""
    number = np.minimum(rng.geometric(0.15, size=len(group)) + group % 3, 60)
    return pd.Series([f"town {i}" for i in number])


def constant(rng: np.random.Generator, group: np.ndarray) -> pd.Series:
    return pd.Series(np.full(len(group), 7.0))


def extremes(rng: np.random.Generator, group: np.ndarray) -> pd.Series:
    return pick([1e300, -1e300, 1e-300, 5e-324, 0.0, -0.0, 0.1, 2**53])(rng, group).astype(float)


SPACES = [
    "a", " a", "a\t", "b c", "b  c", "b\tc", "b\u00a0c", "d\u00a0", "\u2003e", "f\ng", "h\r\n",
    "\x0bi", "\u200bj", "\u3000k\u2028",
]  # fmt: skip
"""Labels with white space of many kinds within and around them; some are the same label."""


@dataclass(frozen=True)
class Kind:
    """A kind of column, which a table has one or more of."""

    draw: Callable[[np.random.Generator, np.ndarray], pd.Series]
    names: tuple[str, ...] = ("the column",)  # of one or more such columns
    is_declared: bool = False  # as one of `categorical_features`
    n_rows: int = 120  # of the table that has such a column
    parameters: dict[str, Any] = field(default_factory=dict)  # of a classifier, to read it


LABELS = pick(["red", "green", "blue", "it's", 'odd "\\?* name/'])

KINDS = {
    "numbers": Kind(numbers),
    "missing": Kind(missing),
    "labels": Kind(LABELS),
    "digits": Kind(pick(["1", "2", "10", "007", "7"]), is_declared=True),
    "ordered": Kind(ordered),
    "booleans": Kind(booleans),
    "dates": Kind(dates),
    "times": Kind(times, ("when",)),
    "iso-texts": Kind(lambda *rows: times(*rows).astype(str).astype(object), ("when",)),
    "text-dates": Kind(text_dates),
    "many-labels": Kind(many_labels, n_rows=2000),
    "rare-labels": Kind(rare_labels, parameters={"min_rows_per_label": 8}),
    "constant": Kind(constant),
    "extremes": Kind(extremes),
    "codes": Kind(lambda *rows: pick([10115, 20095, 80331])(*rows).astype("category")),
    "marks": Kind(pick(["a", "?", "b", "NaN", "NULL", "true", "1e3", "1000", "-0"])),
    "spaces": Kind(pick(SPACES)),
    "words": Kind(numbers, ("id", "NAN", "true", "rowid", "class")),
    "other-words": Kind(LABELS, ("NULL", "linux", "constructor", "__proto__")),
    "empty-name": Kind(LABELS, ("",)),
    "quotes-in-name": Kind(LABELS, ("""a "b" 'c' `d` \\e""", "<i>&amp;")),
    "long-name": Kind(numbers, ("x" * 10_000,)),
}
