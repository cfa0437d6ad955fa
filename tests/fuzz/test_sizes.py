"""Numbers that ask for more memory than the arrays of a call account for are refused by name."""

from __future__ import annotations

import resource
from typing import Any

import numpy as np
import pytest

from fuzz.corpus import call_with, valid_calls
from priorwise import _core
from priorwise.counts import CountTree

pytestmark = pytest.mark.xdist_group("one corpus")

LARGEST = 2**31 - 1
ONE_COLUMN = [np.zeros(3, np.int32)]
TREE = CountTree.from_rows([], ONE_COLUMN[0], 1)
NO_FEATURES = _core.PiecewiseScore(
    np.zeros(2), np.zeros(1, np.int64), np.zeros(0), np.zeros(0), np.zeros(0), 8.0,
    np.zeros(1, np.int64), np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0),
)  # fmt: skip

HOSTILE: list[tuple[str, dict[str, Any], str]] = [
    ("entropy_cuts", {"n_classes": LARGEST}, "n_classes"),
    ("Factor", {"n_classes": LARGEST}, "n_classes"),
    ("find_superparents", {"n_classes": 2**20}, "n_classes"),
    ("find_superparents", {"arities": np.full(4, LARGEST, np.int32)}, "arities x n_classes"),
    ("grow_best_tree", {"n_outcomes": LARGEST}, "n_outcomes"),
    ("grow_random_forest", {"n_outcomes": LARGEST}, "n_outcomes"),
    ("count_forest", {"n_outcomes": 2**24}, "n_outcomes"),
    ("smooth_forest", {"n_outcomes": 2**24}, "n_outcomes"),
    ("sum_out_of_bag", {"n_outcomes": 2**24}, "n_outcomes"),
    ("count_leaves", {"n_outcomes": 2**24, "dense": True}, "n_outcomes"),
    ("measure_information", {"n_classes": 2**24}, "arities x n_classes"),
    (
        "measure_information",
        {"arities": np.full(4, 2**15, np.int32), "counting": "dense"},
        "arities x arities x n_classes",
    ),
    ("sample_process", {"n_draws": LARGEST}, "n_draws"),
    (
        "fill_count_trees",
        {
            "columns": ONE_COLUMN,
            "arity": np.array([2**28], np.int32),
            "targets": [0],
            "paths": [[]],
            "max_dense_outcomes": LARGEST,
            "weight": None,
        },
        "arity",
    ),
    ("find_tree_nodes", {"tree": TREE, "path": [], "n_rows": 2**53}, "n_rows"),
    ("build_factor", {"n_classes": LARGEST}, "n_classes"),
    (
        "rank_values",
        {"values": np.zeros((2**40, 0)), "ranks": np.zeros((2**40, 0), np.int32)},
        "the number of features",
    ),
    (
        "predict_pieces",
        {
            "pieces": NO_FEATURES,
            "codes": np.zeros((0, 2**40), np.int32),
            "values": np.zeros((0, 2**40)),
        },
        "the number of rows",
    ),
    (
        "predict_kernel_scores",
        {
            "row_index": np.zeros((2**40, 0), np.int32),
            "row_value": np.zeros((2**40, 0), np.float32),
            "index": np.zeros((0, 1), np.int32),
            "value": np.zeros((0, 1), np.float32),
            "intercept": np.zeros(2),
            "coefficient": np.zeros((2, 1)),
        },
        "the number of rows",
    ),
    (
        "average_networks",
        {
            "networks": [
                _core.CutNetwork(
                    _core.join_products([], np.zeros(2)), np.zeros(0), np.zeros(0, np.int32)
                )
            ],
            "values": np.zeros((0, 2**30)),
            "missing_seen": np.zeros(0, np.int32),
            "positions": np.zeros(0, np.int64),
            "codes": np.zeros((0, 2**30), np.int32),
        },
        "the number of rows",
    ),
]


@pytest.mark.parametrize(
    ("name", "changes", "named"), HOSTILE, ids=[f"{name}-{named}" for name, _, named in HOSTILE]
)
def test_a_number_that_asks_for_too_much_memory_is_refused_before_any_is_taken(
    name: str, changes: dict[str, Any], named: str
) -> None:
    valid_calls()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ValueError, match=f"^{named} is too large, got .* bytes"):
        call_with(name, changes)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**17  # KB


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("entropy_cuts", {"n_classes": 100_000}),
        ("Factor", {"n_classes": 10_000}),
        ("find_superparents", {"n_classes": 1_000}),
        ("grow_best_tree", {"n_outcomes": 100_000}),
        ("grow_random_forest", {"n_outcomes": 2_000}),
        ("smooth_forest", {"n_outcomes": 2_000}),
        ("count_leaves", {"n_outcomes": 10_000, "dense": True}),
        ("measure_information", {"n_classes": 10_000}),
        ("sample_process", {"n_draws": 8_000}),
        ("find_tree_nodes", {"tree": TREE, "path": [], "n_rows": 10**6}),
    ],
)
def test_numbers_far_beyond_those_of_the_rows_are_accepted(
    name: str, changes: dict[str, Any]
) -> None:
    call_with(name, changes)
