"""Costs by label say the same as costs in the order of the classes."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from priorwise.common.costs import check_cost_matrix

CLASSES = np.array(["bad", "good", "odd"])
COSTS = np.array([[0.0, 5.0, 2.0], [1.0, 0.0, 3.0], [4.0, 6.0, -1.0]])
SHUFFLED = [2, 0, 1]


def as_dict(costs, labels):
    return {i: dict(zip(labels, row, strict=True)) for i, row in zip(labels, costs, strict=True)}


def test_dicts_and_frames_in_any_order_are_the_same_costs():
    labels, costs = CLASSES[SHUFFLED].tolist(), COSTS[np.ix_(SHUFFLED, SHUFFLED)]
    frame = pd.DataFrame(costs, index=labels, columns=labels)
    for given in (
        as_dict(costs, labels),
        frame,
        frame.T[::-1].T,
        pl.DataFrame(costs, schema=labels),
    ):
        np.testing.assert_array_equal(check_cost_matrix(given, CLASSES), COSTS)
    np.testing.assert_array_equal(check_cost_matrix(pd.DataFrame(COSTS), CLASSES), COSTS)


def test_numbers_and_booleans_are_labels():
    for labels in ([0, 1], [False, True], [3, 7]):
        costs, classes = [[0.0, 2.0], [3.0, 0.0]], np.array(labels)
        frame = pd.DataFrame(costs, index=labels, columns=labels)
        for given in (as_dict(costs, labels), frame, frame.iloc[::-1, ::-1]):
            np.testing.assert_array_equal(check_cost_matrix(given, classes), costs)


def test_only_the_right_class_may_be_left_out():
    given = {"a": {"b": 5}, "b": {"a": 1, "b": 2}}
    np.testing.assert_array_equal(check_cost_matrix(given, np.array(["a", "b"])), [[0, 5], [1, 2]])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"bad": {"good": 1, "odd": 1}}, r"cost_matrix must have each of the classes .*'odd'"),
        (as_dict(COSTS[:, :3], ["bad", "good", "typo"]), "got .*'typo'"),
        ({"bad": {"good": 1}, "good": {}, "odd": {}}, r"cost_matrix\['bad'\] must have each of"),
        (
            {"bad": 1, "good": 2, "odd": 3},
            "must be a dict of dicts.*got 1 for the true class 'bad'",
        ),
        (
            pd.DataFrame(COSTS, columns=["bad", "good", "no"]),
            "the columns of cost_matrix must have",
        ),
        (pd.DataFrame(COSTS, columns=CLASSES), "the rows of cost_matrix must have each"),
        (as_dict(np.full((3, 3), np.nan), CLASSES.tolist()), "must be finite"),
    ],
)
def test_other_labels_are_refused_by_name(given, message):
    with pytest.raises((ValueError, TypeError), match=message):
        check_cost_matrix(given, CLASSES)
