"""Numbers of extreme scales give finite probabilities without a warning from inside."""

from typing import Any

import numpy as np
import pytest

import priorwise as pw

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 2, 120)
BASE = RNG.normal(size=120) + Y
COLUMNS = {
    "spread of 1e-161": BASE * 1e-161,
    "spread of 1e-200": BASE * 1e-200,
    "denormal": BASE * 1e-310,
    "fewest bits": np.round(BASE * 3) * 5e-324,
    "1e308": np.clip(BASE, -1.7, 1.7) * 1e308,
    "both ends": np.where(Y, 1.7e308, -1.7e308),
    "noise of 1e-15": 1 + RNG.normal(size=120) * 1e-15,
    "noise far away": 1e300 + BASE * 1e284,
    "two scales": np.where(RNG.random(120) < 0.5, BASE * 1e-170, BASE * 1e170),
    "constant": np.full(120, 1e-300),
}
MODELS = [
    pw.SplineLogisticClassifier(random_state=0),
    pw.KernelLogisticClassifier(random_state=0),
    *(
        pw.NaiveBayesClassifier(discretizer=name)
        for name in ("mdlp", "equal-width", "equal-frequency", "kmeans", "tree")
    ),
    pw.ProbabilityTreeClassifier(random_state=0),
    pw.ProbabilityForestClassifier(5, random_state=0),
    pw.PriorwiseClassifier("fast", random_state=0),
]


@pytest.mark.parametrize("scale", COLUMNS)
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_probabilities_are_finite(model: Any, scale: str) -> None:
    X = np.column_stack([COLUMNS[scale], BASE])
    proba = model.fit(X, Y).predict_proba(X)
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert model.score(X, Y) >= 0.6
