"""Rows to boost, and the kernel called with the settings of the tests."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from priorwise import _core
from priorwise.data.columns import Columns
from priorwise.structure.trees import PackedTrees

SCALES = np.array([0.25, 0.5, 1.0])


def make_rows(
    rng: np.random.Generator, n: int, n_classes: int
) -> tuple[list[NDArray[Any]], NDArray[np.int32], NDArray[np.float64], NDArray[np.int32]]:
    """Numbers with some missing, codes, plain numbers; classes, scores to start from and folds."""
    number = rng.integers(0, 20, n) / 4.0
    number[rng.random(n) < 0.2] = np.nan
    code = rng.integers(0, 4, n).astype(np.int32)
    plain = rng.normal(size=n).round(1)
    signal = np.nan_to_num(number, nan=3.0) + 2.0 * (code == 2) * plain
    y = np.digitize(signal + rng.normal(size=n), np.quantile(signal, [0.3, 0.6])[: n_classes - 1])
    offset = log_softmax(0.3 * rng.normal(size=(n, n_classes)), axis=1)
    fold = (np.arange(n) % 5).astype(np.int32)
    return [number, code, plain], y.astype(np.int32), offset, fold


def make_rules(
    *,
    depth: int = 3,
    max_leaves: int = 0,
    symmetric: bool = False,
    rate: float = 0.3,
    n_rounds: int = 6,
    patience: int = 1000,
    max_seconds: float = np.inf,
    row_share: float = 1.0,
    column_share: float = 1.0,
    scales: NDArray[np.float64] = SCALES,
    monotone: tuple[int, ...] = (),
) -> _core.BoostingRules:
    return _core.BoostingRules(
        max_depth=depth, max_leaves=max_leaves, symmetric=symmetric, rate=rate, l2=1.0,
        min_hessian=0.1, max_rounds=n_rounds, patience=patience, max_seconds=max_seconds,
        row_share=row_share, column_share=column_share, seed=7, scales=scales,
        monotone=np.array(monotone, dtype=np.int32),
    )  # fmt: skip


def run(
    columns: list[NDArray[Any]],
    y: NDArray[np.int32],
    offset: NDArray[np.float64],
    fold: NDArray[np.int32],
    weight: NDArray[np.float64] | None = None,
    n_boosters: int = 5,
    n_threads: int = 1,
    **rules: Any,
) -> tuple[PackedTrees, NDArray[np.float64], NDArray[np.float64]]:
    start, nodes, values, loss, _ = _core.boost(
        columns, y, weight, offset, fold, n_boosters, make_rules(**rules), n_threads
    )
    return PackedTrees.from_nodes(start, nodes), values, loss


def as_columns(columns: list[NDArray[Any]]) -> Columns:
    """Columns as a table that has been read."""
    is_nominal = np.array([column.dtype == np.int32 for column in columns])
    codes = [column for column in columns if column.dtype == np.int32]
    values = [column for column in columns if column.dtype != np.int32]
    n_rows = len(columns[0])
    return Columns(
        np.array(codes, dtype=np.int32).reshape(-1, n_rows),
        np.array(values).reshape(-1, n_rows),
        is_nominal,
    )
