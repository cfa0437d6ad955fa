"""Intervals of classifiers contain the true probabilities of generated tables.

The constants of `steps/intervals.py` were fitted to fits of these classifiers: where they change so
much that a test fails here, the constants must be fitted anew (benchmarks/coverage.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from priorwise import (
    BoostingClassifier,
    PriorwiseClassifier,
    ProbabilityForestClassifier,
    SplineLogisticClassifier,
    TANClassifier,
)

Floats = NDArray[np.float64]
N_ROWS, N_FEATURES = 600, 5

SCORES: dict[str, Callable[[Floats], Floats]] = {
    "linear": lambda x: x @ np.array([1.5, -1.0, 0.5, 0.0, 0.0]),
    "checkerboard": lambda x: 1.5 * np.sign(x[:, 0] * x[:, 1]),
    "waves": lambda x: 1.5 * np.sin(2.0 * x[:, 0]) + np.sin(2.0 * x[:, 1]),
    "rare": lambda x: x[:, 0] + 0.5 * x[:, 1] ** 2 - 3.5,
}
MODELS: dict[str, Callable[[], Any]] = {
    "TAN": lambda: TANClassifier(random_state=0),
    "splines": lambda: SplineLogisticClassifier(random_state=0),
    "forest": lambda: ProbabilityForestClassifier(random_state=0),
    "boosting": lambda: BoostingClassifier(random_state=0),
    "fast": lambda: PriorwiseClassifier("fast", random_state=0),
}


def draw(name: str, n_rows: int, rng: np.random.Generator) -> tuple[Floats, NDArray[Any], Floats]:
    """Return rows, their classes and their true probabilities of the second class."""
    X = rng.normal(size=(n_rows, N_FEATURES))
    proba = 1.0 / (1.0 + np.exp(-SCORES[name](X)))
    return X, (rng.random(n_rows) < proba).astype(int), proba


@pytest.mark.parametrize("name", MODELS)
def test_intervals_hold_the_truth_about_as_often_as_they_say(name: str) -> None:
    shares = []
    for place, truth in enumerate(SCORES):
        rng = np.random.default_rng(place)
        X, y, _ = draw(truth, N_ROWS, rng)
        rows, _, proba = draw(truth, 300, rng)
        model = MODELS[name]().fit(X, y)
        for level in (0.5, 0.9):
            lower, upper = model.predict_interval(rows, level)
            shares.append(float(((lower[:, 1] <= proba) & (proba <= upper[:, 1])).mean()))
    half, most = np.mean(shares[::2]), np.mean(shares[1::2])
    assert 0.3 <= half <= 0.75, shares
    assert most >= 0.8, shares
    assert min(shares[1::2]) >= 0.6, shares


def test_a_model_that_cannot_see_what_matters_says_so() -> None:
    rng = np.random.default_rng(0)
    widths = {}
    for truth in ("linear", "checkerboard"):
        X, y, _ = draw(truth, N_ROWS, rng)
        lower, upper = TANClassifier(random_state=0).fit(X, y).predict_interval(X)
        widths[truth] = (upper - lower).mean()
    assert widths["checkerboard"] > 1.15 * widths["linear"]


def test_more_rows_make_intervals_narrower() -> None:
    widths = []
    for n_rows in (100, 1_000, 5_000):
        X, y, _ = draw("linear", n_rows, np.random.default_rng(1))
        lower, upper = SplineLogisticClassifier(random_state=0).fit(X, y).predict_interval(X)
        widths.append((upper - lower).mean())
    assert widths[0] > 1.5 * widths[1] > 2.0 * widths[2]
