"""Weights count rows: one is a row, zero is none, two count for two rows."""

import warnings

import numpy as np
import pytest

from contract.laws import assert_valid
from contract.rows.tables import mixed
from contract.settings import Setting, each_setting


def out_of_fold(model, n_rows):
    """Return the out-of-fold probabilities of the rows given; zeros if the model has none."""
    return getattr(model, "oof_proba_", np.zeros((n_rows, 1)))


def holding_numbers():
    """Return the rows of `mixed` that have the continuous number by which copies are told."""
    X, y = mixed()
    known = X["size"].notna().to_numpy()
    return X[known], y[known]


@each_setting()
def test_weights_of_one_are_no_weights(setting: Setting) -> None:
    X, y = mixed()
    ones = setting.fit(X, y, sample_weight=np.ones(len(y)))
    np.testing.assert_array_equal(ones.predict_proba(X), setting.proba)
    np.testing.assert_array_equal(out_of_fold(ones, len(y)), out_of_fold(setting.fitted, len(y)))


@each_setting()
def test_a_row_of_weight_zero_is_absent(setting: Setting) -> None:
    X, y = mixed()
    X.loc[3, "colour"], X.loc[4, "age"] = "a label of one row", 1e6
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    weight[3:5] = 0.0
    weighted = setting.fit(X, y, sample_weight=weight)
    kept = weight > 0
    without = setting.fit(X[kept], y[kept], sample_weight=weight[kept])
    np.testing.assert_array_equal(weighted.predict_proba(X), without.predict_proba(X))
    if hasattr(weighted, "oof_proba_"):
        np.testing.assert_array_equal(weighted.oof_proba_[kept], without.oof_proba_)
        assert np.isnan(weighted.oof_proba_[~kept]).all()


@each_setting()
def test_a_class_without_weight_is_absent(setting: Setting) -> None:
    X, y = mixed()
    kept = y != "no"
    weighted = setting.fit(X, y, sample_weight=kept.astype(float))
    assert weighted.classes_.tolist() == ["maybe", "yes"]
    without = setting.fit(X[kept], y[kept])
    np.testing.assert_array_equal(weighted.predict_proba(X), without.predict_proba(X))


# These leave rows out one by one, and see bins of numbers, which do not tell copies from equal
# rows: of two rows one is left out, of a row of weight two all.
@each_setting("SelectiveKDB", "SuperParent")
def test_a_row_of_weight_two_counts_for_two_rows(setting: Setting) -> None:
    X, y = holding_numbers()
    times = np.random.default_rng(2).integers(1, 4, len(y))
    rows = np.repeat(np.arange(len(y)), times)
    weighted = setting.fit(X, y, sample_weight=times)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "[0-9]* of [0-9]* rows are exact copies")
        repeated = setting.fit(X.iloc[rows], y[rows])
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-9)
    np.testing.assert_allclose(
        out_of_fold(weighted, len(y))[rows], out_of_fold(repeated, len(rows)), rtol=1e-9
    )
    if hasattr(weighted, "predict_interval"):
        ends, expected = (np.stack(m.predict_interval(X)) for m in (weighted, repeated))
        np.testing.assert_allclose(ends, expected, rtol=1e-6, atol=1e-9)


# Leave-one-out takes one given row out at a time: of two halves, the other half stays.
@each_setting("SelectiveKDB", "SuperParent")
def test_two_rows_of_weight_one_half_are_one_row(setting: Setting) -> None:
    X, y = holding_numbers()
    rows = np.tile(np.arange(len(y)), 2)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "[0-9]* of [0-9]* rows are exact copies")
        halves = setting.fit(X.iloc[rows], y[rows], sample_weight=np.full(len(rows), 0.5))
    np.testing.assert_allclose(
        halves.predict_proba(X), setting.fit(X, y).predict_proba(X), rtol=1e-9
    )


@each_setting(smoothers=False)
def test_weights_that_sum_to_one_are_one_row_and_a_warning_says_so(setting: Setting) -> None:
    X, y = mixed()
    with pytest.warns(UserWarning, match="sample_weight has a sum of 1 over 80 rows"):
        model = setting.fit(X, y, sample_weight=np.full(len(y), 1 / len(y)))
    assert_valid(model.predict_proba(X))


@each_setting(smoothers=False)
def test_weights_of_any_scale_give_probabilities(setting: Setting) -> None:
    X, y = mixed(30)
    weight = np.random.default_rng(0).random(len(y))
    for scale in (1e-300, 1e-9):
        with pytest.warns(UserWarning, match="Weights count rows"):
            assert_valid(setting.fit(X, y, sample_weight=scale * weight).predict_proba(X))
    for scale in (1e9, 1e14):
        assert_valid(setting.fit(X, y, sample_weight=scale * weight).predict_proba(X))


@each_setting(smoothers=False)
def test_all_weight_on_one_row_of_each_class(setting: Setting) -> None:
    X, y = mixed(30)
    weight = np.full(len(y), 1e-3)
    weight[np.unique(y, return_index=True)[1]] = 1e6
    assert_valid(setting.fit(X, y, sample_weight=weight).predict_proba(X))


@each_setting(smoothers=False)
def test_more_weight_than_numbers_count_is_refused(setting: Setting) -> None:
    X, y = mixed(30)
    with pytest.raises(ValueError, match="sample_weight must have a sum of at most"):
        setting.fit(X, y, sample_weight=np.full(len(y), 1e300))


@each_setting(smoothers=False)
def test_weights_that_are_not_aligned_or_not_contiguous_are_read_right(setting: Setting) -> None:
    X, y = mixed()
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    raw = np.frombuffer(b"?" + weight.tobytes(), dtype=np.uint8)
    odd = raw[1:].view(np.float64)
    strided = np.repeat(weight, 3)[::3]
    plain = setting.fit(X, y, sample_weight=weight).predict_proba(X)
    for same in (odd, strided, weight.astype(np.float32), weight.astype(int)):
        again = setting.fit(X, y, sample_weight=same).predict_proba(X)
        np.testing.assert_array_equal(again, plain)
