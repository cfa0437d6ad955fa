"""The tables on which the laws are tested."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

LABELS = {"colour": ["amber", "blue", "cyan", "dun"], "shape": ["flat", "round"]}
CLASSES = ["maybe", "no", "yes"]


def mixed(n_rows: int = 80, seed: int = 0) -> tuple[pd.DataFrame, NDArray[Any]]:
    """Labels and numbers that depend on the class, some missing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_rows)
    colour = (y + rng.integers(0, 2, n_rows)) % 4
    shape = (colour + (rng.random(n_rows) < 0.3)) % 2
    frame = pd.DataFrame(
        {
            "colour": np.array(LABELS["colour"], dtype=object)[colour],
            "size": y + rng.normal(size=n_rows),
            "shape": np.array(LABELS["shape"], dtype=object)[shape],
            "age": (2.0 * (y == 2) + rng.normal(size=n_rows)).round(1),
        }
    )
    frame.loc[rng.random(n_rows) < 0.1, "size"] = np.nan
    frame.loc[rng.random(n_rows) < 0.1, "colour"] = None
    return frame, np.array(CLASSES)[y]


def nominal(n_rows: int = 150, seed: int = 0) -> tuple[pd.DataFrame, NDArray[Any]]:
    """Labels alone, in columns of different strength."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_rows)
    columns = {}
    for place, (arity, share) in enumerate([(3, 0.6), (2, 0.5), (4, 0.4), (3, 0.3)]):
        follows = rng.random(n_rows) < share
        code = np.where(follows, y % arity, rng.integers(0, arity, n_rows))
        columns[f"f{place}"] = [f"v{value}" for value in code]
    return pd.DataFrame(columns), np.array(CLASSES)[y]


def numbers(n_rows: int = 60, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """A plain matrix, without names, of two classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    return rng.normal(size=(n_rows, 3)) + y[:, None] * [1.0, 0.5, 0.0], y
