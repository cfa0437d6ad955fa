"""Boosting as a classifier of its own."""

from __future__ import annotations

import numpy as np
import pytest

from priorwise import BoostingClassifier


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
        ("max_depth", 31),
        ("max_leaf_nodes", 1),
        ("n_folds", 1),
        ("max_samples", 0.0),
        ("max_features", 1.5),
    ],
)
def test_parameters_out_of_range_are_refused(option: str, value: float) -> None:
    model = BoostingClassifier().set_params(**{option: value})
    with pytest.raises(ValueError, match=f"{option} must be .*, got {value}"):
        model.fit([[0], [1]], [0, 1])
