"""Saved and loaded estimators that are no classifiers are the same, on odd tables too."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import priorwise
from contract.rows.odd_tables import OddTable, make_odd_table
from priorwise import data, smoothing
from priorwise.counts import CountTree
from storage.test_saved import N_TABLES, save_and_load

DISCRETIZERS = [name for name in data.__all__ if name.endswith("Discretizer")]


def odd_tables() -> Iterator[OddTable]:
    """The first tables that can be learnt from."""
    tables = (make_odd_table(seed) for seed in range(10 * N_TABLES))
    return islice((table for table in tables if not table.refusal), N_TABLES)


def finite_numbers(X: pd.DataFrame) -> np.ndarray:
    """The columns of numbers, with zeros for what is not finite, and the numbers of the rows."""
    numbers = X.select_dtypes(["number"]).to_numpy(dtype=float)
    numbers = np.where(np.abs(numbers) < 1e200, numbers, 0.0)
    return np.column_stack([numbers, np.arange(len(X))])


@pytest.mark.parametrize("name", DISCRETIZERS)
def test_a_loaded_discretiser_cuts_alike(name: str, tmp_path: Path) -> None:
    for table in odd_tables():
        numbers, y = finite_numbers(table.X), np.arange(len(table.X)) % 2
        with warnings.catch_warnings(action="ignore"):
            cuts = getattr(data, name)().fit(numbers, y)
        other = save_and_load(cuts, tmp_path / "x.model")
        np.testing.assert_array_equal(other.transform(numbers), cuts.transform(numbers))


def test_a_loaded_network_of_any_graph_answers_alike(tmp_path: Path) -> None:
    n_learnt = 0
    for table in odd_tables():
        columns = {f"c{i}": table.X.iloc[:, i] for i in range(table.X.shape[1])}
        X = pd.DataFrame({name: [f"is {x}" for x in column] for name, column in columns.items()})
        edges = [("c0", name) for name in X.columns[1:]]
        network = priorwise.BayesianNetwork(edges, smoothing="pitman-yor").fit(X)
        other = save_and_load(network, tmp_path / "x.model")
        np.testing.assert_array_equal(other.log_prob(X), network.log_prob(X))
        n_learnt += 1
    assert n_learnt == N_TABLES


def test_loaded_encoders_of_frames_transform_alike(tmp_path: Path) -> None:
    for table in odd_tables():
        with warnings.catch_warnings(action="ignore"):
            encoder = data.FrameEncoder().fit(table.X)
        other: Any = save_and_load(encoder, tmp_path / "x.model")
        np.testing.assert_array_equal(encoder.transform(table.X), other.transform(table.X))


def test_loaded_smoothers_smooth_alike(tmp_path: Path, rng: np.random.Generator) -> None:
    tree = CountTree.from_rows(
        [rng.integers(0, 3, 60).astype(np.int32) for _ in range(2)],
        rng.integers(0, 3, 60).astype(np.int32),
        3,
    )
    for name in smoothing.__all__:
        if name != "Smoother":
            smoother = getattr(smoothing, name)()
            other = save_and_load(smoother, tmp_path / "x.model")
            assert repr(other) == repr(smoother)
            if "cv" in smoother.get_params(deep=False).values() or name == "BestOf":
                continue  # a model chooses the parameters
            np.testing.assert_array_equal(other.smooth(tree), smoother.smooth(tree))
