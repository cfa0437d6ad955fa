"""Cuts and information of rows whose weights are tiny, huge, or both."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from priorwise import _core
from priorwise.counts import PairCounts
from priorwise.counts.information import measure_information
from priorwise.data.cuts import (
    EqualFrequencyDiscretizer,
    EqualWidthDiscretizer,
    KMeansDiscretizer,
    MDLPDiscretizer,
    RankedValues,
    TreeDiscretizer,
    ValueCounts,
    draw_mdlp_cut_points,
    draw_quantile_cut_points,
)
from priorwise.data.cuts.entropy_cuts import entropy_cut_points

DISCRETIZERS: list[Any] = [
    EqualFrequencyDiscretizer(5),
    EqualWidthDiscretizer(5),
    KMeansDiscretizer(5),
    MDLPDiscretizer(),
    TreeDiscretizer(),
    TreeDiscretizer(pruning="none"),
]
WEIGHTS = {
    "smallest": np.full(60, 5e-324),
    "tiny": np.full(60, 1e-300),
    "small": np.full(60, 1e-15),
    "sum of one": np.full(60, 1 / 60),
    "huge": np.full(60, 1e14),
    "one holds all": np.where(np.arange(60) == 30, 9e15, 1e-15),
    "mixed": np.geomspace(1e-300, 1e15, 60),
    "mixed downwards": np.geomspace(1e15, 1e-300, 60),
}


@pytest.fixture
def labelled(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    y = np.arange(60) % 3
    return np.column_stack([rng.normal(size=60) + 2 * y, np.arange(60.0), rng.normal(size=60)]), y


@pytest.mark.filterwarnings("ignore:sample_weight has a sum")
@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("discretizer", DISCRETIZERS, ids=lambda d: str(d))
def test_cut_points_are_finite_and_ascending(
    discretizer: Any, kind: str, labelled: tuple[np.ndarray, np.ndarray]
) -> None:
    X, y = labelled
    for scale in (1.0, 1e-300, 1e300):
        points = discretizer.fit(scale * X, y, sample_weight=WEIGHTS[kind]).cut_points_
        for x, cuts in zip((scale * X).T, points, strict=True):
            assert np.isfinite(cuts).all()
            assert (np.diff(cuts) > 0.0).all()
            assert ((cuts >= x.min()) & (cuts < x.max())).all()


@pytest.mark.parametrize("kind", WEIGHTS)
def test_drawn_cut_points_are_finite_and_ascending(
    kind: str, labelled: tuple[np.ndarray, np.ndarray]
) -> None:
    X, y = labelled
    counts = ValueCounts.count(RankedValues.of(X.T), y, 3, WEIGHTS[kind])
    generator = np.random.default_rng(0)
    for draw in [draw_mdlp_cut_points, draw_quantile_cut_points] * 5:
        for cuts in draw(counts, generator):
            assert np.isfinite(cuts).all()
            assert (np.diff(cuts) > 0.0).all()


@pytest.mark.parametrize("scale", [2.0**-40, 2.0**-500, 2.0**-1000])
def test_gains_do_not_depend_on_the_scale_of_the_weights(
    scale: float, labelled: tuple[np.ndarray, np.ndarray], rng: np.random.Generator
) -> None:
    X, y = labelled
    ranked, classes = RankedValues.of(X.T), y.astype(np.int32)
    weight = rng.uniform(0.5, 3.0, 60)
    weight /= weight.sum()
    expected = entropy_cut_points(ranked, classes, 3, weight, rule="tree", max_depth=3)
    cuts = entropy_cut_points(ranked, classes, 3, weight * scale, rule="tree", max_depth=3)
    for one, other in zip(cuts, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_mdlp_does_not_cut_what_weighs_less_than_two_rows() -> None:
    X, y = np.arange(60.0)[:, None], np.arange(60) >= 30
    ranked, classes = RankedValues.of(X.T), y.astype(np.int32)
    for total, n_cuts in ((1e-9, 0), (1.0, 0), (1.0001, 0), (1.999, 0), (60.0, 1)):
        weight = np.full(60, total / 60)
        (cuts,) = entropy_cut_points(ranked, classes, 2, weight, rule="mdl")
        assert len(cuts) == n_cuts


def test_a_discretiser_warns_of_weights_that_sum_to_one() -> None:
    X, y = np.arange(60.0)[:, None], np.arange(60) >= 30
    with pytest.warns(UserWarning, match="Weights count rows"):
        MDLPDiscretizer().fit(X, y, sample_weight=np.full(60, 1 / 60))


@pytest.mark.parametrize("weight", [1e18, 1e300])
def test_a_discretiser_refuses_weights_beyond_whole_numbers(weight: float) -> None:
    X, y = np.arange(4.0)[:, None], [0, 1, 0, 1]
    with pytest.raises(ValueError, match=r"sample_weight must have a sum of at most 2\*\*53"):
        MDLPDiscretizer().fit(X, y, sample_weight=np.full(4, weight))


@pytest.mark.parametrize("weight", [1e19, 1e300, np.inf, np.nan])
def test_the_kernel_of_cuts_refuses_totals_without_a_logarithm_in_64_bits(weight: float) -> None:
    ranked = RankedValues.of([[0.0, 1.0]])
    with pytest.raises(
        ValueError, match=r"weights must be finite .*, with a sum of at most 2\*\*53"
    ):
        entropy_cut_points(
            ranked, np.array([0, 1], dtype=np.int32), 2, np.full(2, weight), rule="mdl"
        )


CODES = np.array([[0, 1, 1, 0, 1, 0], [0, 1, 0, 0, 1, 1]], dtype=np.int32)
CLASSES = np.array([0, 1, 1, 0, 0, 1], dtype=np.int32)


@pytest.mark.parametrize("scale", [2.0**-60, 2.0**-900, 2.0**40])
def test_information_does_not_depend_on_the_scale_of_the_weights(scale: float) -> None:
    weight = np.array([0.1, 0.25, 0.2, 0.15, 0.05, 0.125])
    expected = measure_information(CODES, CLASSES, [2, 2], 2, weight)
    scaled = measure_information(CODES, CLASSES, [2, 2], 2, weight * scale)
    np.testing.assert_allclose(scaled.mutual, expected.mutual, rtol=1e-12)
    np.testing.assert_allclose(scaled.conditional, expected.conditional, rtol=1e-12)
    kept = PairCounts()
    for first, last in pairwise((0, 2, 6)):
        part = slice(first, last)
        kept.add(CODES[:, part], CLASSES[part], [2, 2], 2, weight[part] * scale)
    np.testing.assert_allclose(kept.information().mutual, expected.mutual, rtol=1e-12)


@pytest.mark.parametrize("weight", [1e18, 4e18, 1e300])
def test_pair_counts_refuse_weights_that_overflow_and_stay_as_they_were(weight: float) -> None:
    message = r"sample_weight must have a sum of at most 2\*\*53"
    with pytest.raises(ValueError, match=message):
        measure_information(CODES, CLASSES, [2, 2], 2, np.full(6, weight))
    kept = PairCounts()
    kept.add(CODES, CLASSES, [2, 2], 2, np.full(6, 2.0**50))
    before = kept.table(0, 1).copy()
    with pytest.raises(ValueError, match=message):
        kept.add(CODES, CLASSES, [2, 2], 2, np.full(6, 2.0**50))
    with pytest.raises(ValueError, match=message):
        kept.merge(kept)
    np.testing.assert_array_equal(kept.table(0, 1), before)


def test_the_kernel_of_pairs_refuses_weights_that_overflow() -> None:
    whole = np.full(6, 2**62)
    arities = np.array([2, 2], dtype=np.int32)
    rule = r" must be finite and not negative, with a sum of at most 2\*\*53"
    for counting in ("fastest", "bits", "dense", "grouped"):
        with pytest.raises(ValueError, match="whole" + rule):
            _core.measure_information(CODES, arities, CLASSES, 2, whole, None, counting, 1)
    margins, cells = np.zeros(8, dtype=np.int64), np.zeros(8, dtype=np.int64)
    with pytest.raises(ValueError, match="whole" + rule):
        _core.add_pair_counts(CODES, arities, CLASSES, 2, whole, None, margins, cells, 1)
    assert not margins.any()
    with pytest.raises(ValueError, match="margins" + rule):
        _core.information_of_counts(margins + 2**62, cells + 2**62, arities, arities, 2, 0, 1)
