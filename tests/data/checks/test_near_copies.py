"""The warning about rows that are nearly copies of others."""

import warnings
from typing import Any

import numpy as np
import pytest

from priorwise import GaussianNetworkClassifier, NaiveBayesClassifier
from priorwise.common.runtime import DataWarning


def fit(
    X: np.ndarray, y: np.ndarray, groups: np.ndarray | None = None, kind: Any = None
) -> list[str]:
    """Return the warnings of a fit that speak of near-copies."""
    model = GaussianNetworkClassifier() if kind is None else kind()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, groups=groups)
    texts = [str(one.message) for one in caught if issubclass(one.category, DataWarning)]
    return [text for text in texts if "nearly copies" in text]


@pytest.mark.parametrize("n_visits", [2, 4])
@pytest.mark.parametrize("distance", [1e-6, 0.05])
def test_visits_of_patients_are_found_and_groups_are_the_answer(
    n_visits: int, distance: float, rng: np.random.Generator
) -> None:
    patient = np.repeat(np.arange(150), n_visits)
    X = rng.normal(size=(150, 6))[patient] + distance * rng.normal(size=(len(patient), 6))
    y = rng.integers(0, 2, 150)[patient]
    (text,) = fit(X, y)
    assert "groups=" in text
    assert fit(X, y, groups=patient) == []
    # It holds no rows out.
    assert fit(X, y, kind=NaiveBayesClassifier) == []


@pytest.mark.parametrize("shape", ["normal", "clusters", "curve", "rounded", "spikes", "tails"])
@pytest.mark.parametrize("n_features", [2, 5, 12])
def test_independent_rows_are_no_copies(
    shape: str, n_features: int, rng: np.random.Generator
) -> None:
    size = (500, n_features)
    centres, places = 4.0 * rng.normal(size=(8, n_features)), rng.uniform(0.0, 10.0, (500, 1))
    X = {
        "normal": rng.normal(size=size),
        "clusters": centres[rng.integers(0, 8, 500)] + 0.2 * rng.normal(size=size),
        "curve": np.sin(places * (1 + np.arange(n_features)) / 3) + 0.02 * rng.normal(size=size),
        "rounded": rng.normal(size=size).round(2),
        "spikes": rng.normal(size=size) * (rng.random(size) < 0.7),
        "tails": np.exp(2.0 * rng.normal(size=size)),
    }[shape]
    for y in (rng.integers(0, 3, 500), (X[:, 0] > np.median(X[:, 0])).astype(int)):
        assert fit(X, y) == []


def test_near_rows_of_different_classes_are_no_copies(rng: np.random.Generator) -> None:
    X = np.repeat(rng.normal(size=(200, 6)), 2, axis=0) + 1e-3 * rng.normal(size=(400, 6))
    assert fit(X, rng.integers(0, 2, 400)) == []
