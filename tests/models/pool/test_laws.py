"""Laws of pools: weights, order of rows, rows beside a row, refits and failures."""

import numpy as np
import pandas as pd
import pytest

from priorwise import (
    LogLinearPool,
    NaiveBayesClassifier,
    PriorwiseClassifier,
    SplineLogisticClassifier,
)


def mixed_table(rng: np.random.Generator, n_rows: int) -> tuple[pd.DataFrame, np.ndarray]:
    frame = pd.DataFrame(
        {"number": rng.normal(size=n_rows), "colour": rng.choice(["red", "blue"], n_rows)}
    )
    noise = rng.normal(size=n_rows)
    return frame, np.where(frame["number"] + (frame["colour"] == "red") + noise > 0, "yes", "no")


@pytest.fixture
def model() -> PriorwiseClassifier:
    return PriorwiseClassifier("fast", random_state=0)


def test_weights_count_rows(model: PriorwiseClassifier, rng: np.random.Generator) -> None:
    X, y = mixed_table(rng, 150)
    plain = model.fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(model.fit(X, y, np.ones(150)).predict_proba(X), plain)
    weight = rng.integers(0, 3, 150)
    rows = rng.permutation(np.repeat(np.arange(150), weight))
    weighted = model.fit(X, y, weight)
    expected, oof = weighted.predict_proba(X), weighted.oof_proba_
    with pytest.warns(UserWarning, match="rows are exact copies"):
        repeated = model.fit(X.iloc[rows], y[rows])
    np.testing.assert_array_equal(repeated.predict_proba(X), expected)
    np.testing.assert_array_equal(repeated.oof_proba_, oof[rows])
    assert np.isnan(oof[weight == 0]).all()


@pytest.mark.parametrize("heavy", [1e3, 1e12])
def test_nearly_all_weight_on_one_row_gives_probabilities(
    heavy: float, model: PriorwiseClassifier, rng: np.random.Generator
) -> None:
    X, y = mixed_table(rng, 40)
    weight = np.ones(40)
    weight[3] = heavy
    proba = model.fit(X, y, weight).predict_proba(X)
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    alone = np.where(np.arange(40) == 3, 1.0, 0.0)
    with pytest.raises(ValueError, match="y must hold at least 2 classes, got 1 class"):
        model.fit(X, y, alone)


def test_a_row_has_the_same_bits_whatever_rows_are_beside_it(rng: np.random.Generator) -> None:
    X, y = mixed_table(rng, 600)
    X = X.join(pd.DataFrame(rng.normal(size=(600, 10))).add_prefix("x"))
    # As many landmarks of the kernel as it takes for matrix products to depend on the rows.
    model = PriorwiseClassifier("balanced", random_state=0).fit(X, y)
    together = model.predict_proba(X)
    for rows in (slice(0, 1), slice(17, 18), slice(5, 12), slice(100, 429)):
        assert model.predict_proba(X[rows]).tobytes() == together[rows].tobytes()


def test_a_refit_forgets_and_a_failure_changes_nothing(rng: np.random.Generator) -> None:
    X, y = mixed_table(rng, 100)
    members = [("line", SplineLogisticClassifier()), ("bayes", NaiveBayesClassifier())]
    pool = LogLinearPool(members, random_state=0).fit(X, y)
    before = dict(vars(pool))
    with pytest.raises(ValueError, match="y must hold at least 2 classes"):
        pool.fit(X, np.zeros(100))
    assert vars(pool) == before
    pool.set_params(estimators=members[:1]).fit(X[["number"]].to_numpy(), y)
    assert list(pool.estimators_) == list(pool.pool_weights_) == ["line"]
    assert not hasattr(pool, "feature_names_in_")
