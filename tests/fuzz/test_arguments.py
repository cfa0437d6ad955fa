"""Kernels refuse arrays of another length, codes that do not exist, and no classes at all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fuzz.corpus import argument_names, call_with, copy_argument, valid_calls

pytestmark = pytest.mark.xdist_group("one corpus")

SHORTER: dict[str, list[str]] = {
    "CountTree": ["parent", "value", "row_start", "outcome", "parent_cell", "counts"],
    "Factor": ["log_p"],
    "build_factor": ["p"],
    "count_leaves": ["value", "leaf", "outcome"],
    "cross_fit_network": ["y", "block"],
    "fit_conditional": ["features", "offset", "y", "centre", "penalty"],
    "fit_logistic": ["index", "value", "y", "fold"],
    "predict_logistic": ["index", "value", "fold"],
    "nearest_boundaries": ["below", "feature", "quantile", "of_rows"],
    "sum_log_losses": ["y", "weight"],
    "SubmodelLosses": ["weights", "probabilities", "class_count"],
    "leave_one_out_losses": ["y"],
    "predict_joint": ["columns"],
    "sample_process": ["group", "passed"],
    "solve_process": ["group"],
}
"""Arguments that say by their length how many rows, nodes, cells or classes there are."""

NOT_THERE: dict[str, list[str]] = {
    "CountTree": ["parent", "outcome", "parent_cell"],
    "count_leaves": ["parent", "leaf", "outcome"],
    "FactorTrees": ["columns"],
    "cross_fit_network": ["y", "block", "columns"],
    "fit_conditional": ["y"],
    "fit_logistic": ["index", "y"],
    "predict_logistic": ["index"],
    "sum_log_losses": ["y"],
    "leave_one_out_losses": ["y", "columns"],
    "predict_joint": ["columns"],
}
"""Arguments that hold codes."""

NO_CLASSES: list[tuple[str, dict[str, Any]]] = [
    ("Factor", {"n_classes": 0}),
    ("FactorProduct", {"log_prior": np.zeros(0)}),
    ("FactorTrees", {"n_classes": 0}),
    ("join_products", {"products": [], "log_prior": np.zeros(0)}),
    ("entropy_cuts", {"n_classes": 0, "classes": np.zeros(40, np.int32)}),
    ("find_superparents", {"n_classes": 0}),
    ("fit_conditional", {"features": np.zeros((32, 0, 8), np.float32), "offset": np.zeros(0)}),
    ("fit_logistic", {"weights": np.zeros((5, 0, 26))}),
    ("predict_logistic", {"weights": np.zeros((5, 0, 26))}),
    ("softmax", {"scores": np.zeros((40, 0))}),
    ("SubmodelLosses", {"factors": [], "class_count": np.zeros(0)}),
    ("measure_information", {"n_classes": 0}),
    ("normalise_joint", {"joint": np.zeros((40, 0)), "log_prior": np.zeros(0)}),
    ("grow_best_tree", {"n_outcomes": 0}),
    ("grow_random_forest", {"n_outcomes": 0}),
    ("count_leaves", {"n_outcomes": 0}),
    ("CountTree", {"n_outcomes": 0}),
]


def argument(name: str, place: str) -> Any:
    """An argument of the first valid call."""
    call = valid_calls().calls[name][0]
    return copy_argument(call.arguments[argument_names(name).index(place)])


def pairs(places: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(name, place) for name, listed in places.items() for place in listed]


@pytest.mark.parametrize(("name", "place"), pairs(SHORTER))
def test_an_array_that_is_one_entry_short_is_refused(name: str, place: str) -> None:
    with pytest.raises(ValueError, match=r"\w+ "):
        call_with(name, {place: argument(name, place)[:-1]})


@pytest.mark.parametrize("code", [-2, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize(("name", "place"), pairs(NOT_THERE))
def test_a_code_that_does_not_exist_is_refused(name: str, place: str, code: int) -> None:
    given = argument(name, place)
    for array in given if isinstance(given, list) else [given]:
        array.reshape(-1)[-1] = code
    with pytest.raises(ValueError, match=r"\w+ "):
        call_with(name, {place: given})


@pytest.mark.parametrize(("name", "changes"), NO_CLASSES, ids=[name for name, _ in NO_CLASSES])
def test_no_classes_are_refused(name: str, changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"\w+ "):
        call_with(name, changes)
