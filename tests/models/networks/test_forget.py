"""A model that forgets rows is the model that has never seen them, or says why it cannot be."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pandas as pd
import pytest

from priorwise import (
    NaiveBayesClassifier,
    TANClassifier,
    load,
)

Table = tuple[pd.DataFrame, Any]


def draw(rng: np.random.Generator, kind: str, n: int = 25) -> Table:
    """Draw rows whose commonest labels, and labels at all, are others each time."""
    first = int(rng.integers(3))
    columns: dict[str, Any] = {}
    for name in "abc":
        labels = rng.choice(list("uvwxyz")[first : first + 3], n, p=rng.dirichlet([2.0] * 3))
        labels = labels.astype(object)
        labels[rng.random(n) < 0.2] = None
        types = {"texts": None, "one type": list("uvwxyz"), "own types": sorted({*labels} - {None})}
        declared = types[kind]
        columns[name] = pd.Series(labels, dtype=object)
        if declared is not None:
            columns[name] = pd.Categorical(labels, categories=declared)
    columns["n"] = np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n).round(1))
    return pd.DataFrame(columns), np.append([0, 1], rng.integers(2, size=n - 2))


def assert_same(found: Any, expected: Any, *tables: Table) -> None:
    for X, _ in tables:
        np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))
    for mine, yours in zip(found.encoder_.categories_, expected.encoder_.categories_, strict=True):
        counts = [dict(zip(one.labels, one.counts, strict=True)) for one in (mine, yours)]
        assert counts[0] == counts[1]


def is_forgotten(model: Any, table: Table) -> bool:
    """Whether a model forgets rows; else its reason is that missing labels would be others."""
    before = model.predict_proba(table[0])
    try:
        model.forget(*table)
    except ValueError as error:
        message = str(error)
    else:
        return True
    assert message.startswith("missing='impute' has counted missing labels of column '")
    np.testing.assert_array_equal(model.predict_proba(table[0]), before)
    return False


@pytest.mark.parametrize(
    ("declared", "kind"),
    [("ignore", "texts"), ("count", "texts"), ("count", "one type"), ("count", "own types")],
)
@pytest.mark.parametrize("missing", ["value", "impute", "ignore"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_forgotten_batches_were_never_seen(missing: str, declared: str, kind: str) -> None:
    for seed, model in enumerate((NaiveBayesClassifier, TANClassifier)):
        rng = np.random.default_rng(seed)
        first, second, third = (draw(rng, kind) for _ in range(3))
        options: dict[str, Any] = {
            "missing": missing,
            "declared": declared,
            "discretizer": "equal-width",
        }
        never = model(smoothing="laplace", **options).fit(*first)
        both = deepcopy(never).partial_fit(*second)
        all_rows = deepcopy(both).partial_fit(*third)
        assert_same(deepcopy(both).forget(*second), never, first, second, third)
        if is_forgotten(all_rows, third):
            assert_same(all_rows, both, first, second, third)
        else:
            assert missing == "impute"


@pytest.mark.parametrize("declared", ["ignore", "count"])
@pytest.mark.parametrize("missing", ["value", "impute", "ignore"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_rows_of_a_fit_are_forgotten_or_the_reason_is_given(missing: str, declared: str) -> None:
    n_refused = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, y = draw(rng, "one type", 60)
        X, kept = X[["a"]], np.arange(60) < rng.integers(40, 60)
        model = NaiveBayesClassifier("laplace", missing=missing, declared=declared).fit(X, y)
        never = deepcopy(model).fit(X[kept], y[kept])
        if is_forgotten(model, (X[~kept], y[~kept])):
            assert_same(model, never, (X, y))
        else:
            n_refused += 1
    assert n_refused == 0 or (missing == "impute" and n_refused < 5)


def test_missing_labels_that_would_be_others_are_refused() -> None:
    X, y = pd.DataFrame({"a": ["u", "u", None, "v", "v", "v"]}), [0, 1, 0, 1, 0, 1]
    model = NaiveBayesClassifier("laplace", missing="impute").fit(X, y)
    assert not is_forgotten(model, (X[3:], y[3:]))
    assert is_forgotten(model, (X[2:3], y[2:3]))
    assert is_forgotten(model, (X[3:], y[3:]))
    assert_same(model, deepcopy(model).fit(X[:2], y[:2]), (X, y))


def test_a_saved_model_forgets_alike(tmp_path: Any) -> None:
    rng = np.random.default_rng(0)
    first, second = draw(rng, "own types"), draw(rng, "own types")
    model = NaiveBayesClassifier("laplace", missing="impute", declared="count").fit(*first)
    both = deepcopy(model).partial_fit(*second)
    both.save(tmp_path / "model")
    assert_same(load(tmp_path / "model").forget(*second), model, first, second)


def test_the_first_batch_decides_what_replaces_missing_labels() -> None:
    X, y = pd.DataFrame({"a": ["u", "u", "v", None]}), [0, 1, 0, 1]
    model = NaiveBayesClassifier("laplace", missing="impute").fit(X, y)
    model.partial_fit(pd.DataFrame({"a": ["v"] * 9}), [0] * 8 + [1])
    missing, label = (model.predict_proba(pd.DataFrame({"a": [one]})) for one in (None, "u"))
    np.testing.assert_array_equal(missing, label)
