"""The entropy-based cuts against their slow twins, and their laws."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from priorwise import _core
from priorwise.data.columns import RankedValues, ValueCounts
from priorwise.data.cuts.discretise import nearest_boundary
from priorwise.data.cuts.entropy_cuts import MDLPDiscretizer, TreeDiscretizer, entropy_cut_points
from priorwise.data.cuts.names import draw_mdlp_cut_points, draw_quantile_cut_points
from reference import entropy_cuts as slow


def random_problem(seed, n_rows=120, n_classes=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_rows).astype(np.int32)
    values = np.vstack(
        [
            rng.normal(size=n_rows) + y,
            np.round(rng.normal(size=n_rows) * 2 + 2 * y),
            rng.normal(size=n_rows),
            np.sin(3.0 * y) + 0.3 * rng.normal(size=n_rows),
        ]
    )
    return values, y, rng


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("weighted", [False, True])
def test_mdlp_and_trees_equal_their_slow_twins(seed, weighted):
    values, y, rng = random_problem(seed)
    weight = rng.uniform(0.5, 3.0, len(y)) if weighted else np.ones(len(y))
    ranked = RankedValues.of(values)
    given_weight = weight if weighted else None
    twins: list[tuple[str, int, Callable[..., list[float]]]] = [
        ("mdl", 0, slow.mdlp),
        ("tree", 3, partial(slow.tree, depth=3, prune=False)),
        ("pruned_tree", 4, partial(slow.tree, depth=4, prune=True)),
    ]
    for rule, depth, twin in twins:
        cuts = entropy_cut_points(ranked, y, 3, given_weight, rule=rule, max_depth=depth)
        for x, points in zip(values, cuts, strict=True):
            np.testing.assert_allclose(points, twin(x, y, weight, 3), rtol=1e-14)


@pytest.mark.parametrize("seed", range(6))
def test_randomised_mdlp_draws_as_its_slow_twin(seed):
    values, y, _ = random_problem(seed)
    seeds = np.arange(4, dtype=np.uint64) + np.uint64(1000 * seed)
    cuts = entropy_cut_points(RankedValues.of(values), y, 3, rule="random_mdl", seeds=seeds)
    for x, points, feature_seed in zip(values, cuts, seeds, strict=True):
        expected = slow.random_mdlp(x, y, np.ones(len(y)), 3, slow.uniforms(int(feature_seed)))
        np.testing.assert_allclose(points, expected, rtol=1e-14)


@settings(max_examples=settings().max_examples * 2 // 5)
@given(st.integers(0, 10_000), st.permutations(range(4)))
def test_relabelling_classes_and_shuffling_rows_move_no_cut(seed, relabel):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, 60).astype(np.int32)
    x = np.round(rng.normal(size=60) + y * rng.integers(0, 2), 1)
    order = rng.permutation(60)
    for rule, depth in (("mdl", 0), ("tree", 3)):
        cuts = entropy_cut_points(RankedValues.of([x]), y, 4, rule=rule, max_depth=depth)
        again = entropy_cut_points(
            RankedValues.of([x[order]]),
            np.array(relabel, dtype=np.int32)[y][order],
            4,
            rule=rule,
            max_depth=depth,
        )
        np.testing.assert_array_equal(cuts[0], again[0])


def test_threads_change_no_cut():
    values, y, _ = random_problem(1, n_rows=2000)
    one = MDLPDiscretizer(n_jobs=1).fit(values.T, y)
    two = MDLPDiscretizer(n_jobs=3).fit(values.T, y)
    for a, b in zip(one.cut_points_, two.cut_points_, strict=True):
        np.testing.assert_array_equal(a, b)


def test_tree_finds_both_ends_of_a_middle_interval():
    x = np.arange(300.0)
    y = np.zeros(300, dtype=np.int32)
    y[100:200:2] = 1
    rng = np.random.default_rng(0)
    y = np.where(rng.random(300) < 0.02, 1 - y, y)
    tree = TreeDiscretizer(max_depth=3).fit(x[:, None], y).cut_points_[0]
    assert len(tree) >= 2


def test_mdlp_handles_many_classes():
    rng = np.random.default_rng(0)
    y = np.arange(4000) % 1000
    X = (y + rng.uniform(size=4000) * 0.1)[:, None]
    assert np.isfinite(MDLPDiscretizer().fit(X, y).cut_points_[0]).all()


def test_one_class_gives_no_cut():
    assert MDLPDiscretizer().fit([[1.0], [2.0], [3.0]], [7, 7, 7]).n_bins_.tolist() == [1]


def test_neighbouring_doubles_are_cut_apart():
    low = 1.0
    high = np.nextafter(low, 2.0)
    X = np.repeat([[low], [high]], 30, axis=0)
    y = np.repeat([0, 1], 30)
    codes = MDLPDiscretizer().fit(X, y).transform(X).ravel()
    np.testing.assert_array_equal(codes, y)


def test_drawn_cuts_follow_the_generator_and_differ_between_members():
    values, y, _ = random_problem(2, n_rows=500)
    counts = ValueCounts.count(RankedValues.of(values), y, 3)
    draws = [draw_mdlp_cut_points(counts, np.random.default_rng(s)) for s in (0, 0, 1)]
    for a, b in zip(draws[0], draws[1], strict=True):
        np.testing.assert_array_equal(a, b)
    assert any(not np.array_equal(a, b) for a, b in zip(draws[0], draws[2], strict=True))


def test_a_feature_without_an_accepted_cut_still_gets_one():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(1, 50))
    y = rng.integers(0, 2, 50).astype(np.int32)
    ranked = RankedValues.of(values)
    assert len(entropy_cut_points(ranked, y, 2, rule="mdl")[0]) == 0
    counts = ValueCounts.count(ranked, y, 2)
    for seed in range(20):
        assert len(draw_mdlp_cut_points(counts, np.random.default_rng(seed))[0]) == 1


def count_values(values):
    return ValueCounts.count(RankedValues.of(values), np.zeros(values.shape[1], np.int32), 1)


def test_weighted_values_draw_the_cuts_of_repeated_ones():
    values, y, _ = random_problem(4, n_rows=200)
    times = np.random.default_rng(0).integers(1, 4, values.shape[1])
    weighted = ValueCounts.count(RankedValues.of(values), y, 3, times.astype(float))
    repeated = ValueCounts.count(
        RankedValues.of(np.repeat(values, times, axis=1)), np.repeat(y, times), 3
    )
    for draw in (draw_mdlp_cut_points, draw_quantile_cut_points):
        mine, theirs = (draw(c, np.random.default_rng(1)) for c in (weighted, repeated))
        for a, b in zip(mine, theirs, strict=True):
            np.testing.assert_array_equal(a, b)


def test_quantile_cuts_are_midpoints_within_the_number_of_bins():
    rng = np.random.default_rng(0)
    values = np.vstack([rng.normal(size=300), rng.integers(0, 5, 300), np.zeros(300)])
    counts = count_values(values)
    for _ in range(30):
        cuts = draw_quantile_cut_points(counts, rng, min_bins=3, max_bins=6)
        assert len(cuts[0]) <= 5
        for i, points in enumerate(cuts):
            distinct, _ = counts.feature(i)
            middles = (distinct[:-1] + distinct[1:]) / 2
            assert np.isin(points, middles).all()
            assert (np.diff(points) > 0).all()
        assert len(cuts[2]) == 0


def test_half_of_the_quantile_cuts_ignore_a_spike():
    values = np.concatenate([np.zeros(9900), np.arange(1.0, 101.0)])[None]
    rng = np.random.default_rng(0)
    cuts = [draw_quantile_cut_points(count_values(values), rng)[0] for _ in range(50)]
    beyond = np.concatenate(cuts) > 1.0
    assert beyond.mean() > 0.3


def test_the_boundary_nearest_to_a_quantile_is_that_of_its_slow_twin(rng):
    values = [np.sort(rng.choice(500, n, replace=False)).astype(float) for n in (2, 3, 40, 200)]
    weights = [rng.integers(1, 9, len(own)).astype(float) for own in values]
    starts = np.cumsum([0, *map(len, values)])
    feature = rng.integers(0, len(values), 600)
    quantile = np.append(rng.random(598), [0.0, 1.0])
    of_rows = rng.integers(0, 2, 600, dtype=np.uint8)
    below = np.concatenate([np.cumsum(own) for own in weights])
    found = _core.nearest_boundaries(below, starts, feature, quantile, of_rows)
    for f, q, by_rows, place in zip(feature, quantile, of_rows, found, strict=True):
        own = np.cumsum(weights[f] if by_rows else np.ones(len(values[f])))
        assert place == starts[f] + nearest_boundary(own, np.array([q * own[-1]]))[0]


def test_bins_out_of_order_are_refused():
    with pytest.raises(ValueError, match="min_bins and max_bins"):
        draw_quantile_cut_points(
            count_values(np.array([[1.0, 2.0]])), np.random.default_rng(0), min_bins=5, max_bins=4
        )
