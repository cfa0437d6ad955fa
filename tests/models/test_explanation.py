"""The one type of explanations."""

import numpy as np
import pytest

from priorwise.models.explanation import Explanation

CLASSES, NAMES = np.array(["a", "b", "c"]), ("x0", "x1")


def centred(scores):
    return scores - scores.mean(axis=-1, keepdims=True)


def draw_terms(rng):
    return rng.normal(size=3), rng.normal(size=(5, 2, 3))


def test_sums_have_no_remainder(rng):
    bias, terms = draw_terms(rng)
    explanation = Explanation.from_sums(CLASSES, NAMES, bias, terms)
    np.testing.assert_array_equal(explanation.remainder, 0.0)
    np.testing.assert_allclose(explanation.log_odds, centred(bias + terms.sum(axis=1)), rtol=1e-12)
    assert explanation.n_rows == 5


def test_log_odds_of_scores_are_those_of_the_probabilities(rng):
    bias, terms = draw_terms(rng)
    proba = rng.dirichlet(np.ones(3), 5)
    explanation = Explanation.from_scores(CLASSES, NAMES, bias, terms, proba)
    np.testing.assert_allclose(explanation.log_odds, centred(np.log(proba)), rtol=1e-12)
    np.testing.assert_allclose(explanation.contributions, centred(terms), rtol=1e-12)


def test_changes_of_probabilities_add_up_in_logs(rng):
    bias, end = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), 5)
    end[0] = bias
    share = rng.random((5, 1, 3))
    changes = np.concatenate([share, 1.0 - share], axis=1) * (end - bias)[:, None]
    explanation = Explanation.from_probability_changes(CLASSES, NAMES, bias, changes)
    np.testing.assert_allclose(explanation.log_odds, centred(np.log(end)), atol=1e-12)
    np.testing.assert_allclose(explanation.remainder, 0.0, atol=1e-12)


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


def test_a_frame_has_a_column_for_each_member_times_its_weight(rng):
    bias, terms = draw_terms(rng)
    member = Explanation.from_sums(CLASSES, NAMES, bias, terms)
    pooled = Explanation.from_sums(
        CLASSES, NAMES, bias, 2.0 * terms, members={"m": member}, member_weights={"m": 2.0}
    )
    frame = pooled.to_frame()
    assert list(frame.columns) == ["row", "feature", "class", "contribution", "m"]
    np.testing.assert_allclose(frame["m"], frame["contribution"], rtol=1e-12)
