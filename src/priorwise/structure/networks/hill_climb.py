"""Graphs learnt by hill climbing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from priorwise import _core


def climb_hill(
    columns: Sequence[NDArray[np.int32]],
    arities: Sequence[int],
    weight: NDArray[np.float64] | None = None,
    *,
    score: str = "bic",
    equivalent_sample_size: float = 10.0,
    max_parents: int = 4,
    n_tabu: int = 10,
    n_jobs: int = 1,
) -> list[list[int]]:
    """Return the parents of each column in a graph of large "bic" or "bdeu" score.

    Each step adds, removes or reverses the arc that raises the score most. A code of -1, a missing
    value, counts as a value of its own.

    >>> a = np.array([0, 0, 1, 1] * 5, dtype=np.int32)
    >>> climb_hill([a, a, np.array([0, 1] * 10, dtype=np.int32)], [2, 2, 2])
    [[1], [], []]
    """
    coded, sizes = [], []
    for codes, arity in zip(columns, arities, strict=True):
        has_missing = codes.size > 0 and codes.min() < 0
        coded.append(np.where(codes < 0, np.int32(arity), codes) if has_missing else codes)
        sizes.append(arity + int(has_missing))
    return _core.climb_hill(
        coded,
        np.array(sizes, dtype=np.int32),
        weight,
        score,
        equivalent_sample_size,
        max_parents,
        n_tabu,
        n_jobs,
    )
