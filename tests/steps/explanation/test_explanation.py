"""The one type of explanations."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logit

from priorwise.common.numeric import softmax
from priorwise.steps.explanation import Explanation
from reference.log_odds import against_others

CLASSES, NAMES = np.array(["a", "b", "c"]), ("x0", "x1")


def draw_terms(rng):
    return rng.normal(size=3), rng.normal(size=(5, 2, 3))


def test_sums_have_no_remainder(rng):
    bias, terms = draw_terms(rng)
    explanation = Explanation.from_sums(CLASSES, NAMES, bias, terms)
    np.testing.assert_array_equal(explanation.remainder, 0.0)
    np.testing.assert_allclose(
        explanation.log_odds, against_others(bias + terms.sum(axis=1)), rtol=1e-12
    )
    assert explanation.n_rows == 5


def test_log_odds_of_two_classes_are_log_p_over_one_minus_p(rng):
    proba = rng.dirichlet(np.ones(2), 5)
    explanation = Explanation.from_probabilities(CLASSES[:2], NAMES, proba)
    np.testing.assert_allclose(explanation.log_odds, logit(proba), rtol=1e-9)
    np.testing.assert_allclose(explanation.probabilities, proba, rtol=1e-9)
    one = explanation.against("a")
    np.testing.assert_allclose(one.log_odds[:, 1], logit(proba[:, 1]), rtol=1e-9)
    np.testing.assert_allclose(one.probabilities, proba, rtol=1e-9)


def test_probabilities_of_an_explanation_are_those_explained(rng):
    proba = rng.dirichlet(np.ones(3), 5)
    explanation = Explanation.from_probabilities(CLASSES, NAMES, proba)
    for one in (explanation, explanation.against("b"), explanation.against("b").against("c")):
        np.testing.assert_allclose(one.probabilities, proba, rtol=1e-9)


def test_probabilities_without_terms_are_all_remainder(rng):
    proba = rng.dirichlet(np.ones(3), 5)
    explanation = Explanation.from_probabilities(CLASSES, NAMES, proba)
    np.testing.assert_allclose(explanation.log_odds, against_others(np.log(proba)), rtol=1e-12)
    assert (explanation.contributions == 0.0).all()


def test_changes_of_probabilities_add_up_in_logs(rng):
    bias, end = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), 5)
    end[0] = bias
    end[1, 2] = 0.0
    share = rng.random((5, 1, 3))
    changes = np.concatenate([share, 1.0 - share], axis=1) * (end - bias)[:, None]
    explanation = Explanation.from_probability_changes(CLASSES, NAMES, bias, changes, end)
    expected = against_others(np.log(np.maximum(end, np.finfo(float).tiny)))
    np.testing.assert_allclose(explanation.log_odds, expected, atol=1e-9)
    np.testing.assert_array_equal(explanation.remainder, 0.0)


@pytest.mark.parametrize("floor", [1e-9, 0.1, 0.9])
def test_probabilities_raised_to_a_floor_still_add_up(rng, floor):
    bias, terms = draw_terms(rng)
    plain = Explanation.from_sums(CLASSES, NAMES, bias, terms)
    plain = replace(plain, remainder=against_others(rng.normal(size=(5, 3))))
    raised = plain.raise_to(floor)
    proba = plain.probabilities
    np.testing.assert_allclose(
        raised.log_odds, against_others(np.log(np.maximum(proba, floor))), atol=1e-12
    )
    np.testing.assert_allclose(
        raised.bias, against_others(np.log(np.maximum(softmax(bias[None])[0], floor))), atol=1e-12
    )
    if floor < proba.min():
        assert raised is plain


def test_the_reference_class_has_log_odds_of_zero(rng):
    bias, terms = draw_terms(rng)
    member = Explanation.from_sums(CLASSES, NAMES, bias, terms)
    explanation = Explanation.from_sums(
        CLASSES, NAMES, bias, terms, members={"m": member}, member_weights={"m": 1.0}
    ).against("b")
    scores = bias + terms.sum(axis=1)
    expected = scores - scores[:, [1]]
    np.testing.assert_allclose(explanation.log_odds, expected, rtol=1e-12)
    np.testing.assert_allclose(explanation.members["m"].log_odds, expected, rtol=1e-12)
    with pytest.raises(ValueError, match=r"reference must be one of .* got 'z'"):
        explanation.against("z")


def pooled(rng):
    bias, terms = draw_terms(rng)
    first = Explanation.from_sums(CLASSES, NAMES, bias, terms)
    second = Explanation.from_probabilities(CLASSES, NAMES, rng.dirichlet(np.ones(3), 5))
    members, weights = {"first": first, "second": second}, {"first": 2.0, "second": -0.5}
    return Explanation.pool(members, weights, np.array([0.1, 0.2, 0.3])), first, second


def test_a_pool_is_the_weighted_sum_of_its_members(rng):
    explanation, first, second = pooled(rng)
    expected = (
        against_others(np.array([0.1, 0.2, 0.3])) + 2.0 * first.log_odds - 0.5 * second.log_odds
    )
    np.testing.assert_allclose(explanation.log_odds, expected, atol=1e-12)
    np.testing.assert_allclose(explanation.remainder, -0.5 * second.remainder, rtol=1e-12)


def test_a_frame_has_a_column_for_each_member_if_asked(rng):
    explanation, _, _ = pooled(rng)
    names = ["row", "class", "feature", "contribution"]
    assert list(explanation.to_frame().columns) == names
    frame = explanation.to_frame(members=True)
    assert list(frame.columns)[4:] == ["first", "second"]
    lines = frame[frame["feature"] != "(prior)"]
    np.testing.assert_allclose(lines["first"] + lines["second"], lines["contribution"], atol=1e-12)
    assert set(frame["feature"]) == {"(prior)", "x0", "x1", "(remainder)"}


def with_values(rng):
    bias, terms = draw_terms(rng)
    values = np.array([[1.5, "red"], [None, "red"], [-2.0, "blue"], [3.0, None], [0.0, "unseen"]])
    return Explanation.from_sums(CLASSES, NAMES, bias, terms, values=values)


def test_text_shows_the_largest_contributions_and_stays_short(rng):
    explanation = with_values(rng)
    assert repr(explanation) == "<Explanation of 5 rows, 2 features, classes a, b, c>"
    text = str(explanation)
    assert "x0 = 1.5" in text
    assert "x0 = missing" in text
    assert len(text) < 1000
    k = explanation.log_odds[0].argmax()
    for part in explanation.contributions[0, :, k]:
        assert f"{part:+.2f}" in text
    many = Explanation.from_sums(np.arange(100), NAMES, np.zeros(100), np.zeros((50, 2, 100)))
    assert len(repr(many)) < 100


def test_json_has_everything_that_adds_up(rng):
    explanation = with_values(rng)
    whole = json.loads(explanation.to_json())
    assert whole["classes"] == ["a", "b", "c"]
    assert whole["feature_names"] == ["x0", "x1"]
    for i, row in enumerate(whole["rows"]):
        total = np.array(whole["bias"]) + np.sum(row["contributions"], axis=0) + row["remainder"]
        np.testing.assert_allclose(total, explanation.log_odds[i], atol=1e-12)
        assert row["values"] == explanation.values[i].tolist()


@pytest.mark.filterwarnings("ignore")
def test_plots_of_shap_show_the_contributions_of_a_class(rng):
    shap = pytest.importorskip("shap")
    plt = pytest.importorskip("matplotlib.pyplot")
    explanation = with_values(rng)
    axes = shap.plots.waterfall(explanation.to_shap()[3, :, 1], show=False)
    texts = " ".join(text.get_text() for text in [*axes.get_yticklabels(), *axes.texts])
    assert "missing = x1" in texts
    assert "3 = x0" in texts
    shap.plots.beeswarm(explanation.to_shap()[:, :, 1], show=False)
    plt.close("all")


def test_shap_gets_contributions_base_values_and_data(rng):
    pytest.importorskip("shap")
    explanation = with_values(rng)
    result = explanation.to_shap()
    total = result.base_values + result.values.sum(axis=1)
    np.testing.assert_allclose(total, explanation.log_odds, atol=1e-12)
    assert result.feature_names == ["x0", "x1"]
    assert result.output_names == ["a", "b", "c"]
    np.testing.assert_array_equal(result.data[:, 0], [1.5, np.nan, -2.0, 3.0, 0.0])
    assert result.display_data[:, 1].tolist() == ["red", "red", "blue", "missing", "unseen"]


def test_without_shap_the_error_names_the_extra(rng, monkeypatch):
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(ImportError, match=r"pip install priorwise\[shap\]"):
        with_values(rng).to_shap()
