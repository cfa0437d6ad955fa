"""Folds and samples of rows."""

import numpy as np
import pytest

from priorwise.counts.draws import (
    deal_into_folds,
    deal_repeatedly,
    draw_rows,
)


def test_each_class_is_spread_evenly_over_the_folds(rng):
    y = rng.integers(0, 3, 1000).astype(np.int32)
    folds = deal_into_folds(y, 5, rng)
    counts = np.array([np.bincount(folds[y == k], minlength=5) for k in range(3)])
    assert (counts.max(axis=1) - counts.min(axis=1) <= 1).all()


def test_all_rows_are_drawn_if_there_are_no_more(rng):
    weight = np.array([1.0, 5.0])
    rows, drawn_weight = draw_rows(2, weight, 10, rng)
    np.testing.assert_array_equal(rows, [0, 1])
    assert drawn_weight is weight


def test_without_weights_rows_are_drawn_alike(rng):
    rows, weight = draw_rows(100, None, 30, rng)
    assert weight is None
    assert len(np.unique(rows)) == 30


def test_chances_are_in_proportion_to_weights(rng):
    weight = np.repeat([1.0, 3.0], 50)
    n_drawn = np.zeros(100)
    for _ in range(400):
        rows, drawn_weight = draw_rows(100, weight, 20, rng)
        assert drawn_weight is not None
        assert len(rows) == 20
        # Drawn in proportion to their weights, rows count alike.
        np.testing.assert_allclose(drawn_weight, 2.0)
        n_drawn[rows] += 1
    assert n_drawn[50:].sum() / n_drawn[:50].sum() == pytest.approx(3.0, rel=0.05)


def test_a_row_heavier_than_its_share_is_always_drawn_and_counts_more(rng):
    weight = np.ones(100)
    weight[7] = 1e6
    for _ in range(20):
        rows, drawn_weight = draw_rows(100, weight, 10, rng)
        assert drawn_weight is not None
        assert len(rows) == 10
        heavy = rows == 7
        assert heavy.sum() == 1
        # The other nine stand for ninety-nine rows of weight one.
        assert drawn_weight[heavy][0] / drawn_weight[~heavy].sum() == pytest.approx(1e6 / 99.0)
        assert drawn_weight.mean() == pytest.approx(weight.mean())


def test_rows_are_dealt_anew_each_time(rng: np.random.Generator) -> None:
    y = np.repeat([0, 1], [20, 30]).astype(np.int32)
    folds = deal_repeatedly(y, 5, 3, rng)
    assert folds.shape == (3, 50)
    for dealing in folds:
        np.testing.assert_array_equal(np.bincount(5 * y + dealing), [4] * 5 + [6] * 5)
    assert (folds[0] != folds[1]).any()
    assert (folds[1] != folds[2]).any()
