"""Laws of the discretisers."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from priorwise import _core
from priorwise.data.columns import cut_into_bins
from priorwise.data.cuts.discretise import (
    EqualFrequencyDiscretizer,
    EqualWidthDiscretizer,
    KMeansDiscretizer,
)
from priorwise.data.cuts.entropy_cuts import MDLPDiscretizer, TreeDiscretizer

DISCRETIZERS = [
    EqualWidthDiscretizer(),
    EqualFrequencyDiscretizer(),
    KMeansDiscretizer(),
    MDLPDiscretizer(),
    TreeDiscretizer(),
]
every_discretizer = pytest.mark.parametrize("discretizer", DISCRETIZERS, ids=repr)


@parametrize_with_checks(DISCRETIZERS)
def test_scikit_learn_checks_pass(estimator, check):
    check(estimator)


@pytest.fixture
def labelled():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, 400)
    X = np.round(rng.normal(size=(400, 4)) + y[:, None] * [0.0, 0.5, 1.0, 2.0], 1)
    return X, y


@every_discretizer
def test_bins_are_closed_on_the_right(discretizer, labelled):
    X, y = labelled
    fitted = clone(discretizer).fit(X, y)
    assert any(len(points) for points in fitted.cut_points_)
    for i, points in enumerate(fitted.cut_points_):
        if not len(points):
            continue
        probe = np.zeros((len(points), X.shape[1]))
        probe[:, i] = points
        np.testing.assert_array_equal(fitted.transform(probe)[:, i], np.arange(len(points)))
        probe[:, i] = np.nextafter(points, np.inf)
        np.testing.assert_array_equal(fitted.transform(probe)[:, i], np.arange(len(points)) + 1)


@every_discretizer
def test_nan_passes_through_and_does_not_move_the_cuts(discretizer, labelled):
    X, y = labelled
    fitted = clone(discretizer).fit(X, y)
    holes = np.vstack([X, np.full((3, 4), np.nan)])
    again = clone(discretizer).fit(holes, np.append(y, [0, 0, 0]))
    for before, after in zip(fitted.cut_points_, again.cut_points_, strict=True):
        np.testing.assert_array_equal(before, after)
    codes = again.transform(holes)
    assert np.isnan(codes[-3:]).all()
    assert not np.isnan(codes[:-3]).any()


@every_discretizer
def test_whole_weights_equal_repeated_rows(discretizer, labelled):
    X, y = labelled
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = clone(discretizer).fit(X, y, sample_weight=weight)
    repeated = clone(discretizer).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    for a, b in zip(weighted.cut_points_, repeated.cut_points_, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


@every_discretizer
def test_constant_feature_gets_one_bin(discretizer):
    X = np.full((20, 1), 2.5)
    y = np.arange(20) % 2
    assert clone(discretizer).fit(X, y).n_bins_.tolist() == [1]


@every_discretizer
def test_all_missing_feature_gets_one_bin(discretizer):
    X = np.full((20, 1), np.nan)
    fitted = clone(discretizer).fit(X, np.arange(20) % 2)
    assert fitted.n_bins_.tolist() == [1]
    assert np.isnan(fitted.transform(X)).all()


@every_discretizer
def test_names_and_frames_come_out(discretizer, labelled):
    X, y = labelled
    frame = pd.DataFrame(X, columns=list("abcd"))
    out = clone(discretizer).set_output(transform="pandas").fit(frame, y).transform(frame)
    assert list(out.columns) == list("abcd")
    assert out.shape == frame.shape


def test_equal_width_cuts_the_range():
    cuts = EqualWidthDiscretizer(n_bins=4).fit([[0.0], [8.0], [1.0]]).cut_points_[0]
    np.testing.assert_allclose(cuts, [2.0, 4.0, 6.0])


def test_equal_width_of_the_widest_range_stays_finite():
    X = [[-1.7e308], [1.7e308]]
    assert np.isfinite(EqualWidthDiscretizer(n_bins=4).fit(X).cut_points_[0]).all()


def test_equal_frequency_never_splits_equal_values():
    rng = np.random.default_rng(1)
    X = rng.integers(0, 12, size=(500, 1)).astype(float)
    X[:250] = 4.0
    codes = EqualFrequencyDiscretizer(n_bins=8).fit_transform(X).ravel()
    for value in np.unique(X):
        assert len(np.unique(codes[X.ravel() == value])) == 1


def test_equal_frequency_fills_bins_evenly_without_ties():
    X = np.random.default_rng(2).normal(size=(1000, 1))
    codes = EqualFrequencyDiscretizer(n_bins=10).fit_transform(X).ravel()
    assert np.bincount(codes.astype(int)).tolist() == [100] * 10


def test_kmeans_cuts_reach_a_fixed_point():
    X = np.random.default_rng(5).gamma(2.0, size=(300, 1))
    fitted = KMeansDiscretizer(n_bins=5).fit(X)
    codes = fitted.transform(X).ravel()
    centres = np.array([X.ravel()[codes == b].mean() for b in range(5)])
    np.testing.assert_allclose(fitted.cut_points_[0], (centres[:-1] + centres[1:]) / 2, rtol=1e-9)


@pytest.mark.parametrize(
    ("discretizer", "rule"),
    [
        (EqualWidthDiscretizer(n_bins=0), "n_bins must be"),
        (EqualFrequencyDiscretizer(n_bins=2.5), "n_bins must be"),  # type: ignore[arg-type]
        (KMeansDiscretizer(max_iter=0), "max_iter must be"),
        (TreeDiscretizer(max_depth=0), "max_depth must be"),
        (TreeDiscretizer(pruning="mld"), "pruning must be"),
    ],
)
def test_wrong_parameters_are_named(discretizer, rule):
    with pytest.raises(ValueError, match=rule):
        discretizer.fit([[1.0], [2.0]], [0, 1])


@pytest.mark.parametrize("n_cuts", [0, 1, 2, 3, 10, 63, 255])
def test_bins_count_the_cut_points_below_each_value(n_cuts):
    rng = np.random.default_rng(0)
    cuts = np.unique(rng.integers(0, 400, n_cuts)).astype(float)
    for n_rows in range(20):
        values = rng.integers(-5, 405, n_rows).astype(float)
        values[::7] = np.nan
        expected = np.where(np.isnan(values), -1, np.searchsorted(cuts, values, side="left"))
        np.testing.assert_array_equal(cut_into_bins(values[None], [cuts], [-1])[0], expected)


def test_features_are_not_cut_into_the_same_row_of_codes():
    values, codes = np.zeros((2, 3)), np.full((2, 3), -5, dtype=np.int32)
    cuts, missing = [np.zeros(1)] * 2, np.zeros(2, dtype=np.int32)
    with pytest.raises(ValueError, match="positions must be distinct"):
        _core.cut_values(values, cuts, missing, np.array([1, 1]), codes, 1)
    assert (codes == -5).all()
