"""What all classifiers inherit."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from priorwise.common.records import numbers
from priorwise.models.base import TableClassifier
from priorwise.steps.step import Step


@dataclass(frozen=True, eq=False)
class Constant(Step):
    """The same probabilities for all rows."""

    share: NDArray[np.float64] = numbers("n_classes", least=0.0, most=1.0)

    @property
    def n_classes(self):
        return len(self.share)

    def predict(self, columns, n_threads=1):
        return np.tile(self.share, (columns.n_rows, 1))


class Frequencies(TableClassifier):
    """Answers with the frequencies of the classes in training."""

    learnt: ClassVar = {**TableClassifier.learnt, "_noted": bool, "noted_": bool}

    def __init__(self, fails=False, keeps_private=True, missing="value", n_jobs=None):
        self.fails = fails
        self.keeps_private = keeps_private
        self.missing = missing
        self.n_jobs = n_jobs

    categorical_features = "from_dtype"
    unseen = "backoff"

    def _learn(self, table):
        if self.fails:
            raise RuntimeError("as asked")
        share = np.bincount(table.y, table.weights) / table.weights.sum()
        return {
            "step_": Constant(share),
            "oof_proba_": np.tile(share, (table.n_rows, 1)),
            "_noted" if self.keeps_private else "noted_": True,
        }


def table(n_rows=8):
    X = np.arange(2.0 * n_rows).reshape(n_rows, 2)
    return X, np.array(["a", "b", "b", "b"] * (n_rows // 4))


def test_a_fit_that_raises_leaves_the_model_as_it_was():
    X, y = table()
    model = Frequencies().fit(X, y)
    before = dict(vars(model))
    model.fails = True
    with pytest.raises(RuntimeError):
        model.fit(X[:, :1], np.where(y == "a", "b", "a"))
    with pytest.raises(ValueError, match="y must hold at least 2 classes"):
        model.fit(X, np.zeros(len(X)))
    model.fails = False
    assert vars(model) == before
    assert_array_equal(model.predict_proba(X[:1]), [[0.25, 0.75]])


def test_a_refit_forgets_every_fitted_attribute():
    import pandas as pd

    X, y = table()
    model = Frequencies().fit(pd.DataFrame(X, columns=["p", "q"]), y)
    model.left_by_an_older_version_ = 1
    model.note = "kept"
    model.set_params(keeps_private=False).fit(X[:, :1], y)
    expected = {
        "classes_", "class_count_", "encoder_", "n_features_in_", "noted_", "oof_proba_",
        "set_scores_", "step_", "_rows_to_calibrate",
        *model.get_params(), "note",
    }  # fmt: skip
    assert set(vars(model)) == expected
    assert model.feature_labels_ == ("x0",)


def test_metadata_requests_survive_a_fit():
    X, y = table()
    model = Frequencies()
    model._metadata_request = request = object()
    assert model.fit(X, y)._metadata_request is request


def test_out_of_fold_probabilities_are_in_the_order_of_the_rows_given():
    X, y = table()
    weight = np.array([1.0, 0.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    model = Frequencies().fit(X, y, sample_weight=weight)
    assert model.oof_proba_.shape == (8, 2)
    assert_array_equal(np.isnan(model.oof_proba_).any(axis=1), weight == 0.0)


def test_the_number_of_threads_is_read_when_it_is_used():
    model = Frequencies(n_jobs=2)
    assert model.n_threads == 2
    assert model.set_params(n_jobs=1).n_threads == 1
    model.n_jobs = None
    assert model.n_threads == 1
    with parallel_config(n_jobs=3):
        assert model.n_threads == 3


def test_a_step_that_does_not_say_what_features_add_is_explained_as_a_whole():
    X, y = table()
    explanation = Frequencies().fit(X, y).explain(X)
    assert not explanation.contributions.any()
    assert_allclose(explanation.probabilities, np.tile([0.25, 0.75], (8, 1)))


def test_a_member_reads_like_an_encoder_with_the_same_settings():
    X, y = table()
    encoder = Frequencies().fit(X, y).encoder_
    assert Frequencies().reads_like(encoder)
    assert not Frequencies(missing="impute").reads_like(encoder)
