"""Cells of the matrix, and the model that a cell is about."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import astuple, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from crossings.columns import KINDS
from priorwise import (
    BoostingClassifier,
    ESKDBClassifier,
    GaussianNetworkClassifier,
    KernelLogisticClassifier,
    PriorwiseClassifier,
    ProbabilityForestClassifier,
    ProbabilityTreeClassifier,
    SplineLogisticClassifier,
    TANClassifier,
)

CLASSES: dict[str, list[Any]] = {
    "2": [False, True],
    "3": [0, 1, 2],
    "20": [f"class '{k}\" <b>" for k in range(20)],
}
WEIGHTS = ("none", "class weights", "row weights")
MODELS: dict[str, Callable[[], Any]] = {
    "flagship": lambda: PriorwiseClassifier("fast", random_state=0),
    "ESKDB": lambda: ESKDBClassifier(3, random_state=0),
    "forest": lambda: ProbabilityForestClassifier(5, random_state=0),
    "tree": lambda: ProbabilityTreeClassifier(random_state=0),
    "TAN": lambda: TANClassifier(random_state=0),
    "Gaussian": lambda: GaussianNetworkClassifier(random_state=0),
    "kernel": lambda: KernelLogisticClassifier(20, random_state=0),
    "spline": lambda: SplineLogisticClassifier(random_state=0),
    "boosting": lambda: BoostingClassifier(10, learning_rate=0.3, random_state=0),
}
NETWORKS = ("flagship", "ESKDB", "TAN")
"""Models with Bayesian networks of labels."""

N_FRESH = 12


@dataclass(frozen=True)
class Cell:
    """A kind of column, a number of classes, weights, a model and a way out."""

    kind: str
    classes: str
    weights: str
    model: str
    way: str

    def __str__(self) -> str:
        return "-".join(astuple(self)).replace(" ", "_")


@dataclass(frozen=True)
class Learnt:
    """A model with the rows that it learnt from, and fresh rows with its answers."""

    names: list[str]  # of the columns that the cell is about
    unfitted: Any
    model: Any
    X: pd.DataFrame
    y: np.ndarray
    weight: np.ndarray | None
    fresh: pd.DataFrame
    fresh_y: np.ndarray
    proba: np.ndarray  # of the fresh rows


def draw_rows(kind: str, classes: str, n_rows: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """A table with a column of a kind beside a number and a label, and its classes."""
    rng = np.random.default_rng(seed)
    group = np.arange(n_rows) % len(CLASSES[classes])
    column = KINDS[kind]
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n_rows) + 0.3 * group,
            **{name: column.draw(rng, group) for name in column.names},
            "colour": np.array(["red", "green", "blue"], dtype=object)[
                rng.integers(3, size=n_rows)
            ],
        }
    )
    is_changed = rng.random(n_rows) < 0.15
    # Every class keeps three rows.
    is_changed[: 3 * len(CLASSES[classes])] = False
    place = np.where(is_changed, rng.permutation(group), group)
    return frame, np.array(CLASSES[classes])[place]


@lru_cache(maxsize=4)
def learn(kind: str, classes: str, weights: str, model: str) -> Learnt:
    """Learn the model of a cell."""
    X, y = draw_rows(kind, classes, KINDS[kind].n_rows, seed=1)
    fresh, fresh_y = draw_rows(kind, classes, max(N_FRESH, len(CLASSES[classes])), seed=2)
    # Missing values where training may have had none, and a label that it did not have.
    names = [*KINDS[kind].names]
    fresh.loc[3, names] = None
    fresh.loc[4, "size"] = None
    fresh.loc[5, "colour"] = "violet"
    unfitted = MODELS[model]().set_params(**KINDS[kind].parameters)
    if KINDS[kind].is_declared:
        unfitted.set_params(categorical_features=names)
    if weights == "class weights":
        unfitted.set_params(
            class_weight={label: 1.0 + k % 3 for k, label in enumerate(CLASSES[classes])}
        )
    weight = None
    if weights == "row weights":
        weight = np.random.default_rng(3).choice([0.5, 1.0, 2.5], len(y))
    with warnings.catch_warnings(action="ignore"):  # text is read as dates, for one
        fitted = MODELS[model]().set_params(**unfitted.get_params(deep=False)).fit(X, y, weight)
        proba = fitted.predict_proba(fresh)
    return Learnt(names, unfitted, fitted, X, y, weight, fresh, fresh_y, proba)
