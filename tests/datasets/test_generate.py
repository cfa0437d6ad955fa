import numpy as np
import pytest

from priorwise.datasets import led_posterior, make_led, make_waveform


def test_led_without_noise_shows_ten_patterns_and_noise_flips_segments():
    X, y = make_led(3000, noise=0.0, random_state=0)
    patterns = {digit: {tuple(row) for row in X[y == digit]} for digit in np.unique(y)}
    assert len(patterns) == 10
    assert all(len(shown) == 1 for shown in patterns.values())
    assert len(set().union(*patterns.values())) == 10
    assert make_led(5, n_irrelevant=17)[0].shape == (5, 24)


def test_the_led_posterior_is_calibrated_and_has_the_known_best_error():
    X, y = make_led(40_000, noise=0.1, random_state=1)
    posterior = led_posterior(X, noise=0.1)
    np.testing.assert_allclose(posterior.sum(axis=1), 1)
    error = np.mean(posterior.argmax(axis=1).astype(str) != y)
    assert error == pytest.approx(0.26, abs=0.01)
    sure = posterior[:, 8] > 0.5
    assert np.mean(y[sure] == "8") == pytest.approx(posterior[sure, 8].mean(), abs=0.02)


def test_waveform_has_the_mean_of_its_waves():
    X, y = make_waveform(30_000, random_state=2)
    assert X.shape == (30_000, 40)
    i = np.arange(1, 22)
    first, second = np.maximum(6 - abs(i - 11), 0), np.maximum(6 - abs(i - 15), 0)
    expected = np.concatenate([(first + second) / 2, np.zeros(19)])
    np.testing.assert_allclose(X[y == "0"].mean(axis=0), expected, atol=0.08)
    np.testing.assert_allclose(X[:, 21:].std(axis=0), 1, atol=0.02)


@pytest.mark.parametrize("make", [make_led, make_waveform])
def test_the_same_seed_gives_the_same_rows(make):
    X, y = make(50, random_state=7)
    again, labels = make(50, random_state=7)
    assert (again == X).all()
    assert (y == labels).all()
    assert (make(50, random_state=8)[0] != X).any()
    with pytest.raises(ValueError, match="n_rows must be a number at least 1, got 0"):
        make(0)


def test_the_chances_of_noise_are_checked():
    with pytest.raises(ValueError, match="noise must be a number at least 0 and at most 1, got"):
        make_led(5, noise=1.5)
    with pytest.raises(ValueError, match="n_irrelevant must be a number at least 0"):
        make_led(5, n_irrelevant=-1)
    with pytest.raises(ValueError, match="n_noise must be a number at least 0"):
        make_waveform(5, n_noise=-1)
