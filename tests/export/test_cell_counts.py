"""Counts of weighted networks are found from their scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from priorwise import ESKDBClassifier
from priorwise.export import export_json
from priorwise.export.json_file import find_cell_counts
from priorwise.export.layout import ExportedModel


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 12, (400, 3)), rng.normal(size=(400, 2))])
    return X, (X[:, 0] + X[:, 3] > rng.normal(6, 2, 400)).astype(int)


def fit(X, y, **weight):
    model = ESKDBClassifier(3, max_parents=2, categorical_features=[0, 1, 2], random_state=0)
    return model.fit(X, y, **weight)


def find_counts(model: Any) -> Any:
    arrays = ExportedModel(model).lay_out(model.step_, 0)
    return find_cell_counts(model.step_, arrays)


def test_counts_of_classes_add_up_to_those_of_all(rows):
    model = fit(*rows)
    counts = find_counts(model)
    assert counts.is_counted.all()
    product = model.estimators_[0].cut_network.network
    assert product.is_dense[0]  # Entries list all outcomes: those of all classes, of either class.
    root, first, second = counts.count[: 3 * product.n_outcomes[0]].reshape(3, -1)
    assert_array_equal(root, first + second)
    assert root.sum() == product.n_rows[0]
    stored = export_json(model)["model"]["step"]
    assert stored["score"]["shape"] == stored["rest"]["shape"] == [0]


def test_scores_are_kept_where_weights_are_no_counts(rows):
    X, y = rows
    counts = find_counts(fit(X, y, sample_weight=np.linspace(0.5, 2.0, len(y))))
    assert counts is None or not counts.is_counted.all()
