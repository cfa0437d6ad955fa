"""Explanations of every classifier add up to what it predicts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from contract.rows.tables import mixed
from contract.settings import Setting, each_setting
from priorwise import AODEClassifier, ConditionalTable
from priorwise.explain import Explanation
from priorwise.smoothing import Laplace


def odd_rows() -> pd.DataFrame:
    """Rows with labels that training did not have, missing values and numbers far outside."""
    frame, _ = mixed(40, seed=1)
    frame.loc[:12, "colour"] = "violet"
    frame.loc[10:30, "age"] = np.nan
    frame.loc[15:25, "size"] = 1e300
    frame.loc[5:8, "shape"] = None
    return frame


def assert_sums_to_log_odds(explanation: Explanation, proba: Any) -> None:
    """Differences of log-odds are those of the log probabilities, to 1e-9."""
    best = proba.argmax(axis=1)[:, None]
    n_classes = proba.shape[1]
    odds = explanation.log_odds - np.take_along_axis(explanation.log_odds, best, axis=1)
    odds = (n_classes - 1) / n_classes * odds  # log-odds are against the mean of the others
    possible = proba > 1e-290
    expected = np.log(np.maximum(proba, 1e-290) / np.take_along_axis(proba, best, axis=1))
    np.testing.assert_allclose(odds[possible], expected[possible], rtol=0, atol=1e-9)
    # Classes that the model gives no chance at all.
    assert (odds[~possible] < np.log(1e-280)).all()
    np.testing.assert_allclose(explanation.log_odds.sum(axis=1), 0.0, atol=1e-9)


@each_setting()
@pytest.mark.parametrize("rows", [mixed()[0], odd_rows()], ids=["as in training", "odd"])
def test_prior_contributions_and_remainder_sum_to_the_log_odds(
    setting: Setting, rows: pd.DataFrame
) -> None:
    explanation = setting.fitted.explain(rows)
    assert isinstance(explanation, Explanation)
    assert_sums_to_log_odds(explanation, setting.fitted.predict_proba(rows))
    for part in (explanation.bias, explanation.contributions, explanation.remainder):
        assert np.isfinite(part).all()


@each_setting("LogLinearPool foreign members")
def test_nothing_is_left_to_the_remainder(setting: Setting) -> None:
    assert (setting.fitted.explain(mixed()[0]).remainder == 0.0).all()


@each_setting("ConditionalTable", smoothers=False)
def test_an_explanation_has_the_names_and_values_of_its_rows(setting: Setting) -> None:
    rows = odd_rows()
    explanation = setting.fitted.explain(rows)
    assert explanation.feature_names == ("colour", "size", "shape", "age")
    assert explanation.classes.tolist() == setting.fitted.classes_.tolist()
    values = explanation.values
    assert values[0].tolist() == ["unseen", rows["size"][0], rows["shape"][0], rows["age"][0]]
    assert values[30, 3] is None
    assert values[30, 0] == rows["colour"][30]


@each_setting(smoothers=False)
def test_lines_of_the_frame_add_up_to_the_log_odds(setting: Setting) -> None:
    explanation = setting.fitted.explain(mixed()[0][:5])
    frame = explanation.to_frame()
    sums = frame.groupby(["row", "class"], sort=False)["contribution"].sum().to_numpy()
    np.testing.assert_allclose(sums, explanation.log_odds.ravel(), atol=1e-9)


@each_setting("ConditionalTable", smoothers=False)
def test_a_row_is_explained_alone_as_among_others(setting: Setting) -> None:
    rows = odd_rows()
    all_rows, alone = setting.fitted.explain(rows), setting.fitted.explain(rows[7:8])
    np.testing.assert_allclose(alone.contributions[0], all_rows.contributions[7], atol=1e-10)


@pytest.mark.parametrize("smoothing", ["hdp", "mle"])
def test_a_row_without_superparent_is_explained_as_naive_bayes_answers(smoothing: str) -> None:
    X, y = mixed()
    model = AODEClassifier(min_frequency=15, smoothing=smoothing).fit(X, y)
    explanation: Any = model.explain(odd_rows())
    assert_sums_to_log_odds(explanation, model.predict_proba(odd_rows()))


@pytest.mark.parametrize("smoothing", ["hdp", Laplace(backoff=False)])
def test_a_context_never_seen_is_explained_by_the_columns_that_led_there(smoothing: Any) -> None:
    X, y = mixed()
    table = ConditionalTable(smoothing).fit(
        X.assign(y=y), target="y", given=["shape", "colour", "age"]
    )
    rows = odd_rows()
    explanation = table.explain(rows)
    assert_sums_to_log_odds(explanation, table.predict_proba(rows))
    assert explanation.support is not None
    n_flat = (X["shape"] == "flat").sum()
    flat = (rows["shape"] == "flat").to_numpy()
    assert (explanation.support[flat, 0] == n_flat).all()


@each_setting("ConditionalTable", smoothers=False)
def test_variances_of_terms_sum_to_those_of_the_prediction(setting: Setting) -> None:
    model, rows = setting.fitted, odd_rows()
    explanation = model.explain(rows)
    has_terms = (explanation.contributions != 0.0).any(axis=1)
    spread = model.find_calibration().find_variance(model.predict_proba(rows))
    total = explanation.variance.sum(axis=1)
    np.testing.assert_allclose(total[has_terms], spread[has_terms], rtol=1e-9)
    assert explanation.support.shape == explanation.contributions.shape
    assert (explanation.support >= 0.0).all()
    assert (explanation.support <= model.class_count_.sum() * (1.0 + 1e-6)).all()
    lower, upper = explanation.interval()
    assert (lower <= explanation.contributions).all()
    assert (explanation.contributions <= upper).all()
    assert (upper > lower).any()


@each_setting(smoothers=False)
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_intervals_of_log_odds_are_those_of_probabilities(setting: Setting, level: float) -> None:
    model, rows = getattr(setting.fitted, "table_", setting.fitted), odd_rows()
    proba, expected = model.predict_proba(rows), model.predict_interval(rows, level)
    against = np.log(proba) - np.log(proba @ (1.0 - np.eye(proba.shape[1])))
    for reference in (None, model.classes_[0]):
        explanation = model.explain(rows, reference)
        factor = np.ones(proba.shape[1])
        if reference is not None:
            factor = np.array([0.0, *np.ones(proba.shape[1] - 1)])
        used = factor > 0.0
        low, high = explanation.log_odds_interval(level)
        for ends, probabilities in zip((low, high), expected, strict=True):
            change = (ends - explanation.log_odds)[:, used] / factor[used]
            found = expit(against[:, used] + change)
            np.testing.assert_allclose(found, probabilities[:, used], rtol=0, atol=2e-6)
            assert (ends[:, ~used] == 0.0).all()
        lower, upper = explanation.interval(level)
        reach = np.sqrt(((upper - lower) ** 2).sum(axis=1))
        np.testing.assert_allclose(reach, high - low, rtol=1e-6)
