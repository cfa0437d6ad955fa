"""Labels that are equal in Python but of different types."""

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest

from priorwise import KDBClassifier, NaiveBayesClassifier
from priorwise.data.encoding import TableEncoder
from priorwise.data.survey import LabelCounts
from priorwise.data.tables.categories import sorted_labels
from priorwise.data.tables.label_keys import NominalColumn, factorise_array

MIXED = [True, 1, "a", False, 0, 1.0, 2.5, None, 2]


def as_column(labels: list[Any]) -> np.ndarray:
    column = np.empty((len(labels), 1), dtype=object)
    column[:, 0] = labels
    return column


def kinds(labels: list[Any]) -> list[Any]:
    return [(isinstance(label, bool), label) for label in labels]


def test_booleans_differ_from_numbers_and_equal_numbers_are_one_label() -> None:
    column = factorise_array(np.array(MIXED, dtype=object))
    labels = [True, 1, "a", False, 0, 2.5, 2]
    assert kinds(column.labels) == kinds(labels)
    assert column.codes.tolist() == [0, 1, 2, 3, 4, 1, 5, -1, 6]


@pytest.mark.parametrize(
    "make", [as_column, lambda rows: pd.DataFrame({"x": as_column(rows)[:, 0]})]
)
def test_codes_do_not_depend_on_the_order_of_rows(make: Any) -> None:
    encoder = TableEncoder(categorical_features=[0])
    expected = None
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(len(MIXED))
        rows = [MIXED[i] for i in order]
        codes = encoder.fit_transform(make(rows))[0]
        back = np.empty_like(codes)
        back[order] = codes
        expected = back if expected is None else expected
        np.testing.assert_array_equal(back, expected)
    assert expected is not None
    assert expected[0] != expected[1]
    assert expected[1] == expected[5]


@pytest.mark.parametrize("model", [NaiveBayesClassifier(), KDBClassifier()], ids=str)
def test_predictions_do_not_depend_on_the_order_of_rows(model: Any) -> None:
    rows = [True, 1, "x", True, 1, "x", 1, True] * 3
    X, y = as_column(rows), np.array([0, 1, 0, 0, 1, 1, 1, 0] * 3)
    asked = as_column([True, 1, 1.0, "x"])
    expected = model.fit(X, y).predict_proba(asked)
    np.testing.assert_allclose(
        model.fit(X[::-1], y[::-1]).predict_proba(asked), expected, rtol=1e-12
    )
    assert expected[0, 0] > 0.5 > expected[1, 0]
    np.testing.assert_array_equal(expected[1], expected[2])


def test_sorting_does_not_depend_on_which_of_two_equal_numbers_came_first() -> None:
    for one in (1, 1.0):
        for labels in itertools.permutations([one, 2.5, "a", True]):
            assert kinds(sorted_labels(list(labels))) == kinds([True, 1, 2.5, "a"])


def test_batches_may_bring_a_boolean_and_its_number_in_any_order() -> None:
    def column(label: Any) -> NominalColumn:
        return NominalColumn([label], np.zeros(2, dtype=np.int32))

    for first, second in itertools.permutations([True, 1]):
        learnt, _ = LabelCounts.of(column(first)).to_categories(frozenset(), "value")
        counts = LabelCounts.of(column(second))
        categories, _ = counts.to_categories(frozenset(), "value", learnt)
        assert kinds(categories.labels) == kinds([first, second])
        assert categories.counts == [2.0, 2.0]
        counts = LabelCounts([first], np.array([[2, 1]]))
        merged = counts.merge(LabelCounts([second], np.array([[0, 3]])))
        assert kinds(merged.labels) == kinds([first, second])
        assert merged.counts.tolist() == [[2, 1], [0, 3]]


def test_a_column_may_change_from_booleans_to_numbers_after_training() -> None:
    encoder = TableEncoder(categorical_features=[0]).fit(as_column([True, False, True]))
    assert encoder.transform(as_column([1, 0, 1.0, 2]))[0].tolist() == [1, 0, 1, -1]
    encoder = TableEncoder(categorical_features=[0]).fit(as_column(["x", 0, 1]))
    assert encoder.transform(as_column([True, False, "x"]))[0].tolist() == [1, 0, 2]
