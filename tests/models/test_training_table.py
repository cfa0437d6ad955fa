"""The table that every estimator learns from."""

import numpy as np
from numpy.testing import assert_array_equal

from priorwise.data.cuts.names import WholeRange, learn_cut_points
from priorwise.data.encoding import TableEncoder
from priorwise.models.training_table import TrainingTable


def test_cuts_learnt_later_are_those_learnt_while_reading(rng):
    y = rng.integers(0, 2, 200)
    X = np.column_stack([y + rng.normal(size=200), rng.normal(size=200)])
    weight = rng.integers(1, 3, 200)
    uncut = TrainingTable.read(TableEncoder(discretizer=WholeRange()), X, y, weight)
    cut = TrainingTable.read(TableEncoder(discretizer="mdlp"), X, y, weight)
    later = learn_cut_points("mdlp", uncut.columns.values, uncut.y, uncut.weight)
    for given, expected in zip(later, cut.encoder.cut_points_, strict=True):
        assert_array_equal(given, expected)
    encoder = uncut.encoder.with_cuts("mdlp", later)
    assert_array_equal(encoder.transform(X), cut.encoder.transform(X))
    assert_array_equal(uncut.cut(later).columns, encoder.transform(X))
    assert all(len(points) == 0 for points in uncut.encoder.cut_points_)
