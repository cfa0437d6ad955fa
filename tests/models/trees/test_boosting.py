"""Boosting as a classifier of its own."""

from __future__ import annotations

import numpy as np
import pytest

from priorwise import BoostingClassifier
from priorwise.models.trees import boosting


def make_rows(n_rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = rng.normal(size=(n_rows, 4))
    return X, (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n_rows) > 0).astype(int)


def test_out_of_fold_probabilities_are_as_good_as_those_of_new_rows(
    rng: np.random.Generator,
) -> None:
    X, y = make_rows(2_000, rng)
    model = BoostingClassifier(random_state=0).fit(X[:1000], y[:1000])
    own = -np.log(model.oof_proba_[np.arange(1000), y[:1000]]).mean()
    new = -np.log(model.predict_proba(X[1000:])[np.arange(1000), y[1000:]]).mean()
    assert new < 0.6 * np.log(2.0)
    assert own == pytest.approx(new, rel=0.25)


@pytest.mark.parametrize("is_sum", [True, False])
def test_symmetric_trees_are_grown_unless_they_predict_worse(
    is_sum: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A sum of features takes many leaves; a noisy threshold takes two, and more are too many.
    monkeypatch.setattr(boosting, "MIN_SYMMETRIC_ROWS", 1500)
    monkeypatch.setattr(boosting, "TRIAL_ROWS", 1000)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 6))
    score = X.sum(axis=1) if is_sum else np.sign(X[:, 0]) + rng.normal(size=len(X))
    y = (score > 0).astype(int)
    auto, either, other = (
        BoostingClassifier(40, symmetric=symmetric, n_folds=2, random_state=0).fit(X, y)
        for symmetric in ("auto", is_sum, not is_sum)
    )
    np.testing.assert_array_equal(auto.predict_proba(X), either.predict_proba(X))
    assert not np.array_equal(auto.predict_proba(X), other.predict_proba(X))


def test_symmetric_trees_have_no_limit_of_leaves(rng: np.random.Generator) -> None:
    X = rng.normal(size=(300, 4))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    for max_depth, expected in (("auto", 7), (3, 3)):
        model = BoostingClassifier(20, max_depth=max_depth, symmetric=True, random_state=0)
        boosted = model.fit(X, y).boosting_
        assert boosted is not None
        parents = boosted.trees.trees.find_parents()
        depths = np.zeros(len(parents), dtype=int)
        for node in np.flatnonzero(parents >= 0):
            depths[node] = depths[parents[node]] + 1
        assert depths.max() == expected
    with pytest.raises(ValueError, match=r"max_leaf_nodes must be .* symmetric trees, got 8"):
        BoostingClassifier(max_leaf_nodes=8).set_params(symmetric=np.True_).fit(X, y)


@pytest.mark.parametrize(
    ("max_rounds", "min_rows", "rate"), [(300, 500, 0.05), (8, 500, 0.2), (300, 501, 0.2)]
)
def test_steps_are_smaller_in_large_tables_where_few_trees_are_needed(
    max_rounds: int, min_rows: int, rate: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boosting, "MIN_SLOW_ROWS", min_rows)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    y = (X[:, 0] + rng.normal(size=500) > 0.0).astype(int)
    auto, given = (
        BoostingClassifier(max_rounds, learning_rate=one, random_state=0).fit(X, y)
        for one in ("auto", rate)
    )
    np.testing.assert_array_equal(auto.predict_proba(X), given.predict_proba(X))
    assert 2 < auto.n_rounds_ <= max_rounds


def test_without_anything_to_learn_it_predicts_the_shares(rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(300, 2)), np.arange(300) % 3
    model = BoostingClassifier(random_state=0, learning_rate=1.0).fit(X, y)
    assert model.n_rounds_ == 0
    assert model.boosting_ is None
    np.testing.assert_allclose(model.predict_proba(X), 1.0 / 3.0)
    np.testing.assert_allclose(model.explain(X).contributions, 0.0)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("max_rounds", 0),
        ("learning_rate", 0.0),
        ("learning_rate", "slow"),
        ("max_depth", 31),
        ("max_depth", "most"),
        ("max_leaf_nodes", 1),
        ("max_leaf_nodes", "most"),
        ("symmetric", "always"),
        ("n_folds", 1),
        ("max_samples", 0.0),
        ("max_features", 1.5),
    ],
)
def test_parameters_out_of_range_are_refused(option: str, value: float | str) -> None:
    model = BoostingClassifier().set_params(**{option: value})
    with pytest.raises(ValueError, match=f"{option} must be .*, got {value!r}"):
        model.fit([[0], [1]], [0, 1])
