"""Rows as draws: their order, and which equal rows are copies."""

import numpy as np
import pytest

from priorwise.counts import Draws, NumberEquality, hash_rows


def tells_copies(columns: list[np.ndarray], y: np.ndarray) -> bool:
    """Whether equal rows of a table of numbers are copies, as the widest number tells."""
    counts = [np.unique(column, return_counts=True)[1] for column in columns]
    number = NumberEquality.find(np.arange(len(columns)), counts)
    if number is None:
        return False
    others = columns[: number.place] + columns[number.place + 1 :]
    return number.tells_copies(hash_rows(columns, y), hash_rows(others, y))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("joined", [False, True])
def test_the_order_of_draws_depends_on_their_content_alone(
    rng: np.random.Generator, weighted: bool, joined: bool
) -> None:
    hashes = rng.integers(0, 20, 60).astype(np.uint64)
    weight = rng.integers(1, 4, 60).astype(float) if weighted else None
    may_be_copy = hashes % 2 == 0 if joined else None
    order = rng.permutation(60)
    draws = Draws.order(hashes, weight, may_be_copy=may_be_copy)
    moved = Draws.order(
        hashes[order],
        None if weight is None else weight[order],
        may_be_copy=None if may_be_copy is None else may_be_copy[order],
    )
    np.testing.assert_array_equal(hashes[draws.row], hashes[order][moved.row])
    np.testing.assert_array_equal(draws.weight, moved.weight)
    np.testing.assert_array_equal(hashes[draws.row][draws.draw_of_row], hashes)


def test_only_rows_that_may_be_copies_are_joined() -> None:
    hashes = np.array([5, 5, 8, 8, 8], dtype=np.uint64)
    draws = Draws.order(hashes, None, may_be_copy=hashes == 8)
    assert hashes[draws.row].tolist() == [5, 5, 8]
    assert draws.weight is not None
    assert draws.weight.tolist() == [1.0, 1.0, 3.0]


def test_repeated_continuous_numbers_are_copies(rng: np.random.Generator) -> None:
    y = rng.integers(0, 2, 200).astype(np.int32)
    rows = np.repeat(np.arange(200), rng.integers(1, 4, 200))
    for n_numbers in (1, 4):
        columns = [column[rows] for column in rng.normal(size=(n_numbers, 200))]
        assert tells_copies(columns, y[rows])


@pytest.mark.parametrize("n_values", [3, 10, 60])
def test_numbers_of_few_values_are_equal_by_chance(rng: np.random.Generator, n_values: int) -> None:
    columns = list(rng.integers(0, n_values, (2, 400)).astype(float))
    y = rng.integers(0, 2, 400).astype(np.int32)
    assert not tells_copies(columns, y)


def test_many_rows_of_few_different_ones_are_draws(rng: np.random.Generator) -> None:
    values, row = rng.normal(size=40), rng.integers(0, 40, 2_000)
    assert not tells_copies([values[row]], (row % 2).astype(np.int32))
