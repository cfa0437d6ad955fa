"""Hill climbing: the kernel against its twin, missing values, threads."""

import numpy as np
import pytest

from priorwise.structure.networks import Network
from priorwise.structure.networks.hill_climb import climb_hill
from structure.networks.slow_graphs import climb, score_family


def draw_columns(n_rows: int = 60) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    a = rng.integers(0, 2, n_rows)
    b = (a + (rng.random(n_rows) < 0.2)) % 2
    c = rng.integers(0, 3, n_rows)
    d = (b + c) % 3
    e = np.where(rng.random(n_rows) < 0.7, d, 0)
    return [column.astype(np.int32) for column in (a, b, c, d, e)]


ARITIES = [2, 2, 3, 3, 3]


def total_score(parents: list[list[int]], score: str, weight: np.ndarray) -> float:
    columns = draw_columns()
    return sum(
        score_family(columns, ARITIES, i, own, weight, score, 10.0) for i, own in enumerate(parents)
    )


@pytest.mark.parametrize("score", ["bic", "bdeu"])
@pytest.mark.parametrize("weighted", [False, True])
def test_without_a_tabu_list_the_kernel_goes_the_way_of_its_twin(
    score: str, weighted: bool
) -> None:
    columns = draw_columns()
    weight = np.ones(60)
    if weighted:
        weight += np.arange(60) % 4 - 0.5
    expected = climb(columns, ARITIES, weight, score, 10.0, 2)
    given = weight if weighted else None
    assert climb_hill(columns, ARITIES, given, score=score, max_parents=2, n_tabu=0) == expected
    better = climb_hill(columns, ARITIES, given, score=score, max_parents=2, n_tabu=10, n_jobs=2)
    Network.from_parents(better)
    assert total_score(better, score, weight) >= total_score(expected, score, weight) - 1e-9


def test_tables_too_large_to_be_dense_have_the_same_score() -> None:
    rng = np.random.default_rng(0)
    many = rng.integers(0, 400, 300).astype(np.int32)
    columns = [many, (many * 7 % 400).astype(np.int32), many // 100]
    arities = [400, 400, 4]
    result = climb_hill(columns, arities, score="bdeu", max_parents=2, n_tabu=0)
    assert result == climb(columns, arities, np.ones(300), "bdeu", 10.0, 2)


def test_missing_is_a_value_and_threads_change_nothing() -> None:
    columns = draw_columns()
    columns[4] = np.where(columns[3] == 0, np.int32(-1), columns[4])
    coded = [*columns[:4], np.where(columns[4] < 0, np.int32(3), columns[4])]
    expected = climb_hill(coded, [*ARITIES[:4], 4])
    assert climb_hill(columns, ARITIES) == climb_hill(columns, ARITIES, n_jobs=2) == expected
