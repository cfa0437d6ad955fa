"""Kernels that check what was read from a file, beside their slow twins."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from priorwise.storage.tree_states import _restore_trees, _store_trees

from common.xxhash3 import xxhash3
from priorwise import _core
from priorwise.models.networks.eskdb import ESKDBClassifier
from priorwise.structure.networks import Network
from priorwise.structure.trees import PackedTrees
from reference.forests import link_nodes


def test_the_hash_is_xxh3(rng: np.random.Generator) -> None:
    lengths = [*range(0, 260, 3), 1023, 1024, 1025, 1088, 2048, 2049, 3001]
    for length in lengths:
        data = rng.integers(0, 256, length).astype(np.uint8)
        assert _core.hash_bytes(data) == xxhash3(data.tobytes())
        hashes = [xxhash3(data[i : i + 1000].tobytes()) for i in range(0, length, 1000)]
        joined = b"".join(one.to_bytes(8, "little") for one in hashes)
        assert _core.BlockHash(data, 1000).digest() == xxhash3(joined)
    # By its author's program.
    assert _core.hash_bytes(np.zeros(0, np.uint8)) == 0x2D06800538D394C2
    assert _core.hash_bytes(np.tile(np.arange(256, dtype=np.uint8), 5)) == 0x4844B009E164352E


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_within_bounds_are_finite(dtype: type, rng: np.random.Generator) -> None:
    numbers: NDArray[Any] = rng.uniform(-1.0, 1.0, 50).astype(dtype)
    assert _core.are_within(numbers, -1.0, 1.0)
    assert _core.are_within(numbers, -np.inf, np.inf)
    for wrong in (np.nan, np.inf, -np.inf, 1.5, -1.5):
        numbers[7] = wrong
        assert not _core.are_within(numbers, -1.0, 1.0)
        assert _core.are_within(numbers, -np.inf, np.inf) == np.isfinite(wrong)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 2, 3, 9])
def test_rows_that_are_distributions(dtype: type, width: int, rng: np.random.Generator) -> None:
    rows: NDArray[Any] = rng.dirichlet(np.ones(width), 20).astype(dtype)
    assert _core.are_distributions(rows, 1e-3)
    for wrong in (np.nan, np.inf, -1e-9, rows[4, 0] + 0.002):
        changed = rows.copy()
        changed[4, 0] = wrong
        assert not _core.are_distributions(changed, 1e-3)


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
        start = np.cumsum([0, *map(len, parts)])
        split = np.concatenate(parts)
        n_inner = int((split != 0).sum())
        stored = [start, split, rng.random(n_inner), rng.random(len(split) - n_inner)]
        dtype = (np.int32, np.uint8, np.uint16)[i % 3]
        trees = _restore_trees([start, split.astype(dtype), *stored[2:]])
        np.testing.assert_array_equal(trees.nodes, link_nodes(*stored))
        again = PackedTrees(trees.tree_start, trees.node_bytes)
        assert again.n_features == trees.n_features
        for first, second in zip(_store_trees(again), stored, strict=True):
            np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    ("start", "split", "thresholds", "weights", "match"),
    [
        ([0, 3], [8, 0, 0], [], [1.0, 1.0], "every split must have a threshold"),
        ([0, 3], [8, 0, 0], [0.5], [1.0], "every split must have a threshold"),
        ([0, 3], [-8, 0, 0], [0.5], [1.0, 1.0], "must not be negative"),
        ([0, 4], [8, 0, 0, 0], [0.5], [1.0, 1.0, 1.0], "every node must have a parent"),
        ([0, 3], [8, 8, 0], [0.5, 0.5], [1.0], "every node must have a parent"),
        ([0, 3], [0, 8, 0], [0.5], [1.0, 1.0], "children must stand"),
        ([0, 2], [8, 0, 0], [0.5], [1.0, 1.0], "tree_start must rise"),
        ([0, 2, 1, 3], [8, 0, 0], [0.5], [1.0, 1.0], "tree_start must rise"),
    ],
)
def test_trees_that_cannot_be_linked_are_refused(start, split, thresholds, weights, match) -> None:
    arguments = (
        np.array(start), np.array(split, dtype=np.int32), np.array(thresholds, dtype=float),
        np.array(weights),
    )  # fmt: skip
    with pytest.raises(ValueError, match=match):
        _core.link_trees(PackedTrees, *arguments)


def test_nodes_that_changed_since_they_were_checked_are_refused_when_they_are_made() -> None:
    split: Any = np.array([8, 0, 0], dtype=np.uint8)
    trees: Any = _core.link_trees(PackedTrees, np.array([0, 3]), split, np.ones(1), np.ones(2))
    split[1] = 8
    for _ in range(2):
        with pytest.raises(ValueError, match="every node must have a parent"):
            _ = trees.nodes
    split[1] = 0
    np.testing.assert_array_equal(trees.nodes["first"], [1, 1, 2])


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
