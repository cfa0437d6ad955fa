"""The softmax of scores."""

import numpy as np
import pytest
from scipy.special import softmax as scipy_softmax

from priorwise.common.numeric import LEAST_PROBABILITY, softmax


@pytest.mark.parametrize("n_classes", [1, 2, 7])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_become_probabilities(rng: np.random.Generator, n_classes: int, dtype: type) -> None:
    scores: np.ndarray = (20.0 * rng.normal(size=(n_classes, 90))).astype(dtype).T
    before = scores.copy()
    proba = softmax(scores)
    expected = scipy_softmax(scores.astype(np.float64), axis=1)
    np.testing.assert_allclose(proba, expected, rtol=1e-13)
    np.testing.assert_array_equal(scores, before)


def test_no_class_that_is_possible_becomes_impossible() -> None:
    proba = softmax(np.array([[0.0, -1e9, -np.inf], [np.nan, 0.0, 1.0], [0.0, 1.0, np.nan]]))
    assert proba[0].tolist() == [1.0, pytest.approx(LEAST_PROBABILITY), 0.0]
    assert np.isnan(proba[1:]).all()
