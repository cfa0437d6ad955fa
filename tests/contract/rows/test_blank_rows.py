"""A row of which nothing is known has the shares of the classes, whatever the classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from contract.rows.tables import mixed
from contract.settings import Setting, each_setting
from contract.test_explanations import assert_sums_to_log_odds
from priorwise import LogLinearPool, SplineLogisticClassifier

NAMES = ["colour", "size", "shape", "age"]
BLANK = pd.DataFrame({"colour": [None], "size": [np.nan], "shape": [None], "age": [np.nan]})
UNSEEN = BLANK.assign(colour="never seen", shape=["never seen"])


def complete(n_rows: int = 80) -> tuple[pd.DataFrame, Any]:
    """Rows without missing values, of classes of different size."""
    frame, y = mixed(2 * n_rows)
    chosen = frame.notna().all(axis=1) & ((y != "no") | (np.arange(len(y)) % 3 == 0))
    return frame[chosen].reset_index(drop=True), y[chosen]


def assert_shares(model: Any, rows: Any, counts: Any) -> None:
    """The probabilities are the shares; by networks, as their smoother estimates them."""
    tolerance = 0.02 if model.step_.knows_shares else 1e-12
    shares = (counts + 1.0) / (counts + 1.0).sum()
    proba = model.predict_proba(rows)
    np.testing.assert_allclose(proba, np.tile(shares, (len(rows), 1)), rtol=0, atol=tolerance)


@each_setting("ConditionalTable")
def test_a_blank_row_has_the_shares_of_the_classes(setting: Setting) -> None:
    X, y = complete()
    model = setting.fit(X, y)
    assert_shares(model, BLANK, model.class_count_)
    assert_shares(model, UNSEEN, model.class_count_)
    among = pd.concat([X[:5], BLANK, X[5:9], UNSEEN], ignore_index=True)
    proba, is_blank = model.predict_proba(among), np.isin(np.arange(11), [5, 10])
    assert_shares(model, among[is_blank], model.class_count_)
    np.testing.assert_allclose(proba[~is_blank], model.predict_proba(X[:9]), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(proba[5], model.predict_proba(BLANK)[0])
    explanation = model.explain(among)
    assert_sums_to_log_odds(explanation, proba)
    assert (explanation.contributions[is_blank] == 0.0).all()
    for member in explanation.members.values():
        assert (member.contributions[is_blank] == 0.0).all()
    lower, upper = model.predict_interval(among)
    assert ((lower <= proba) & (proba <= upper) & (lower < upper)).all()
    draws = model.sample_proba(BLANK, 400, random_state=0)[:, 0]
    np.testing.assert_allclose(draws.mean(axis=0), proba[5], atol=0.05)


@each_setting("ConditionalTable", smoothers=False)
def test_a_blank_row_of_an_array_has_the_weighted_shares(setting: Setting) -> None:
    X, y = complete()
    numbers, weight = X[["size", "age"]].to_numpy(), np.where(y == "yes", 3.0, 1.0)
    model = setting.fit(numbers, y, sample_weight=weight)
    counts = [weight[y == label].sum() for label in model.classes_]
    assert_shares(model, np.full((2, 2), np.nan), np.array(counts))


def test_another_prior_replaces_the_shares() -> None:
    X, y = complete()
    model = SplineLogisticClassifier(random_state=0).fit(X, y)
    count = model.class_count_
    expected = (count + 1.0) * [0.5, 0.3, 0.2] / count
    proba = model.predict_proba(BLANK, class_prior=[0.5, 0.3, 0.2])
    np.testing.assert_allclose(proba[0], expected / expected.sum(), rtol=1e-12)


@pytest.mark.parametrize("options", [{}, {"missing": "impute"}])
def test_missing_numbers_of_training_and_means_are_known(options: dict[str, Any]) -> None:
    X, y = complete()
    if not options:
        X.loc[y == "no", "size"] = np.nan
    model = SplineLogisticClassifier(random_state=0, **options).fit(X, y)
    own = model.step_.predict(model.read_rows(BLANK))
    np.testing.assert_array_equal(model.predict_proba(BLANK), own)
    assert np.abs(own - model.class_count_ / len(y)).max() > 0.01


def test_a_missing_label_of_training_is_known() -> None:
    X, y = complete()
    X.loc[y == "no", "colour"] = None
    model = SplineLogisticClassifier(random_state=0).fit(X, y)
    assert model.predict(BLANK).tolist() == ["no"]
    assert_shares(model, UNSEEN, model.class_count_)


def test_parts_of_dates_and_of_texts_are_known_by_their_column_alone() -> None:
    _, y = complete()
    words = np.where(y == "no", "the small one", "a large thing")
    rows = pd.DataFrame(
        {
            "when": pd.date_range("2026-01-01", periods=len(y)),
            "words": [f"{two} {i}" for i, two in enumerate(words)],
        }
    )
    model = SplineLogisticClassifier(text_features=["words"], random_state=0).fit(rows, y)
    assert len(model.encoder_.parts_) > 3
    blank = pd.DataFrame({"when": [pd.NaT], "words": [None]})
    assert_shares(model, blank, model.class_count_)


def test_a_pool_of_members_that_read_otherwise_asks_its_own_reading() -> None:
    X, y = complete()
    member = SplineLogisticClassifier(missing="impute", random_state=0)
    pool = LogLinearPool([("one", member), ("two", SplineLogisticClassifier())], random_state=0)
    assert_shares(pool.fit(X, y), BLANK, pool.class_count_)
