"""Random tables that few people would call tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

N_TABLES = 200
N_ROWS = (2, 3, 5, 8, 13, 40)

Generator = np.random.Generator


@dataclass(frozen=True)
class OddTable:
    """Rows, classes and weights, and what the message that refuses them names, if any."""

    X: pd.DataFrame
    y: NDArray[Any]
    weight: NDArray[np.float64] | None
    refusal: str = ""


def _objects(values: Any) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


COLUMNS = {
    "constant number": lambda rng, n: np.full(n, 3.5),
    "constant label": lambda rng, n: np.full(n, "same"),
    "missing numbers": lambda rng, n: np.full(n, np.nan),
    "missing labels": lambda rng, n: _objects([None] * n),
    "numbers": lambda rng, n: rng.normal(size=n),
    "few numbers": lambda rng, n: rng.integers(0, 3, n),
    "huge numbers": lambda rng, n: 1e300 * rng.normal(size=n),
    "tiny numbers": lambda rng, n: 1e-300 * rng.normal(size=n),
    "close numbers": lambda rng, n: 1.0 + 1e-15 * rng.integers(0, 3, n),
    "one large number": lambda rng, n: np.where(np.arange(n) == 0, 1e18, rng.normal(size=n)),
    "infinite numbers": lambda rng, n: np.where(rng.random(n) < 0.3, np.inf, 1.0),
    "zeros of both signs": lambda rng, n: np.where(rng.random(n) < 0.5, 0.0, -0.0),
    "gaps": lambda rng, n: np.where(rng.random(n) < 0.5, np.nan, rng.normal(size=n)),
    "labels": lambda rng, n: rng.choice(["a", "b", "c"], n),
    "distinct labels": lambda rng, n: _objects([f"label {i}" for i in range(n)]),
    "empty labels": lambda rng, n: rng.choice(["", " ", "\0", "é"], n),
    "booleans": lambda rng, n: rng.random(n) < 0.5,
    "mixed labels": lambda rng, n: _objects([[True, 1, "1", None, 1.5][i % 5] for i in range(n)]),
    "gaps in labels": lambda rng, n: _objects([None if i % 3 else "known" for i in range(n)]),
    "dates": lambda rng, n: np.datetime64("2020-01-01") + rng.integers(0, 9, n),
    "categories": lambda rng, n: pd.Categorical(rng.choice(["x", "y"], n), list("wxyz")),
}

CLASSES = {
    "two": lambda rng, n: np.arange(n) % 2,
    "one row against the rest": lambda rng, n: np.where(np.arange(n) == 0, "rare", "usual"),
    "as many as rows": lambda rng, n: rng.permutation(n),
    "random": lambda rng, n: np.append([0, 1], rng.integers(0, 3, n - 2)),
    "booleans": lambda rng, n: np.arange(n) % 2 == 0,
}

WEIGHTS = {
    "none": lambda rng, n: None,
    "ones": lambda rng, n: np.ones(n),
    "whole": lambda rng, n: rng.integers(1, 5, n).astype(float),
    "some zero": lambda rng, n: np.where(np.arange(n) < 2, 1.0, rng.integers(0, 2, n)),
    "uneven": lambda rng, n: np.where(np.arange(n) == 0, 1e9, 1.0),
    "tiny": lambda rng, n: np.full(n, 1e-300),
    "huge": lambda rng, n: np.full(n, 1e300),
}


@cache
def make_odd_table(seed: int) -> OddTable:
    """Return the table of a seed."""
    rng = np.random.default_rng(seed)
    n_rows = int(rng.choice(N_ROWS))
    kinds = rng.choice(list(COLUMNS), size=rng.choice([1, 2, 5]))
    columns = {f"{i} {kind}": COLUMNS[kind](rng, n_rows) for i, kind in enumerate(kinds)}
    y = CLASSES[str(rng.choice(list(CLASSES)))](rng, n_rows)
    # Half of the tables have no weights.
    kind = str(rng.choice(list(WEIGHTS))) if rng.random() < 0.5 else "none"
    weight = WEIGHTS[kind](rng, n_rows)
    frame = pd.DataFrame(columns)
    is_infinite = any(c.dtype == float and np.isinf(c).any() for _, c in frame.items())
    refusal = "sample_weight" if kind == "huge" else "infinity" if is_infinite else ""
    return OddTable(frame, y, weight, refusal)


def make_many_labels(n_labels: int) -> OddTable:
    """Return rows that all have a label of their own."""
    y = np.random.default_rng(0).integers(0, 2, n_labels)
    return OddTable(pd.DataFrame({"label": [f"label {i}" for i in range(n_labels)]}), y, None)


def make_many_classes(n_classes: int) -> OddTable:
    """Return rows of many classes, most of them with one row."""
    rng = np.random.default_rng(0)
    y = np.append(np.arange(n_classes), rng.integers(0, 10, 100))
    X = pd.DataFrame({"number": y + rng.normal(size=len(y)), "label": [f"v{c % 7}" for c in y]})
    return OddTable(X, y, None)
