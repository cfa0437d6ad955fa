"""Ordered categories are read by their order, by every classifier and everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.typing import NDArray
from sklearn.base import clone

from contract.settings import BY_NAME
from priorwise import NaiveBayesClassifier, ProbabilityTreeClassifier, load
from priorwise.explain import export_text

SIZES = ["tiny", "small", "medium", "large", "huge", "vast", "endless"]
NAMES = [
    name
    for name in BY_NAME
    if " " not in name and name not in ("LogLinearPool", "ConditionalTable")
]  # members of a pool read by their own parameters
ORDER = {"size": SIZES, "grade": ["c", "b", "a"]}


def make_table(n_rows: int = 120) -> tuple[pd.DataFrame, NDArray[np.str_]]:
    """Return rows with two ordered categories, one of them with missing values, and a number."""
    rng = np.random.default_rng(0)
    size, grade = rng.integers(0, 7, n_rows), rng.integers(0, 3, n_rows)
    X = pd.DataFrame(
        {
            "size": pd.Categorical.from_codes(
                np.where(rng.random(n_rows) < 0.1, -1, size), SIZES, ordered=True
            ),
            "x": rng.normal(size=n_rows),
            "grade": pd.Categorical.from_codes(grade, ORDER["grade"], ordered=True),
        }
    )
    return X, np.where(size + grade + rng.normal(size=n_rows) > 4.0, "yes", "no")


@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_a_type_is_the_order_in_a_dict_and_that_of_ranks(
    name: str, tmp_path: Any
) -> None:
    X, y = make_table()
    plain = X.astype({"size": object, "grade": object})
    model = clone(BY_NAME[name].model).fit(X, y)
    proba = model.predict_proba(X)
    assert [schema.kind for schema in model.feature_schema_] == ["ordered", "numeric", "ordered"]
    assert model.feature_schema_[0].labels == tuple(SIZES)
    np.testing.assert_array_equal(model.predict_proba(plain), proba)
    np.testing.assert_array_equal(model.predict_proba(plain[:1]), model.predict_proba(X[:1]))
    listed = clone(model).set_params(ordinal_features=ORDER).fit(plain, y)
    np.testing.assert_array_equal(listed.predict_proba(X), proba)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(plain), proba)
    assert loaded.feature_schema_ == model.feature_schema_


def test_trees_name_labels_at_thresholds() -> None:
    X, y = make_table()
    model = ProbabilityTreeClassifier("laplace", criterion="gain", max_depth=1).fit(X, y)
    assert "size <= medium" in export_text(model) or "size <= large" in export_text(model)


def test_neighbours_among_many_values_share_a_bin_and_few_values_do_not() -> None:
    X, y = make_table()
    bins = NaiveBayesClassifier().fit(X, y).encoder_.code_labels
    assert len(bins(0)) < 7
    assert any(".." in label for label in bins(0))
    assert bins(2) == ["c", "b", "a"]


def test_a_label_of_the_order_that_no_row_had_is_read_as_its_rank() -> None:
    X, y = make_table()
    rare = X["size"] == "large"
    model = ProbabilityTreeClassifier("laplace", criterion="gain", soft_thresholds=None)
    model.fit(X[~rare], y[~rare])
    others = [model.predict_proba(X[:9].assign(size=size)) for size in ("medium", "huge")]
    proba = model.predict_proba(X[:9].assign(size="large"))
    assert np.minimum(*np.abs(proba - np.array(others))).max() == 0.0


def test_labels_without_a_rank_are_missing_or_an_error() -> None:
    X, y = make_table()
    strange = X[:3].assign(size="strange")
    model = NaiveBayesClassifier().fit(X, y)
    missing = model.predict_proba(X[:3].assign(size=None))
    np.testing.assert_array_equal(model.predict_proba(strange), missing)
    assert "100.0% of its values were never seen" in str(model.check(strange))
    with pytest.raises(ValueError, match="column 'size' holds 'strange', which training did not"):
        NaiveBayesClassifier(unseen="error").fit(X, y).predict_proba(strange)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ({"size": SIZES[:3]}, "must list every value of column 'size', got"),
        ({"size": [*SIZES, "tiny"]}, "must list each value of column 'size' once"),
        (["colour"], "must list the values of column 'colour' in their order"),
        (["sizes"], "must name columns of X, got 'sizes'"),
    ],
)
def test_orders_that_do_not_fit_are_refused(features: Any, message: str) -> None:
    X, y = make_table()
    model = NaiveBayesClassifier(ordinal_features=features)
    with pytest.raises(ValueError, match=f"ordinal_features {message}"):
        model.fit(X.assign(colour="red"), y)


def test_enums_are_ordered_only_if_asked_for() -> None:
    _, y = make_table()
    X = pl.DataFrame({"size": pl.Series([SIZES[i % 7] for i in range(120)], dtype=pl.Enum(SIZES))})
    kinds = [
        NaiveBayesClassifier(ordinal_features=chosen).fit(X, y).feature_schema_[0].kind
        for chosen in ("from_dtype", ["size"])
    ]
    assert kinds == ["nominal", "ordered"]
