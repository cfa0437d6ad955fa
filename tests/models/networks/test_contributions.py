"""Explanations and conditional tables of single networks."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from priorwise import (
    KDBClassifier,
    NaiveBayesClassifier,
    SelectiveKDBClassifier,
    SuperParentClassifier,
    TANClassifier,
)
from priorwise.smoothing import Laplace
from priorwise.structure import Network
from reference.log_odds import against_others

MODELS = [
    NaiveBayesClassifier(),
    TANClassifier(),
    KDBClassifier(max_parents=3),
    SelectiveKDBClassifier(max_parents=2),
    SuperParentClassifier(),
]


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 150)
    X = pd.DataFrame(
        {
            "colour": np.array(["red", "green", "blue"])[(y + (rng.random(150) < 0.3)) % 3],
            "size": y + rng.normal(size=150),
            "shape": rng.choice(["round", "flat"], 150),
        }
    )
    X.loc[::7, "size"] = np.nan
    X.loc[::9, "shape"] = None
    return X, np.array(["a", "b", "c"])[y]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("smoothing", ["hdp", "laplace", "m-branch"])
def test_prior_and_contributions_sum_to_the_log_odds(model, smoothing, data):
    X, y = data
    model = model.set_params(smoothing=smoothing).fit(X, y)
    X = X.copy()
    X.loc[0, "colour"] = "violet"
    log_proba = model.predict_log_proba(X)
    explanation: Any = model.explain(X)
    expected = against_others(log_proba)
    np.testing.assert_allclose(explanation.log_odds, expected, rtol=1e-9, atol=1e-9)
    against_b = model.explain(X, reference="b").log_odds
    np.testing.assert_allclose(against_b, log_proba - log_proba[:, [1]], rtol=1e-9, atol=1e-9)


def test_support_and_back_off_are_those_of_the_context_that_answers(data):
    X, y = data
    structure = Network.from_parents([[], [], [0]], X.columns)
    model = TANClassifier(structure=structure).fit(X, y)
    rows = X.iloc[:40].copy()
    rows.loc[rows.index[0], "colour"] = "violet"
    explanation: Any = model.explain(rows)
    place = explanation.feature_names.index("shape")
    for r, (_, row) in enumerate(rows.iterrows()):
        for k, label in enumerate("abc"):
            of_class = y == label
            together = of_class & (X["colour"] == row["colour"]).to_numpy()
            expected = (together.sum(), 0) if together.any() else (of_class.sum(), 1)
            assert (explanation.support[r, place, k], explanation.backoff[r, place, k]) == expected
    colour = explanation.feature_names.index("colour")
    assert explanation.values[0, colour] == "unseen"
    assert (explanation.contributions[0, colour] == 0).all()
    assert (explanation.support[0, colour] == 0).all()


def test_without_back_off_an_empty_context_has_no_support(data):
    X, y = data
    structure = Network.from_parents([[], [], [0]], X.columns)
    X.loc[y == "a", "colour"] = "red"
    X.loc[y != "a", "colour"] = "blue"
    model = TANClassifier(smoothing=Laplace(backoff=False), structure=structure).fit(X, y)
    explanation: Any = model.explain(X[y == "a"])
    place = explanation.feature_names.index("shape")
    assert (explanation.support[:, place, 1:] == 0).all()
    assert (explanation.support[:, place, 0] == (y == "a").sum()).all()


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_an_explanation_becomes_a_frame_of_lines(backend, data):
    X, y = data
    explanation: Any = NaiveBayesClassifier().fit(X, y).explain(X[:4])
    frame = explanation.to_frame(backend)
    assert len(frame) == 4 * (1 + 3) * 3
    columns = [str(name) for name in getattr(frame, "column_names", frame.columns)]
    terms = ["row", "class", "feature", "value", "contribution"]
    assert columns == [*terms, "lower", "upper", "support", "backoff"]
    if backend == "pandas":
        line = frame[(frame.row == 2) & (frame.feature == "size") & (frame["class"] == "b")]
        assert line.contribution.item() == explanation.contributions[2, 1, 1]
        assert line.value.item() == f"{explanation.values[2, 1]:.6g}"


def test_a_conditional_table_shows_labels_intervals_and_probabilities(data):
    X, y = data
    structure = Network.from_parents([[1], [], []], X.columns)
    model = TANClassifier(smoothing="laplace", structure=structure).fit(X, y)
    table = model.conditional_table("colour")
    values = ["p(blue)", "p(green)", "p(red)"]
    assert list(table.columns) == ["class", "size", "rows", *values]
    np.testing.assert_allclose(table[values].sum(axis=1), 1.0, rtol=1e-12)
    assert table["rows"][0] == len(y)
    bins = set(table["size"].dropna())
    assert "missing" in bins
    assert all(name == "missing" or name[0] == "(" for name in bins)
    line = table[(table["class"] == "a") & (table["size"] == "missing")]
    rows = X[(y == "a") & X["size"].isna()]
    assert line["rows"].item() == len(rows)
    n_blue = (rows["colour"] == "blue").sum()
    np.testing.assert_allclose(line["p(blue)"], (n_blue + 1) / (len(rows) + 3), rtol=1e-12)
    numbers = model.conditional_table(1)
    assert numbers.columns[2].startswith("p((-inf, ")
    assert list(model.conditional_table("shape").columns)[-1] == "p(missing)"


def test_only_features_in_use_have_a_conditional_table(data):
    X, y = data
    model = NaiveBayesClassifier().fit(X, y)
    for feature in ("weight", 7):
        with pytest.raises(ValueError, match="feature must be one that the structure uses"):
            model.conditional_table(feature)


def test_a_reference_must_be_a_class(data):
    X, y = data
    model = NaiveBayesClassifier().fit(X, y)
    with pytest.raises(ValueError, match=r"reference must be one of .* got 'z'"):
        model.explain(X, reference="z")
