import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from priorwise.evaluation import (
    brier,
    consistency_band,
    cross_entropy,
    decompose,
    reliability_curve,
)


def draw_binary(seed, n_rows=400, distortion=1.0):
    rng = np.random.default_rng(seed)
    p = np.round(rng.uniform(0.02, 0.98, size=n_rows), 2)
    odds = p**distortion / (p**distortion + (1 - p) ** distortion)
    return (rng.uniform(size=n_rows) < odds).astype(int), p


def draw_classes(seed, n_rows=300, n_classes=4):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.ones(n_classes), size=n_rows)
    return rng.integers(n_classes, size=n_rows), proba


def test_the_curve_is_isotonic_regression_of_outcome_on_probability():
    y, p = draw_binary(0)
    curve = reliability_curve(y, p)
    fitted = IsotonicRegression().fit(p, y).predict(curve.predicted)
    np.testing.assert_allclose(curve.observed, fitted, atol=1e-12)
    assert (np.diff(curve.observed) >= 0).all()
    assert curve.weight.sum() == len(y)


def test_a_monotone_change_of_the_probability_leaves_the_frequencies():
    y, p = draw_binary(1)
    np.testing.assert_allclose(
        reliability_curve(y, p**3).observed, reliability_curve(y, p).observed, atol=1e-12
    )


@pytest.mark.parametrize("score", ["brier", "log_loss"])
@pytest.mark.parametrize("seed", range(4))
def test_the_parts_make_the_score_and_are_not_negative(score, seed):
    y, p = draw_binary(seed, distortion=2.0)
    parts = decompose(y, p, score=score, event=1)
    whole = parts.miscalibration - parts.discrimination + parts.uncertainty
    assert whole == pytest.approx(parts.score)
    assert parts.miscalibration >= -1e-12
    assert parts.discrimination >= -1e-12
    rate = y.mean()
    entropy = -rate * np.log(rate) - (1 - rate) * np.log(1 - rate)
    expected = rate * (1 - rate) if score == "brier" else entropy
    assert parts.uncertainty == pytest.approx(expected)


def test_the_whole_is_the_library_score():
    y, proba = draw_classes(2)
    assert decompose(y, proba).score == pytest.approx(brier(y, proba))
    y, p = draw_binary(3)
    assert decompose(y, p, score="log_loss").score == pytest.approx(cross_entropy(y, p))
    assert decompose(y, p).score == pytest.approx(brier(y, p))


def test_recalibrated_predictions_have_no_miscalibration():
    y, p = draw_binary(4, distortion=3.0)
    curve = reliability_curve(y, p)
    recalibrated = np.interp(p, curve.predicted, curve.observed)
    before, after = decompose(y, p, event=1), decompose(y, recalibrated, event=1)
    assert before.miscalibration > 0.005
    assert after.miscalibration == pytest.approx(0, abs=1e-12)
    assert after.discrimination == pytest.approx(before.discrimination)


def test_the_base_rate_does_not_discriminate_and_is_calibrated():
    y, _ = draw_binary(5)
    parts = decompose(y, np.full(len(y), y.mean()), score="log_loss")
    assert parts.miscalibration == pytest.approx(0, abs=1e-12)
    assert parts.discrimination == pytest.approx(0, abs=1e-12)


def test_weights_repeat_rows():
    y, p = draw_binary(6, n_rows=80)
    weight = np.arange(80) % 4
    for score in ("brier", "log_loss"):
        weighted = decompose(y, p, score=score, sample_weight=weight)
        repeated = decompose(np.repeat(y, weight), np.repeat(p, weight), score=score)
        assert vars(weighted) == pytest.approx(vars(repeated))


def test_a_certain_prediction_that_fails_is_infinitely_miscalibrated():
    parts = decompose([0, 1, 1, 0], [0.2, 0.0, 0.9, 0.1], score="log_loss")
    assert parts.score == parts.miscalibration == np.inf
    assert np.isfinite(parts.discrimination)


def test_the_band_covers_calibrated_predictions_and_not_distorted_ones():
    y, p = draw_binary(7, n_rows=3000)
    curve = reliability_curve(y, p)
    low, high = consistency_band(curve, random_state=1)
    inside = np.average((low <= curve.observed) & (curve.observed <= high), weights=curve.weight)
    assert inside > 0.8
    y, p = draw_binary(8, n_rows=3000, distortion=3.0)
    curve = reliability_curve(y, p)
    low, high = consistency_band(curve, random_state=1)
    inside = np.average((low <= curve.observed) & (curve.observed <= high), weights=curve.weight)
    assert inside < 0.3


def test_arguments_are_checked():
    y, proba = draw_classes(9)
    with pytest.raises(ValueError, match="event must name one of the 4 classes"):
        reliability_curve(y, proba)
    with pytest.raises(ValueError, match="event must name one of the 4 classes"):
        decompose(y, proba, score="log_loss")
    with pytest.raises(ValueError, match=r"event must be one of \[0, 1, 2, 3\], got 7"):
        reliability_curve(y, proba, event=7)
    with pytest.raises(ValueError, match="score must be one of"):
        decompose(y, proba, score="auc")
    curve = reliability_curve([0, 1], [0.2, 0.7], sample_weight=[0.5, 1])
    with pytest.raises(ValueError, match="whole numbers"):
        consistency_band(curve)
    with pytest.raises(ValueError, match="level"):
        consistency_band(curve, level=1)
