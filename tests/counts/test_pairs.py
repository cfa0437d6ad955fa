"""Pair counts and information against their slow twins, and their laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from priorwise import _core
from priorwise.counts.information import measure_information
from priorwise.counts.pairs import PairCounts
from reference import pair_information as slow

WAYS = ["fastest", "bits", "dense", "grouped"]


def random_rows(seed, arities, n_rows=700, n_classes=3):
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, n_classes, n_rows).astype(np.int32)
    hidden = rng.integers(0, 4, n_rows)
    codes = np.array(
        [
            np.where(rng.random(n_rows) < 0.4, (hidden + classes) % a, rng.integers(0, a, n_rows))
            for a in arities
        ],
        dtype=np.int32,
    )
    return codes, classes, rng


def assert_same_bits(a, b):
    np.testing.assert_array_equal(a.mutual, b.mutual)
    np.testing.assert_array_equal(a.conditional, b.conditional)
    np.testing.assert_array_equal(a.n_seen, b.n_seen)


@pytest.mark.parametrize(
    ("way", "weights"),
    [
        (way, weights)
        for way in WAYS
        for weights in ("none", "whole", "large whole", "real")
        if (way, weights) != ("bits", "real")  # bits hold whole weights
    ],
)
def test_information_equals_its_definition(way, weights):
    arities = [2, 4, 1, 7, 16, 17, 40, 3]
    codes, classes, rng = random_rows(0, arities)
    weight = {
        "none": None,
        "whole": rng.integers(0, 4, len(classes)),
        "large whole": rng.integers(0, 30, len(classes)),
        "real": rng.uniform(0.0, 2.0, len(classes)),
    }[weights]
    info = measure_information(codes, classes, arities, 3, weight, counting=way)
    w = np.ones(len(classes)) if weight is None else weight
    for i in range(len(arities)):
        expected = slow.mutual(codes[i], classes, arities[i], 3, w)
        assert info.mutual[i] == pytest.approx(expected, abs=1e-11)
        assert info.conditional[i, i] == 0.0
        for j in range(i + 1, len(arities)):
            cells = slow.table(codes[i], codes[j], classes, arities[i], arities[j], 3, w)
            expected = slow.conditional(cells)
            assert info.conditional[i, j] == pytest.approx(expected, abs=1e-11)
            assert info.conditional[j, i] == info.conditional[i, j]


@settings(max_examples=settings().max_examples * 2 // 5)
@given(
    seed=st.integers(0, 10_000),
    arities=st.lists(st.integers(1, 20), min_size=1, max_size=20),
    n_rows=st.integers(1, 1500),
    n_classes=st.integers(1, 5),
)
def test_kept_counts_are_exact_and_every_way_gives_the_same_bits(seed, arities, n_rows, n_classes):
    codes, classes, _ = random_rows(seed, arities, n_rows, n_classes)
    counts = PairCounts()
    counts.add(codes, classes, arities, n_classes)
    for i in range(len(arities)):
        for j in range(i + 1, len(arities)):
            expected = slow.table(
                codes[i], codes[j], classes, arities[i], arities[j], n_classes, np.ones(n_rows)
            )
            np.testing.assert_array_equal(counts.table(i, j), expected)
    info = counts.information()
    for way in WAYS:
        assert_same_bits(
            info, measure_information(codes, classes, arities, n_classes, None, counting=way)
        )


def test_threads_change_no_bit():
    arities = [3] * 30 + [20, 200, 2000]
    codes, classes, rng = random_rows(1, arities, n_rows=3000)
    weight = rng.uniform(size=3000)
    for w in (None, weight):
        one = measure_information(codes, classes, arities, 3, w, n_threads=1)
        assert_same_bits(one, measure_information(codes, classes, arities, 3, w, n_threads=4))


def test_relabelling_and_shuffling_change_no_bit():
    arities = np.array([2, 5, 9, 3, 30])
    codes, classes, rng = random_rows(2, arities)
    info = measure_information(codes, classes, arities, 3)
    features = rng.permutation(5)
    rows = rng.permutation(len(classes))
    shuffled = np.array([rng.permutation(arities[i]).astype(np.int32)[codes[i]] for i in range(5)])[
        features
    ][:, rows]
    relabelled = rng.permutation(3).astype(np.int32)[classes][rows]
    again = measure_information(shuffled, relabelled, arities[features], 3)
    np.testing.assert_array_equal(again.mutual, info.mutual[features])
    np.testing.assert_array_equal(again.conditional, info.conditional[np.ix_(features, features)])


def test_whole_weights_equal_repeated_rows_to_the_bit():
    arities = [2, 6, 25]
    codes, classes, rng = random_rows(3, arities)
    weight = rng.multinomial(len(classes), np.full(len(classes), 1 / len(classes)))
    weighted = measure_information(codes, classes, arities, 3, weight)
    repeated = measure_information(
        np.repeat(codes, weight, axis=1), np.repeat(classes, weight), arities, 3
    )
    assert_same_bits(weighted, repeated)
    assert weighted.total == repeated.total == len(classes)


def test_a_stream_of_batches_equals_all_rows_at_once():
    arities = [2, 5, 9, 30]
    codes, classes, _ = random_rows(4, arities)
    order = np.argsort(codes[3], kind="stable")
    codes, classes = np.ascontiguousarray(codes[:, order]), classes[order]
    counts, other = PairCounts(), PairCounts()
    # Values and classes come up batch by batch, so the tables have to grow.
    for target, begin, end in ((counts, 0, 200), (counts, 200, 450), (other, 450, 700)):
        part, some = codes[:, begin:end], classes[begin:end]
        seen = codes[:, :end].max(axis=1) + 1
        target.add(part, some, seen, 3)
    counts.merge(other)
    assert_same_bits(counts.information(), measure_information(codes, classes, arities, 3))


def test_a_list_of_columns_counts_as_an_array_of_them():
    codes, classes, _ = random_rows(4, [2, 5, 9, 30])
    as_array, as_list = PairCounts(), PairCounts()
    as_array.add(codes, classes, [2, 5, 9, 30], 3)
    as_list.add([row.copy() for row in codes], classes, [2, 5, 9, 30], 3)
    assert_same_bits(as_list.information(), as_array.information())
    assert as_list.n_rows == as_array.n_rows


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_that_follow_each_other_within_a_class_are_counted_once_each(weighted):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, (3, 5000)).astype(np.int32)
    classes = (rng.random(5000) < 0.01).astype(np.int32)
    weight = rng.integers(0, 3, 5000) if weighted else None
    found, expected = (
        measure_information(codes, classes, [4, 4, 4], 2, weight, counting=way)
        for way in ("bits", "dense")
    )
    assert_same_bits(found, expected)


def rows_with_holes(arities):
    codes, classes, rng = random_rows(5, arities)
    is_hole = rng.random(codes.shape) < np.array([0.1, 0.5, 0.0, 0.1, 1.0])[:, None]
    return np.where(is_hole, -1, codes).astype(np.int32), classes, rng


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_only_rows_in_which_the_features_are_known_count(way, weighted):
    arities = [3, 4, 20, 600, 2]
    codes, classes, rng = rows_with_holes(arities)
    weight = rng.integers(0, 4, len(classes)) if weighted else np.ones(len(classes))
    info = measure_information(codes, classes, arities, 3, weight, counting=way)
    for i, x in enumerate(codes):
        known = np.flatnonzero((x >= 0) & (weight > 0))
        for k in range(3):
            assert info.n_seen[i, k] == len(set(x[known][classes[known] == k].tolist()))
        share = weight[known].sum() / weight.sum()
        if share:
            expected = slow.mutual(x[known], classes[known], arities[i], 3, weight[known])
            assert info.mutual[i] == pytest.approx(share * expected, abs=1e-11)
        for j in range(i + 1, len(codes)):
            both = np.flatnonzero((x >= 0) & (codes[j] >= 0))
            share = weight[both].sum() / weight.sum()
            expected = 0.0
            if share:
                cells = slow.table(
                    x[both], codes[j][both], classes[both], arities[i], arities[j], 3, weight[both]
                )
                expected = share * slow.conditional(cells)
            assert info.conditional[i, j] == pytest.approx(expected, abs=1e-11)
            assert info.conditional[j, i] == info.conditional[i, j]
    assert info.mutual[4] == 0.0
    assert (info.conditional[4] == 0.0).all()


def test_kept_counts_whose_last_value_is_missing_give_the_bits_of_the_rows():
    arities = np.array([3, 4, 20, 40, 2], dtype=np.int32)
    codes, classes, _ = rows_with_holes(arities)
    counts = PairCounts()
    filled = np.where(codes < 0, arities[:, None], codes).astype(np.int32)
    for part in np.array_split(np.arange(len(classes)), 3):
        counts.add(filled[:, part], classes[part], arities + 1, 3)
    assert_same_bits(
        counts.information(last_is_missing=True), measure_information(codes, classes, arities, 3)
    )


def test_bias_is_what_independent_features_show_on_average():
    rng = np.random.default_rng(0)
    infos = []
    for _ in range(60):
        codes = rng.integers(0, 4, (2, 800)).astype(np.int32)
        classes = rng.integers(0, 3, 800).astype(np.int32)
        infos.append(measure_information(codes, classes, [4, 4], 3))
    shown = np.mean([info.conditional[0, 1] for info in infos])
    assert infos[0].bias_with(0, np.array([1])) == pytest.approx(3 * 9 / 1600)
    assert shown == pytest.approx(infos[0].bias_with(0, np.array([1]))[0], rel=0.1)


def test_nominals_of_many_values_need_little_memory():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 100_000, (3, 2000)).astype(np.int32)
    classes = rng.integers(0, 2, 2000).astype(np.int32)
    info = measure_information(codes, classes, [100_000] * 3, 2)
    assert np.isfinite(info.conditional).all()


@pytest.mark.parametrize("kernel", ["portable", "neon", "avx2", "avx512"])
@pytest.mark.parametrize("n_words", [8, 56, 64, 200])
def test_popcount_kernels_count_shared_bits(kernel, n_words):
    rng = np.random.default_rng(n_words)
    left, right = rng.integers(0, 2**64, (2, 4, n_words), dtype=np.uint64)
    left[0], right[0] = 2**64 - 1, 2**64 - 1
    shared = _core.shared_bits(kernel, left, right)
    if shared is None:
        pytest.skip(f"this processor has no {kernel}")
    both = left[:, None] & right[None]
    expected = np.unpackbits(both.view(np.uint8), axis=2).sum(axis=2)
    np.testing.assert_array_equal(shared.reshape(4, 4), expected)


def test_codes_out_of_range_are_refused():
    codes = np.array([[0, 1, 2]], dtype=np.int32)
    classes = np.zeros(3, dtype=np.int32)
    with pytest.raises(ValueError, match=r"codes of feature 0 must lie in -1\.\.1, got 2"):
        measure_information(codes, classes, [2], 1)
    with pytest.raises(ValueError, match=r"classes must lie in 0\.\.0, got 1"):
        measure_information(codes, classes + 1, [3], 1)
    with pytest.raises(ValueError, match="sample_weight must be finite and not negative, got -1"):
        measure_information(codes, classes, [3], 1, [1, -1, 0])
    with pytest.raises(ValueError, match="must not be -1"):
        PairCounts().add(np.array([[-1]], dtype=np.int32), [0], [1], 1)


def test_too_many_cells_name_the_limit():
    with pytest.raises(MemoryError, match="max_cells allows 100"):
        PairCounts(max_cells=100).add(np.zeros((2, 1), dtype=np.int32), [0], [11, 10], 1)
