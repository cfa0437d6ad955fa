"""Logistic regression on a Gaussian kernel: its formula, its laws, and what it knows."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from scipy.special import softmax
from sklearn.utils.estimator_checks import parametrize_with_checks

from priorwise import KernelLogisticClassifier, SplineLogisticClassifier
from priorwise.evaluation import cross_entropy
from priorwise.models.linear import kernel


@parametrize_with_checks(
    [KernelLogisticClassifier(random_state=0)],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": "folds are dealt by rows"
    },
)
def test_scikit_learn_checks(estimator: KernelLogisticClassifier, check) -> None:
    check(estimator)


def mixed_frame(rng: np.random.Generator, n: int) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "number": rng.normal(size=n),
            "colour": rng.choice(["red", "green", "blue"], n),
            "gappy": np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)),
        }
    )


def spelt_out(frame: pd.DataFrame, train: pd.DataFrame) -> np.ndarray:
    """Standardised numbers, missing as the mean, and an indicator for each label and gap."""
    columns = []
    for name in ("number", "gappy"):
        scaled = (frame[name] - train[name].mean()) / train[name].std(ddof=0)
        columns.append(scaled.fillna(0.0).clip(-4, 4))
    columns += [frame["colour"] == colour for colour in sorted(train["colour"].unique())]
    columns.append(frame["gappy"].isna())
    return np.stack([np.asarray(c, dtype=float) for c in columns], axis=1)


def test_probabilities_are_those_of_the_formula(rng: np.random.Generator) -> None:
    train, test = mixed_frame(rng, 200), mixed_frame(rng, 50)
    test.loc[3, "colour"] = "never seen"
    y = rng.integers(0, 3, 200)
    model = KernelLogisticClassifier(n_landmarks=200, random_state=0).fit(train, y)
    # All rows are landmarks, in their order.
    rows, landmarks = spelt_out(test, train), spelt_out(train, train)
    among = cdist(landmarks, landmarks, "sqeuclidean")
    rate = 1.0 / (2.0 * model.bandwidth_**2 * np.median(among[among > 0]))
    like = np.exp(-rate * cdist(rows, landmarks, "sqeuclidean"))
    np.testing.assert_allclose(
        model.predict_proba(test),
        softmax(model.intercept_ + like @ model.coef_, axis=1),
        rtol=1e-4,
    )


def test_contributions_add_up_to_the_scores(rng: np.random.Generator) -> None:
    frame = mixed_frame(rng, 150)
    y = ((frame["number"] > 0) ^ (frame["colour"] == "red")).to_numpy()
    model = KernelLogisticClassifier(random_state=0).fit(frame, y)
    bias, terms = model.decision_contributions(frame)
    assert terms.shape == (150, 3, 2)
    score = np.log(model.predict_proba(frame))
    found = bias + terms.sum(axis=1)
    np.testing.assert_allclose(
        found - found.mean(axis=1, keepdims=True),
        score - score.mean(axis=1, keepdims=True),
        atol=1e-5,
    )
    strength = np.abs(terms).mean(axis=(0, 2))
    assert strength[:2].min() > 3 * strength[2]


def test_what_no_sum_over_features_says_is_learnt(rng: np.random.Generator) -> None:
    X = rng.normal(size=(600, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    smooth, linear = (
        model.fit(X[:300], y[:300]).predict_proba(X[300:])
        for model in (
            KernelLogisticClassifier(random_state=0),
            SplineLogisticClassifier(random_state=0),
        )
    )
    assert cross_entropy(y[300:], smooth) < 0.25
    assert cross_entropy(y[300:], linear) > 0.6


def test_shift_and_scale_of_numbers_do_not_matter(rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(120, 3)), rng.integers(0, 2, 120)
    moved = X * np.array([10.0, 0.01, 3.0]) + np.array([5.0, -1.0, 100.0])
    plain, scaled = (KernelLogisticClassifier(random_state=0).fit(Z, y) for Z in (X, moved))
    np.testing.assert_allclose(plain.predict_proba(X), scaled.predict_proba(moved), atol=1e-3)


def test_out_of_fold_probabilities_do_not_know_their_row(rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(200, 10)), rng.integers(0, 2, 200)
    model = KernelLogisticClassifier(random_state=0).fit(X, y)
    assert -np.log(model.oof_probabilities_[np.arange(200), y]).mean() > 0.68


def test_rows_beyond_the_cap_are_out_of_fold_for_all(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "MAX_ROWS", 100)
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    model = KernelLogisticClassifier(random_state=0).fit(X, y)
    same = np.isclose(model.oof_probabilities_, model.predict_proba(X)).all(axis=1)
    assert same.sum() >= 200
    assert (model.predict(X) == y).mean() > 0.8


def test_rows_without_weight_are_no_landmarks(rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(100, 2)), np.arange(100) % 2
    X[50:] += 100.0
    weight = np.where(np.arange(100) < 50, 1.0, 0.0)
    model = KernelLogisticClassifier(random_state=0).fit(X, y, weight)
    assert len(model.coef_) == 50


def test_many_classes_have_fewer_landmarks(rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(600, 3)), np.arange(600) % 60
    model = KernelLogisticClassifier(n_landmarks=500, bandwidths=(1.0,), random_state=0).fit(X, y)
    assert len(model.coef_) == kernel.MAX_WEIGHTS // 60


def test_rows_all_alike_give_the_shares_of_the_classes() -> None:
    X, y = np.ones((40, 2)), np.arange(40) % 4 == 0
    proba = KernelLogisticClassifier(random_state=0).fit(X, y).predict_proba(X[:1])
    assert proba[0, 1] == pytest.approx(0.25, abs=0.02)


def test_threads_and_pickles_change_no_bit(rng: np.random.Generator) -> None:
    frame, y = mixed_frame(rng, 300), rng.integers(0, 3, 300)
    one, two = (
        KernelLogisticClassifier(n_jobs=n_jobs, random_state=0).fit(frame, y) for n_jobs in (1, 2)
    )
    expected = one.predict_proba(frame).tobytes()
    assert two.predict_proba(frame).tobytes() == expected
    assert pickle.loads(pickle.dumps(one)).predict_proba(frame).tobytes() == expected


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_landmarks": 0}, "n_landmarks must be .* got 0"),
        ({"bandwidths": ()}, "bandwidths must not be empty"),
        ({"bandwidths": (1.0, -1.0)}, "bandwidths must be .* got -1.0"),
    ],
)
def test_bad_parameters_are_named(parameters: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        KernelLogisticClassifier(**parameters).fit([[0.0], [1.0]], [0, 1])
