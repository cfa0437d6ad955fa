"""Logistic regression on a Gaussian kernel: its formula, its laws, and what it knows."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from scipy.special import softmax
from sklearn.base import clone

from priorwise import KernelLogisticClassifier, SplineLogisticClassifier, _core
from priorwise.evaluation import cross_entropy
from priorwise.models.linear import fold_logistic, kernel
from priorwise.models.linear.fold_logistic import FoldLogistic
from priorwise.models.training_table import TrainingTable
from priorwise.steps.linear.design import Design
from reference.linear.kernel_score import kernel_scores
from reference.log_odds import against_others


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
    train, test = mixed_frame(rng, 100), mixed_frame(rng, 50)
    test.loc[3, "colour"] = "never seen"
    y = rng.integers(0, 3, 100)
    model = KernelLogisticClassifier(random_state=0).fit(train, y)
    # All rows are landmarks, in an order of their own.
    indicators = np.eye(5)[model.score_.landmarks.index].sum(axis=1)[:, :4]
    rows, landmarks = spelt_out(test, train), spelt_out(train, train)
    own = np.hstack([model.score_.landmarks.value, indicators])
    np.testing.assert_allclose(np.sort(own, axis=0), np.sort(landmarks, axis=0), atol=1e-5)
    among = cdist(landmarks, landmarks, "sqeuclidean")
    rate = 1.0 / (2.0 * model.bandwidth_**2 * np.median(among[among > 0]))
    kernel_values = np.exp(-rate * cdist(rows, own, "sqeuclidean"))
    score = model.score_.intercept + kernel_values @ model.score_.coefficient.T
    np.testing.assert_allclose(model.predict_proba(test), softmax(score, axis=1), rtol=1e-4)


def test_contributions_add_up_to_the_scores(rng: np.random.Generator) -> None:
    frame = mixed_frame(rng, 150)
    y = ((frame["number"] > 0) ^ (frame["colour"] == "red")).to_numpy()
    model = KernelLogisticClassifier(random_state=0).fit(frame, y)
    explanation = model.explain(frame)
    assert explanation.contributions.shape == (150, 3, 2)
    np.testing.assert_allclose(explanation.remainder, 0.0, atol=1e-5)
    score = np.log(model.predict_proba(frame))
    np.testing.assert_allclose(explanation.log_odds, against_others(score), rtol=1e-9)
    strength = np.abs(explanation.contributions).mean(axis=(0, 2))
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
    # Rows in their given order: `fit` deals folds by the content of rows.
    model = KernelLogisticClassifier(random_state=0)
    plain, scaled = (
        clone(model).fit_table(TrainingTable.read_uncut(model, Z, y)) for Z in (X, moved)
    )
    np.testing.assert_allclose(plain.predict_proba(X), scaled.predict_proba(moved), atol=1e-3)


def test_out_of_fold_probabilities_do_not_know_their_row(rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(200, 10)), rng.integers(0, 2, 200)
    model = KernelLogisticClassifier(random_state=0).fit(X, y)
    assert -np.log(model.oof_proba_[np.arange(200), y]).mean() > 0.68


def test_rows_beyond_the_cap_are_out_of_fold_for_all(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "MAX_ROWS", 100)
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    model = KernelLogisticClassifier(random_state=0).fit(X, y)
    same = np.isclose(model.oof_proba_, model.predict_proba(X)).all(axis=1)
    assert same.sum() >= 200
    assert (model.predict(X) == y).mean() > 0.8


def n_landmarks(model: KernelLogisticClassifier) -> int:
    return model.score_.coefficient.shape[1]


def test_all_settings_are_judged_by_the_same_rows(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = rng.normal(size=(300, 2))
    y = (np.hypot(X[:, 0], X[:, 1]) > 1.0).astype(int)
    judged: list[tuple[int, int]] = []
    fit = FoldLogistic._fit

    def note(self: FoldLogistic, penalty: float, weights: np.ndarray, *rest: Any) -> None:
        judged.append((self.design.value.shape[1], len(weights)))
        fit(self, penalty, weights, *rest)

    monkeypatch.setattr(FoldLogistic, "_fit", note)
    monkeypatch.setattr(kernel, "N_FIRST_LANDMARKS", 20)
    # One fold would be enough for the trials of many landmarks, if they were alone.
    monkeypatch.setattr(fold_logistic, "MIN_TERMS_FOR_ONE", 300 * 2 * 30)
    KernelLogisticClassifier(80, bandwidths=(0.5, 1.0), random_state=0).fit(X, y)
    *trials, (_, n_folds), (_, n_fits_of_all) = judged
    assert max(n_features for n_features, _ in trials) > 30
    assert {n_searched for _, n_searched in trials} == {5}
    assert (n_folds, n_fits_of_all) == (10, 1)


def test_rows_without_weight_are_no_landmarks(rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(100, 2)), np.arange(100) % 2
    X[50:] += 100.0
    weight = np.where(np.arange(100) < 50, 1.0, 0.0)
    model = KernelLogisticClassifier(random_state=0).fit(X, y, weight)
    assert n_landmarks(model) == 50


def test_rows_of_much_weight_are_among_those_drawn(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "MAX_ROWS", 50)
    X, y = rng.normal(size=(2_000, 2)), np.zeros(2_000, dtype=int)
    # All that is known of the second class are ten rows.
    y[:10] = 1
    X[:10] += 4.0
    weight = np.where(y == 1, 3_000.0, 1.0)
    model = KernelLogisticClassifier(random_state=0).fit(X, y, weight)
    assert model.predict_proba([[4.0, 4.0]])[0, 1] > 0.9
    assert model.predict_proba([[-1.0, -1.0]])[0, 1] < 0.5


def test_a_row_has_the_same_bits_whatever_rows_are_beside_it(rng: np.random.Generator) -> None:
    # Smaller matrix products happen to be summed in one order.
    numbers = pd.DataFrame(rng.normal(size=(500, 10))).add_prefix("x")
    frame, y = mixed_frame(rng, 500).join(numbers), rng.integers(0, 3, 500)
    model = KernelLogisticClassifier(random_state=0).fit(frame, y)
    together = model.predict_proba(frame)
    for rows in (slice(0, 1), slice(17, 18), slice(5, 12), slice(100, 229)):
        assert model.predict_proba(frame[rows]).tobytes() == together[rows].tobytes()


def score(
    rows: Design,
    landmarks: Design,
    rate: float,
    intercept: np.ndarray,
    coefficient: np.ndarray,
    n_threads: int = 1,
) -> np.ndarray:
    """Scores of rows by landmarks, as the kernel of the core computes them."""
    index, value = np.ascontiguousarray(landmarks.index.T), np.ascontiguousarray(landmarks.value.T)
    return _core.predict_kernel_scores(
        rows.index, rows.value, index, value, rate, intercept, coefficient, n_threads
    )


def test_scores_agree_with_their_slow_twin(rng: np.random.Generator) -> None:
    for n_indices, n_values, n_landmarks, n_classes in [(0, 3, 7, 2), (4, 0, 30, 3), (2, 5, 65, 9)]:
        rows, landmarks = (
            Design(
                rng.integers(-1, 3, (n, n_indices)).astype(np.int32),
                rng.normal(size=(n, n_values)).astype(np.float32),
            )
            for n in (40, n_landmarks)
        )
        intercept, coefficient = (
            rng.normal(size=n_classes),
            rng.normal(size=(n_classes, n_landmarks)),
        )
        slow = kernel_scores(rows, landmarks, 0.3, intercept, coefficient)
        scores = score(rows, landmarks, 0.3, intercept, coefficient)
        np.testing.assert_allclose(scores, slow, rtol=1e-11, atol=1e-11)
        threaded = score(rows, landmarks, 0.3, intercept, coefficient, n_threads=3)
        assert threaded.tobytes() == scores.tobytes()


@pytest.mark.parametrize("rate", [0.0, 1e-3, 1.0, 1e3, 1e30])
def test_far_and_near_rows_have_finite_scores(rate: float, rng: np.random.Generator) -> None:
    rows = Design(np.empty((20, 0), np.int32), rng.normal(size=(20, 1)).astype(np.float32))
    coefficient = np.ones((1, 20))
    scores = score(rows, rows, rate, np.zeros(1), coefficient)
    distance = cdist(rows.value.astype(float), rows.value.astype(float), "sqeuclidean")
    np.testing.assert_allclose(scores[:, 0], np.exp(-rate * distance).sum(axis=1), rtol=1e-14)


def test_many_classes_have_fewer_landmarks(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "MAX_WEIGHTS", 4_200)
    X, y = rng.normal(size=(600, 3)), np.arange(600) % 60
    model = KernelLogisticClassifier(n_landmarks=500, bandwidths=(1.0,), random_state=0).fit(X, y)
    assert n_landmarks(model) == 70


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
