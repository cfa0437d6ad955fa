"""Tables of few rows, which say little more than the shares of the classes."""

import numpy as np
import pandas as pd
import pytest

from priorwise import GaussianNetworkClassifier, PriorwiseClassifier
from priorwise.models.pool.numbers import NUMBERS
from priorwise.models.pool.weights import find_floor

N_NEW = 50


def draw_noise(n_rows: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return numbers and labels of more rows, and classes of the first that are independent."""
    rng = np.random.default_rng([n_rows, seed])
    n_numbers, n_labels = int(rng.integers(3, 9)), int(rng.integers(0, 3))
    X = pd.DataFrame(rng.normal(size=(n_rows + N_NEW, n_numbers))).add_prefix("x")
    for label in range(n_labels):
        X[f"label{label}"] = rng.choice(["a", "b", "c"], len(X))
    return X, rng.permutation(np.arange(n_rows) % 2)


def expect_loss(proba: np.ndarray) -> float:
    """Return the log-loss expected of rows whose two classes are equally probable."""
    return float(-np.log(proba).mean())


@pytest.mark.parametrize(("effort", "n_draws"), [("fast", 10), ("balanced", 5)])
def test_few_rows_of_noise_give_the_shares_of_the_classes(effort: str, n_draws: int) -> None:
    losses = []
    for n_rows in (4, 6, 8, 12, 20):
        for seed in range(n_draws):
            X, y = draw_noise(n_rows, seed)
            model = PriorwiseClassifier(effort, random_state=0).fit(X[:n_rows], y)
            losses.append(expect_loss(model.predict_proba(X[n_rows:])))
    assert np.mean(losses) < 0.72


def test_few_rows_of_a_function_of_the_features_are_learnt() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24 + 200, 3))
    y = (X[:, 0] > 0).astype(int)
    model = PriorwiseClassifier("fast", random_state=0).fit(X[:24], y[:24])
    proba = model.predict_proba(X[24:])
    assert -np.log(proba[np.arange(200), y[24:]]).mean() < 0.5


def test_held_out_rows_of_noise_do_not_show_gaussians_their_class() -> None:
    losses = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        model = GaussianNetworkClassifier(random_state=0)
        y = rng.permutation([0, 0, 1, 1])
        model.fit(rng.normal(size=(4, 6)), y)
        losses.append(-np.log(model.oof_proba_[np.arange(4), y]).mean())
    # The mean was 0.2: the class that has a row less was the nearer one.
    assert np.mean(losses) > np.log(2.0)


def test_the_floor_falls_with_the_rows_and_is_at_most_uniform() -> None:
    floors = [find_floor(n_rows, 3) for n_rows in range(1, 200)]
    assert floors == sorted(floors, reverse=True)
    assert floors[0] == 1 / 3
    assert floors[-1] == NUMBERS.floor
