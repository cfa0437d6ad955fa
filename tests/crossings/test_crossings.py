"""Each way out of a model gives Python's probabilities, or is refused by an error that says why."""

from __future__ import annotations

import tempfile
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crossings.cells import CLASSES, MODELS, NETWORKS, WEIGHTS, Cell, learn
from crossings.columns import KINDS
from crossings.pairs import cover_pairs
from crossings.ways import WAYS, Place

pytestmark = pytest.mark.xdist_group("browser")

FACTORS = {
    "kind": list(KINDS),
    "classes": list(CLASSES),
    "weights": list(WEIGHTS),
    "model": list(MODELS),
    "way": list(WAYS),
}


def is_possible(row: dict[str, str]) -> bool:
    """Whether there is such a cell: only networks merge, and sources have no weights of rows."""
    way = row.get("way")
    if way == "merge":
        return row.get("model", "TAN") == "TAN"
    return way not in ("fit_dataset", "Dask") or row.get("weights") != "row weights"


def find_refusal(cell: Cell) -> str:
    """What the error must say if the way out is refused; empty if it is not."""
    if cell.way == "ONNX" and cell.model in NETWORKS:
        return "with networks"
    if cell.kind == "empty-name" and cell.way in ("DuckDB", "PostgreSQL", "ONNX"):
        return f"(?i){cell.way[:6]}.* of the name ''"
    if cell.weights == "class weights" and cell.way in ("fit_dataset", "Dask", "merge"):
        # To merge, these tests learn in parts.
        method = "partial_fit" if cell.way == "merge" else "fit_dataset"
        return f"class_weight must be None for {method}"
    return ""


def check(cell: Cell, request: pytest.FixtureRequest) -> None:
    learnt = learn(cell.kind, cell.classes, cell.weights, cell.model)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of unseen values and of dates
        place = Place(Path(folder), request)
        if refusal := find_refusal(cell):
            with pytest.raises((ValueError, TypeError), match=refusal):
                WAYS[cell.way](learnt, place)
            return
        found = WAYS[cell.way](learnt, place)
    assert found.shape == learnt.proba.shape
    np.testing.assert_allclose(found, learnt.proba, rtol=0, atol=1e-9)


# What is learnt recurs with other ways out.
CELLS = [
    Cell(**row)
    for row in cover_pairs(FACTORS, is_possible, recurring=("kind", "classes", "weights", "model"))
]


# Neighbours share a model, which is learnt once.
@pytest.mark.parametrize("cell", sorted(CELLS, key=str), ids=str)
def test_a_cell_of_all_pairs(cell: Cell, request: pytest.FixtureRequest) -> None:
    check(cell, request)


@st.composite
def draw_cells(draw: Any) -> Cell:
    row = {name: draw(st.sampled_from(values)) for name, values in FACTORS.items()}
    return Cell(**row)


# `make fuzz` draws others in every run.
@settings(max_examples=settings().max_examples // 10)
@given(cell=draw_cells().filter(lambda cell: is_possible(asdict(cell))))
def test_a_random_cell(cell: Cell, request: pytest.FixtureRequest) -> None:
    check(cell, request)
