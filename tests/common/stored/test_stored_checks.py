"""Kernels that check what was read from a file, beside their slow twins."""

import zlib
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from priorwise import _core
from priorwise.models.networks.eskdb import ESKDBClassifier
from priorwise.structure.networks import Network
from priorwise.structure.trees import PackedTrees
from reference.forests import link_nodes


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_within_bounds_are_finite(dtype: type, rng: np.random.Generator) -> None:
    numbers: NDArray[Any] = rng.uniform(-1.0, 1.0, 50).astype(dtype)
    assert _core.are_within(numbers, -1.0, 1.0)
    assert _core.are_within(numbers, -np.inf, np.inf)
    for wrong in (np.nan, np.inf, -np.inf, 1.5, -1.5):
        numbers[7] = wrong
        assert not _core.are_within(numbers, -1.0, 1.0)
        assert _core.are_within(numbers, -np.inf, np.inf) == np.isfinite(wrong)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_whole_numbers_are_compared_with_limits(dtype: type) -> None:
    numbers: NDArray[Any] = np.array([3, -2, 7], dtype=dtype)
    assert _core.are_within(numbers, -2.0, 7.0)
    assert not _core.are_within(numbers, -1.0, np.inf)
    assert not _core.are_within(numbers, -np.inf, 6.0)
    assert _core.are_within(numbers[:0], 1.0, 0.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 2, 3, 7])
def test_rows_that_sum_to_one_are_distributions(
    dtype: type, width: int, rng: np.random.Generator
) -> None:
    rows: NDArray[Any] = rng.dirichlet(np.ones(width), 33).astype(dtype)
    assert _core.are_distributions(rows)
    assert not _core.are_distributions(rows[:, :0])
    for place in (0, 31, 32):
        for wrong in (np.nan, np.inf, -np.inf, 1.01 + rows[place, -1]):
            changed = rows.copy()
            changed[place, -1] = wrong
            assert not _core.are_distributions(changed)
        changed = np.concatenate([rows, rows], axis=1)
        changed[:, :width] = 0.0
        assert _core.are_distributions(changed)
        changed[place, [0, -1]] += [-0.5, 0.5]
        assert not _core.are_distributions(changed)


def test_limits_between_numbers_of_32_bits_are_kept() -> None:
    single = np.array([0.1], dtype=np.float32)  # slightly above 0.1
    assert _core.are_within(single, 0.1, 1.0)
    assert not _core.are_within(single, 0.0, 0.1)
    assert not _core.are_within(-single, -0.1, 0.0)
    assert not _core.are_within(single, 1e300, np.inf)


@pytest.mark.parametrize("n_bytes", [0, 1, 15, 63, 64, 65, 127, 128, 1000, 4096])
def test_folded_bytes_have_the_same_checksum(n_bytes: int, rng: np.random.Generator) -> None:
    content = rng.integers(0, 256, n_bytes, dtype=np.uint8)
    for start in (0, 1, 0xFFFFFFFF, 0x12345678):
        folded, first = _core.fold_crc32(content, start)
        assert zlib.crc32(folded, first) == zlib.crc32(content.tobytes(), start)


def random_splits(rng: np.random.Generator, size: int = 40) -> np.ndarray:
    """The numbers `split` of the nodes of a random tree, level by level."""
    n_open, split = 1, list[int]()
    while n_open:
        is_inner = rng.random() < (0.6 if len(split) < size else 0.2)
        split.append(16 * int(rng.integers(5)) + 8 if is_inner else 0)
        n_open += 1 if is_inner else -1
    return np.array(split, dtype=np.int32)


def test_linked_trees_are_those_of_the_slow_twin(rng: np.random.Generator) -> None:
    for i in range(30):
        parts = [random_splits(rng, 40 * (i % 3 + 1)) for _ in range(3)]
        start, split = np.cumsum([0, *map(len, parts)]), np.concatenate(parts)
        threshold = rng.random(len(split))
        is_leaf = split == 0
        trees = PackedTrees(start, split, threshold[~is_leaf], threshold[is_leaf])
        np.testing.assert_array_equal(trees.nodes, link_nodes(start, split, threshold))
        assert trees.n_features == split.max() // 16 + 1
        again = PackedTrees.from_nodes(start, trees.node_bytes)
        np.testing.assert_array_equal(again.nodes, trees.nodes)
        np.testing.assert_array_equal(again.split, split)
        np.testing.assert_array_equal(again.threshold, threshold[~is_leaf])
        np.testing.assert_array_equal(again.leaf_weight, threshold[is_leaf])
        np.testing.assert_array_equal(trees.take(1, 2).split, parts[1])


@pytest.mark.parametrize(
    ("start", "split", "n_thresholds", "n_weights", "match"),
    [
        ([0, 3], [8, 0, 0], 0, 2, "every split must have a threshold and every leaf a weight"),
        ([0, 3], [8, 0, 0], 1, 3, "every split must have a threshold and every leaf a weight"),
        ([0, 3], [-8, 0, 0], 1, 2, "must not be negative"),
        ([0, 4], [8, 0, 0, 0], 1, 3, "every node must have a parent"),
        ([0, 3], [8, 8, 0], 2, 1, "every node must have a parent"),
        ([0, 3], [0, 8, 0], 1, 2, "every node must have a parent before it"),
        ([0, 2], [8, 0, 0], 1, 2, "tree_start must rise"),
        ([0, 2, 1, 3], [8, 0, 0], 1, 2, "tree_start must rise"),
        ([0, 0, 3], [8, 0, 0], 1, 2, "tree_start must rise"),
        ([], [], 0, 0, "tree_start must rise"),
    ],
)
def test_trees_that_cannot_be_linked_are_refused(
    start: list[int], split: list[int], n_thresholds: int, n_weights: int, match: str
) -> None:
    starts, splits = np.array(start, dtype=np.int64), np.array(split, dtype=np.int32)
    with pytest.raises(ValueError, match=match):
        PackedTrees(starts, splits, np.zeros(n_thresholds), np.zeros(n_weights))


def test_narrow_arrays_are_widened_to_the_type_that_they_state() -> None:
    start, split = np.array([0, 3]), np.array([24, 0, 0], dtype=np.int32)
    trees = PackedTrees(start, split, np.array([0.5]), np.array([1.0, 2.0]))
    threshold: Any = (trees.threshold.astype(np.float32), "f8")
    weight: Any = (trees.leaf_weight.astype(np.uint8), "f8")
    for narrow in (np.uint8, np.int8, np.uint16, np.int16):
        starts: Any = (start.astype(narrow), "i8")
        splits: Any = (split.astype(narrow), "i4")
        read = PackedTrees(starts, splits, threshold, weight)
        np.testing.assert_array_equal(read.nodes, trees.nodes)
    bytes_ = split.astype(np.uint8)
    for wrong in (
        bytes_,
        (bytes_, "f4"),
        (bytes_, "i8"),
        (bytes_,),
        (split.astype(np.uint32), "i4"),
        (split.astype(np.int64), "i4"),
        (split.astype(np.float32), "i4"),
        (bytes_[:, None], "i4"),
    ):
        refused: Any = wrong
        with pytest.raises(TypeError, match="split must be an array"):
            PackedTrees(start, refused, trees.threshold, trees.leaf_weight)


@pytest.mark.parametrize(("node", "split"), [(0, 0), (1, 8), (0, 16 * 5 + 8)])
def test_splits_of_a_file_that_changes_after_it_was_read_are_refused(node: int, split: int) -> None:
    narrow: Any = np.array([24, 0, 0], dtype=np.uint8), "i4"
    trees = PackedTrees(np.array([0, 3]), narrow, np.zeros(1), np.zeros(2))
    narrow[0][node] = split
    with pytest.raises(ValueError, match="not packed trees"):
        trees.find_parents()


def test_products_that_are_no_network_are_refused(rng: np.random.Generator) -> None:
    X, y = np.array(list("abc"))[rng.integers(0, 3, (80, 4))], rng.integers(0, 2, 80)
    member = ESKDBClassifier(1, max_parents=2, random_state=0).fit(X, y).estimators_[0]
    product = member.cut_network.network
    arities = np.full(4, 3, dtype=np.int32)
    _core.check_network(product, arities)
    for wrong in (arities[:3], arities + 1):
        with pytest.raises(ValueError, match="feature"):
            _core.check_network(product, wrong)
    arguments: Any = product.__reduce__()[1]
    column, n_parents, path = product.column, product.n_parents, product.path
    n_refused = 0
    for _ in range(40):
        columns, paths = column.copy(), path.copy()
        paths[rng.integers(len(path))] = rng.integers(4)
        columns[rng.integers(4)] = rng.integers(4)
        given: list[Any] = [arguments[0], columns, *arguments[2:9], paths, *arguments[10:]]
        changed = _core.FactorProduct(*given)
        parents: list[tuple[int, ...]] = [()] * 4
        for feature, own in zip(columns, np.split(paths, np.cumsum(n_parents)[:-1]), strict=True):
            parents[feature] = tuple(own)
        try:
            Network(tuple(parents), tuple(columns))
        except ValueError:
            n_refused += 1
            with pytest.raises(ValueError, match="factor"):
                _core.check_network(changed, arities)
        else:
            _core.check_network(changed, arities)
    assert 0 < n_refused < 40
