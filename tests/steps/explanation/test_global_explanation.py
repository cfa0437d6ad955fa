"""Explanations of many rows together."""

import json

import numpy as np
import pandas as pd
import pytest

from priorwise import (
    KDBClassifier,
    KernelLogisticClassifier,
    NaiveBayesClassifier,
    ProbabilityTreeClassifier,
    SplineLogisticClassifier,
)
from priorwise.steps.explanation import Explanation, GlobalExplanation


@pytest.fixture
def data(rng):
    n = 600
    frame = pd.DataFrame(
        {
            "a": rng.choice(["x", "y"], n),
            "b": rng.normal(size=n),
            "c": rng.normal(size=n).round(1),
            "d": rng.choice(["p", "q", "r"], n),
        }
    )
    frame.loc[::10, "c"] = np.nan
    together = (frame["a"] == "x") == (frame["b"] > 0)
    return frame, (together | (rng.random(n) < 0.1)).to_numpy().astype(int)


def test_importance_is_the_mean_absolute_contribution(data):
    X, y = data
    model = ProbabilityTreeClassifier(random_state=0).fit(X, y)
    result = model.explain_global(X)
    contributions = model.explain(X).contributions
    np.testing.assert_allclose(result.importance, np.abs(contributions).mean(axis=(0, 2)))
    frame = result.to_frame()
    assert set(frame["feature"][:2]) == {"a", "b"}
    assert (np.diff(frame["importance"]) <= 0.0).all()


@pytest.mark.parametrize("model", [NaiveBayesClassifier(), SplineLogisticClassifier()], ids=str)
def test_a_sum_over_features_has_no_pairs(model, data):
    X, y = data
    assert model.fit(X, y + (X["b"] > 1)).explain_global(X).pairs == []


@pytest.mark.parametrize(
    "model",
    [ProbabilityTreeClassifier(random_state=0), KDBClassifier(1, discretizer="equal-frequency"),
     KernelLogisticClassifier(random_state=0)],
    ids=str,
)  # fmt: skip
def test_the_pair_that_acts_together_is_found(model, data):
    X, y = data
    first, second, strength = model.fit(X, y).explain_global(X).pairs[0]
    assert {first, second} == {"a", "b"}
    assert strength > 0.1


def test_a_shape_is_the_mean_contribution_by_value(data):
    X, y = data
    model = NaiveBayesClassifier().fit(X, y + (X["b"] > 1))
    result = model.explain_global(X)
    contributions = model.explain(X).contributions
    shape = result.shapes["d"]
    assert not shape.is_numeric
    assert shape.values == ["p", "q", "r"]
    own = (X["d"] == "q").to_numpy()
    np.testing.assert_allclose(shape.mean[1], contributions[own, 3].mean(axis=0))
    assert shape.n_rows[1] == own.sum()
    # Contributions of naive Bayes depend on the value alone.
    np.testing.assert_allclose(shape.low, shape.high, atol=1e-12)
    numbers = result.shapes["c"]
    assert numbers.is_numeric
    assert numbers.values[-1] is None
    assert numbers.n_rows[-1] == X["c"].isna().sum()
    assert (np.diff(numbers.values[:-1]) > 0.0).all()
    assert numbers.n_rows.sum() == len(X)


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("part", ["importance", "shapes", "pairs"])
def test_every_part_becomes_a_frame(part, backend, data):
    X, y = data
    frame = (
        KDBClassifier(1, discretizer="equal-frequency")
        .fit(X, y)
        .explain_global(X)
        .to_frame(part, backend=backend)
    )
    heads = {
        "importance": ["feature", "importance"],
        "shapes": ["feature", "value", "class", "rows", "mean", "low", "high"],
        "pairs": ["first", "second", "strength"],
    }
    columns = [str(name) for name in getattr(frame, "column_names", frame.columns)]
    assert columns == heads[part]
    assert len(frame) > 0


def test_json_and_text_have_all_parts(data):
    X, y = data
    result = KDBClassifier(1, discretizer="equal-frequency").fit(X, y).explain_global(X)
    whole = json.loads(result.to_json())
    assert set(whole) == {"classes", "n_rows", "importance", "shapes", "pairs"}
    np.testing.assert_allclose(whole["shapes"]["c"]["mean"], result.shapes["c"].mean)
    assert whole["shapes"]["c"]["values"][-1] is None
    assert "a with b" in str(result)
    assert len(repr(result)) < 100


def test_wrong_parts_and_explanations_without_values_are_refused(data, rng):
    X, y = data
    with pytest.raises(ValueError, match="part must be one of"):
        KDBClassifier(1, discretizer="equal-frequency").fit(X, y).explain_global(X).to_frame("all")
    bare = Explanation.from_sums([0, 1], ("a",), [0.0, 0.0], rng.normal(size=(5, 1, 2)))
    with pytest.raises(ValueError, match="explanation must have values"):
        GlobalExplanation(bare).shapes  # noqa: B018
