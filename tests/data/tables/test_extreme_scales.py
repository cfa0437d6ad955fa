"""Numbers of extreme scales give finite probabilities without a warning from inside."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
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


@pytest.mark.parametrize("number", [10**400, -(10**400), Fraction(10**400, 3), Decimal("1e999")])
def test_numbers_too_large_for_a_float_are_refused_but_may_be_labels(number: Any) -> None:
    X = pd.DataFrame({"size": pd.Series([number, 1, 2, 3] * 5, dtype=object)})
    y = [0, 1, 1, 1] * 5
    for table in (X, X.to_numpy(), X.to_numpy().tolist()):
        with pytest.raises(ValueError, match="too large for dtype"):
            pw.NaiveBayesClassifier().fit(table, y)
    model = pw.NaiveBayesClassifier(categorical_features=["size"]).fit(X, y)
    assert model.predict(X).tolist() == y
    assert model.predict(X[:1]).tolist() == y[:1]
    model = pw.NaiveBayesClassifier().fit(pd.DataFrame({"size": range(20)}), y)
    with pytest.raises(ValueError, match=r"too large for dtype.*'size'"):
        model.predict(X)


def test_a_signalling_nan_is_missing() -> None:
    values = [Decimal("sNaN"), Decimal(1), Decimal(2), Decimal(2)] * 5
    X, y = pd.DataFrame({"size": values}), [0, 1, 0, 0] * 5
    plain = pd.DataFrame({"size": [np.nan, 1, 2, 2] * 5})
    for features in ("from_dtype", ["size"]):
        model = pw.NaiveBayesClassifier(categorical_features=features)
        expected = model.fit(plain, y).predict_proba(plain)
        for table in (X, X[:1]):
            answer = model.fit(X, y).predict_proba(table)
            np.testing.assert_array_equal(answer, expected[: len(table)])
    with pytest.raises(ValueError, match="y contains NaN"):
        pw.NaiveBayesClassifier().fit(plain, np.array(values, dtype=object))
