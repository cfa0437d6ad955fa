"""Out-of-fold probabilities know nothing of the rows they are for, weighted, copied or wide."""

import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from contract.settings import BY_NAME, Setting, each_setting
from priorwise import PriorwiseClassifier
from priorwise.evaluation import cross_entropy

WAYS = ("plain", "weighted", "copied")
"""Rows as they are, of weight three if they are of class 1, or three times each then."""


NO_FOLDS = (
    "NaiveBayes", "TAN", "KDB", "SelectiveKDB", "SuperParent", "AODE", "KDF", "ESKDB thesis",
    "ProbabilityTree", "ProbabilityForest no bootstrap", "ProbabilityForest random, no bootstrap",
    "ConditionalTable",
)  # fmt: skip
"""Classes and settings that have no out-of-fold probabilities."""

with_out_of_fold = each_setting(*NO_FOLDS, smoothers=False)


@cache
def unbalanced() -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """5,000 rows, a third of class 1, of which 30 % have a class that nothing tells."""
    X, y = make_classification(5_000, weights=[0.75], n_features=8, flip_y=0.3, random_state=1)
    return X, y


def learn(setting: Setting, way: str, X: Any, y: Any, times: NDArray[np.intp]) -> tuple[Any, Any]:
    """Return the model of rows that count `times`, and the rows of X that it was given."""
    if way != "copied":
        weight = {} if way == "plain" else {"sample_weight": times.astype(float)}
        return setting.fit(X, y, **weight), np.arange(len(y))
    rows = np.repeat(np.arange(len(y)), times)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "[0-9]* of [0-9]* rows are exact copies")
        return setting.fit(X[rows], y[rows]), rows


def out_of_fold_loss(model: Any, y: Any, weight: NDArray[Any] | None = None) -> float:
    """Return the log-loss of the rows that have out-of-fold probabilities."""
    proba = model.oof_proba_.astype(float)
    known = np.isfinite(proba[:, 0])
    assert known.any()
    own = proba[known, y[known]] / proba[known].sum(axis=1)
    return float(-np.average(np.log(own), weights=None if weight is None else weight[known]))


@pytest.mark.parametrize("name", NO_FOLDS)
def test_models_without_folds_have_no_out_of_fold_probabilities(name: str) -> None:
    assert not hasattr(BY_NAME[name].fitted, "oof_proba_")


# Naive Bayes, and SuperParent where it finds no arc, count what features share several times: their
# probabilities are near 0 and 1 whatever the weights. A conditional table knows no new numbers.
@each_setting("NaiveBayes", "SuperParent accuracy", "ConditionalTable", smoothers=False)
@pytest.mark.parametrize("way", ["weighted", "copied"])
def test_weights_of_a_class_move_probabilities_as_they_do_in_a_logistic_regression(
    setting: Setting, way: str
) -> None:
    X, y = unbalanced()
    learnt, times = slice(2_000), np.where(y == 1, 3, 1)
    line = LogisticRegression().fit(X[learnt], y[learnt], times[learnt])
    model, _ = learn(setting, way, X[learnt], y[learnt], times[learnt])
    moved = model.predict_proba(X[2_000:])[:, 1].mean()
    assert abs(moved - line.predict_proba(X[2_000:])[:, 1].mean()) < 0.05


@with_out_of_fold
@pytest.mark.parametrize("way", WAYS)
def test_out_of_fold_rows_are_predicted_as_new_ones(setting: Setting, way: str) -> None:
    X, y = unbalanced()
    times = np.where((y == 1) & (way != "plain"), 3, 1)
    model, rows = learn(setting, way, X[:2_000], y[:2_000], times[:2_000])
    weight = times[:2_000].astype(float) if way == "weighted" else None
    new = cross_entropy(y[2_000:], model.predict_proba(X[2_000:]), sample_weight=times[2_000:])
    assert out_of_fold_loss(model, y[rows], weight) == pytest.approx(new, rel=0.1)


@with_out_of_fold
@pytest.mark.parametrize("way", WAYS)
def test_noise_is_not_predicted_out_of_fold(setting: Setting, way: str) -> None:
    X = np.random.default_rng(0).normal(size=(300, 5))
    y = np.arange(300) % 2
    model, rows = learn(setting, way, X, y, np.full(300, 3))
    # A coin costs log 2; three hundred show a skill of a fiftieth of it in one of thousand runs.
    assert out_of_fold_loss(model, y[rows]) > 0.98 * np.log(2.0)


@with_out_of_fold
def test_wide_noise_is_not_predicted_out_of_fold(setting: Setting) -> None:
    """Features that are screened with the labels of all rows would give a row's class away."""
    X = np.random.default_rng(3).normal(size=(60, 700))
    y = np.arange(60) % 2
    own = setting.fit(X, y).oof_proba_[np.arange(60), y]
    known = np.isfinite(own)
    assert known.any()
    # Sixty coins show a share of heads above .75 in one of ten thousand runs.
    assert np.mean(own[known] > 0.5) < 0.75


@with_out_of_fold
def test_noise_of_groups_is_not_predicted_out_of_fold(setting: Setting) -> None:
    """Rows of a group have nearly the same numbers, and the same class, which is a coin's."""
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(60), 5)
    X = rng.normal(size=(60, 4))[groups] + 0.01 * rng.normal(size=(300, 4))
    y = (np.arange(60) % 2)[groups]
    order = rng.permutation(300)
    X, y, groups = X[order], y[order], groups[order]
    assert out_of_fold_loss(setting.fit(X, y, groups=groups), y) > 0.9 * np.log(2.0)


def test_copies_are_held_out_together_and_a_warning_counts_them() -> None:
    X, y = unbalanced()
    rows = np.repeat(np.arange(200), 2)
    with pytest.warns(UserWarning, match="^200 of 400 rows are exact copies") as warned:
        model = BY_NAME["Priorwise"].fit(X[rows], y[rows])
    assert len(warned) == 1
    np.testing.assert_array_equal(model.oof_proba_[::2], model.oof_proba_[1::2])


@pytest.mark.parametrize("effort", ["fast", "balanced"])
@pytest.mark.parametrize("seed", range(3))
def test_equal_rows_of_a_table_with_few_different_ones_are_draws(effort: str, seed: int) -> None:
    """Eight different rows, two thousand times: frequencies are hard to beat."""
    rng = np.random.default_rng(seed)
    cell = rng.integers(0, 8, 2_000)
    shares = rng.uniform(0.05, 0.95, 8)
    y = (rng.random(2_000) < shares[cell]).astype(int)
    different = np.array([[c >> 2 & 1, c >> 1 & 1, c & 1] for c in range(8)], dtype=float)
    frequencies = np.bincount(cell, y) / np.bincount(cell)
    model = PriorwiseClassifier(effort, random_state=0).fit(different[cell], y)
    proba = model.predict_proba(different)[:, 1]
    assert np.abs(proba - shares).max() < np.abs(frequencies - shares).max() + 0.03


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([0, 1], r"groups must have shape \(80,\), got \(2,\)"),
        ([1] * 80, r"groups must be at least two, got \[1\] for all rows"),
        ([None, *range(79)], "groups must not be missing, got None in row 0"),
    ],
)
def test_wrong_groups_are_refused(groups: Any, message: str) -> None:
    X, y = np.random.default_rng(0).normal(size=(80, 2)), np.arange(80) % 2
    with pytest.raises(ValueError, match=message):
        BY_NAME["Priorwise"].fit(X, y, groups=groups)
