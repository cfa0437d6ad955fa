import numpy as np
import pytest

from priorwise.datasets import (
    led_posterior,
    make_balance_scale,
    make_led,
    make_monks,
    make_tic_tac_toe,
    make_waveform,
)


def test_tic_tac_toe_has_the_known_boards():
    X, y = make_tic_tac_toe()
    assert X.shape == (958, 9)
    assert len({tuple(row) for row in X}) == 958
    assert (y == "positive").sum() == 626
    moves = (X == "x").sum(axis=1) - (X == "o").sum(axis=1)
    assert set(moves) == {0, 1}


def test_balance_scale_and_monks_are_whole_spaces_with_known_class_counts():
    X, y = make_balance_scale()
    assert len({tuple(row) for row in X}) == 625
    assert [(y == side).sum() for side in "LBR"] == [288, 49, 288]
    assert y[(X == [5, 5, 1, 1]).all(axis=1)].tolist() == ["L"]
    for problem, n_members in ((1, 216), (2, 142), (3, 228)):
        X, y = make_monks(problem)
        assert len({tuple(row) for row in X}) == 432
        assert (y == "1").sum() == n_members
    with pytest.raises(ValueError, match="problem must be 1, 2 or 3, got 4"):
        make_monks(4)


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
