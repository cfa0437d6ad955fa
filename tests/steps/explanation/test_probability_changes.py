"""Changes of probabilities shared among features."""

import numpy as np
import pytest

from priorwise.common.numeric import softmax
from priorwise.steps.explanation.probability_changes import (
    LEAST_PROBABILITY,
    centre_terms,
    change_of_member,
    log_mean,
    replace_infinities,
)


def test_the_logarithmic_mean_turns_changes_of_logs_into_changes(rng):
    p, q = rng.random(100), rng.random(100)
    np.testing.assert_allclose(log_mean(p, q) * (np.log(p) - np.log(q)), p - q, rtol=1e-12)
    assert ((log_mean(p, q) >= np.minimum(p, q)) & (log_mean(p, q) <= np.maximum(p, q))).all()


@pytest.mark.parametrize("step", [0.0, 1e-17, 1e-12, 1e-6])
def test_the_logarithmic_mean_of_equal_numbers_is_that_number(step):
    np.testing.assert_allclose(log_mean(np.array([0.3]), np.array([0.3 + step])), 0.3, rtol=1e-5)
    assert log_mean(np.zeros(1), np.zeros(1)) == LEAST_PROBABILITY


def test_changes_add_up_to_the_change_of_the_softmax(rng):
    bias, terms = rng.normal(size=4), 3.0 * rng.normal(size=(50, 6, 4))
    changes = change_of_member(bias, terms)
    end = softmax(bias + terms.sum(axis=1))
    np.testing.assert_allclose(changes.sum(axis=1), end - softmax(bias[None]), atol=1e-14)
    # What a feature gives to some classes it takes from the others.
    np.testing.assert_allclose(changes.sum(axis=2), 0.0, atol=1e-14)


def test_a_feature_that_says_the_same_of_all_classes_changes_nothing(rng):
    bias, terms = rng.normal(size=4), rng.normal(size=(50, 6, 4))
    terms[:, 2] = terms[:, 2, :1]
    np.testing.assert_allclose(change_of_member(bias, terms)[:, 2], 0.0, atol=1e-15)
    terms[:, 3] = terms[:, 4]
    changes = change_of_member(bias, terms)
    np.testing.assert_array_equal(changes[:, 3], changes[:, 4])


def test_centred_terms_are_those_of_log_probabilities(rng):
    bias, terms = rng.normal(size=3), rng.normal(size=(20, 5, 3))
    start, end = softmax(bias[None])[0], softmax(bias + terms.sum(axis=1))
    centred = centre_terms(start, end, terms)
    np.testing.assert_allclose(centred.sum(axis=1), np.log(end) - np.log(start), atol=1e-13)


def test_infinite_terms_share_the_way_to_the_least_probability():
    log_prior = np.log([0.5, 0.25, 0.25])
    terms = np.array([[[0.0, -np.inf, -1.0], [0.0, -np.inf, -2.0], [0.0, -3.0, -3.0]]])
    prior, finite = replace_infinities(log_prior, terms)
    np.testing.assert_array_equal(prior, log_prior)
    np.testing.assert_array_equal(finite[0, :, [0, 2]], terms[0, :, [0, 2]])
    assert finite[0, 0, 1] == finite[0, 1, 1] < -300
    total = (log_prior + finite.sum(axis=1))[0]
    assert total[1] == pytest.approx(total[0] + np.log(LEAST_PROBABILITY))


def test_a_row_that_no_class_can_have_has_terms_of_zero():
    _, finite = replace_infinities(np.log([0.5, 0.5]), np.array([[[-np.inf, 1.0], [2.0, -np.inf]]]))
    assert (finite == 0.0).all()
