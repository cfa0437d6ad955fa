"""Members of pools and of the flagship: whatever classifiers they are, and what they are given."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from priorwise import (
    LogLinearPool,
    NaiveBayesClassifier,
    PriorwiseClassifier,
    SplineLogisticClassifier,
)
from priorwise.common.records import numbers
from priorwise.models.base import TableClassifier
from priorwise.steps.linear.logistic import Pieces
from priorwise.steps.pool import Reread
from priorwise.steps.step import Step
from reference.log_odds import against_others

FAST = [("line", SplineLogisticClassifier()), ("bayes", GaussianNB())]


MEMBERS = [("line", SplineLogisticClassifier()), ("bayes", NaiveBayesClassifier())]


def fractional_weights(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.random(n) + 0.2


@dataclass(frozen=True, eq=False)
class CountsThreads(Step):
    """Answers with frequencies and writes down how many threads it had."""

    share: Any = numbers("n_classes")
    log: list[int] = field(default_factory=list)

    @property
    def n_classes(self):
        return len(self.share)

    def predict(self, columns, n_threads=1):
        self.log.append(n_threads)
        return np.tile(self.share, (columns.n_rows, 1))


class LearnsThreads(TableClassifier):
    """Learns frequencies and writes down how many threads it had."""

    def __init__(self, log=None, n_jobs=None):
        self.log = log
        self.n_jobs = n_jobs

    categorical_features, missing, unseen = "from_dtype", "value", "backoff"

    def _learn(self, table):
        self.log.append(self.n_threads)
        return {"step_": CountsThreads(np.bincount(table.y) / table.n_rows, self.log)}

    def __sklearn_clone__(self):
        return LearnsThreads(self.log, self.n_jobs)


class OtherClasses(ClassifierMixin, BaseEstimator):
    """Gives its classes other names."""

    def fit(self, X, y):
        self.classes_ = np.array([f"class {label}" for label in np.unique(y)])
        return self

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1.0 / len(self.classes_))


def test_pools_can_be_members_of_pools() -> None:
    X, y = load_iris(return_X_y=True)
    inner = LogLinearPool([("line", SplineLogisticClassifier()), ("bayes", NaiveBayesClassifier())])
    mixed = LogLinearPool(FAST)
    flagship = PriorwiseClassifier("fast")
    outer = LogLinearPool(
        [("inner", inner), ("mixed", mixed), ("flagship", flagship)], random_state=0
    ).fit(X, y)
    assert outer.oof_proba_.shape == (150, 3)
    assert (outer.oof_proba_.argmax(axis=1) == y).mean() > 0.9
    np.testing.assert_allclose(outer.predict_proba(X).sum(axis=1), 1.0)
    for member in outer.estimators_.values():
        assert not hasattr(member, "oof_proba_")
    log_p = np.log(outer.predict_proba(X[:20]))
    explanation = outer.explain(X[:20])
    np.testing.assert_allclose(explanation.log_odds, against_others(log_p), atol=1e-9)


def test_the_flagship_takes_members_of_its_own_kind_and_of_others(
    rng: np.random.Generator,
) -> None:
    frame = pd.DataFrame(
        {"colour": rng.choice(["red", "green", "blue"], 700), "size": rng.normal(size=700)}
    )
    y = np.where((frame["colour"] == "red") ^ (frame["size"] > 0), "yes", "no")
    coded = make_column_transformer((OrdinalEncoder(), ["colour"]), remainder="passthrough")
    tree = make_pipeline(coded, DecisionTreeClassifier(min_samples_leaf=5))
    members = [("line", SplineLogisticClassifier()), ("tree", tree)]
    model = PriorwiseClassifier("fast", estimators=members, random_state=0).fit(frame, y)
    assert list(model.estimators_) == ["line", "tree"]
    assert list(model.pool_weights_) == ["line", "tree"]
    assert model.pool_weights_["tree"] > model.pool_weights_["line"]
    assert (model.predict(frame) == y).mean() > 0.95
    again = PriorwiseClassifier("fast", estimators=members, random_state=0).fit(frame, y)
    np.testing.assert_array_equal(model.predict_proba(frame), again.predict_proba(frame))
    log_p = np.log(model.predict_proba(frame))
    explanation = model.explain(frame)
    np.testing.assert_allclose(explanation.log_odds, against_others(log_p), atol=1e-9)
    assert (explanation.members["tree"].contributions == 0.0).all()


@pytest.mark.parametrize("estimators", [None, MEMBERS])
def test_all_members_take_the_features_as_the_pool_does(
    rng: np.random.Generator, estimators
) -> None:
    X = pd.DataFrame({"code": rng.integers(0, 5, 200), "size": rng.normal(size=200)})
    y = np.where(X["code"].isin([0, 3]) + X["size"] > 1, "yes", "no")
    settings = {"effort": "fast", "estimators": estimators, "random_state": 0}
    model = PriorwiseClassifier(**settings, categorical_features=["code"]).fit(X, y)
    for name, member in model.estimators_.items():
        assert member.encoder_.is_nominal_.tolist() == [True, False], name
    streamed = PriorwiseClassifier(**settings).fit_dataset(
        X.assign(y=y), "y", categorical_features=["code"]
    )
    np.testing.assert_array_equal(streamed.predict_proba(X), model.predict_proba(X))
    assert streamed.categorical_features == "from_dtype"


def test_a_member_keeps_a_parameter_of_reading_that_was_given_to_it() -> None:
    X = pd.DataFrame({"a": ["a", "b", "a"] * 10, "b": [1.0, None, 3.0] * 10})
    y = ["x", "y", "y"] * 10
    members = [
        ("ignores", NaiveBayesClassifier(missing="ignore")), ("reads", NaiveBayesClassifier())
    ]  # fmt: skip
    pool = LogLinearPool(members, missing="impute").fit(X, y)
    assert pool.estimators_["ignores"].missing == "ignore"
    assert pool.estimators_["reads"].missing == "impute"
    with pytest.raises(ValueError, match=r"estimators must be .* parameters of reading"):
        LogLinearPool(members).fit_dataset(X.assign(y=y), "y")


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "list", "array"])
def test_members_of_other_kinds_are_given_rows_of_the_table_that_was_given(library: str) -> None:
    X, y = load_iris(return_X_y=True)
    pool = LogLinearPool(FAST, random_state=0).fit(X, y)
    frame = pd.DataFrame(X, columns=list("abcd"))
    tables = {
        "pandas": lambda: frame,
        "polars": lambda: pytest.importorskip("polars").from_pandas(frame),
        "pyarrow": lambda: pytest.importorskip("pyarrow").Table.from_pandas(frame),
        "list": lambda: X.tolist(),
        "array": lambda: X,
    }
    table = tables[library]()
    if library == "pyarrow":
        # scikit-learn's own classifiers do not read Arrow tables.
        members = [("line", SplineLogisticClassifier()), ("impute", SplineLogisticClassifier())]
        members[1][1].set_params(missing="impute")
        same = LogLinearPool(members, random_state=0).fit(table, y)
        assert [type(one) for one in same.step_.members] == [Pieces, Reread]
        return
    same = LogLinearPool(FAST, random_state=0).fit(table, y)
    np.testing.assert_allclose(same.predict_proba(table), pool.predict_proba(X), rtol=1e-12)


def test_a_member_that_reads_tables_in_another_way_reads_its_own(rng: np.random.Generator) -> None:
    X = rng.normal(size=(200, 2))
    X[::3, 0] = np.nan
    y = np.isnan(X[:, 0]).astype(int)
    members = [
        ("value", SplineLogisticClassifier()),
        ("impute", SplineLogisticClassifier(missing="impute")),
    ]
    pool = LogLinearPool(members, random_state=0).fit(X, y)
    assert pool.estimators_["value"].score(X, y) == 1.0
    assert pool.estimators_["impute"].score(X, y) < 0.97
    assert pool.predict_proba(X).shape == (200, 2)


def test_a_member_with_other_classes_is_refused_by_name() -> None:
    X, y = load_iris(return_X_y=True)
    members = [("line", SplineLogisticClassifier()), ("other", OtherClasses())]
    for pool in (LogLinearPool(members), PriorwiseClassifier(estimators=members)):
        with pytest.raises(ValueError, match=r"member 'other' must have the classes of the pool"):
            pool.fit(X, y)


def test_pipelines_are_given_weights(rng: np.random.Generator) -> None:
    X, y = load_iris(return_X_y=True)
    weight = np.where(y == 0, 0.3, 1.7)
    inner = make_pipeline(StandardScaler(), GaussianNB())
    search = GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9]})
    for member in (GaussianNB(), inner, make_pipeline(StandardScaler(), inner), search):
        pool = LogLinearPool([("member", member)], random_state=0).fit(X, y, weight)
        fitted = pool.estimators_["member"]
        while hasattr(fitted, "steps"):
            fitted = fitted.steps[-1][1]
        fitted = getattr(fitted, "best_estimator_", fitted)
        np.testing.assert_allclose(fitted.class_prior_, [0.081081, 0.459459, 0.459459], atol=1e-6)


def test_a_member_that_takes_no_weights_is_refused_by_name_only_if_it_needs_them() -> None:
    X, y = load_iris(return_X_y=True)
    for member in (KNeighborsClassifier(), make_pipeline(StandardScaler(), KNeighborsClassifier())):
        pool = LogLinearPool([("near", member)], random_state=0)
        with pytest.raises(ValueError, match="member 'near' must take sample_weight in fit"):
            pool.fit(X, y, np.full(150, 1.5))
        # Copies are no weights: the member gets all of them.
        noise = np.random.default_rng(0).normal(size=(60, 2))
        with pytest.warns(UserWarning, match="60 of 120 rows are exact copies"):
            pool.fit(np.repeat(noise, 2, axis=0), np.arange(120) // 2 % 2)


def test_with_metadata_routing_members_get_what_they_request() -> None:
    X, y = load_iris(return_X_y=True)
    weight = np.where(y == 0, 0.3, 1.7)
    with config_context(enable_metadata_routing=True):
        asking = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False),
            GaussianNB().set_fit_request(sample_weight=True),
        )
        silent = GaussianNB().set_fit_request(sample_weight=False)
        pool = LogLinearPool([("asking", asking), ("silent", silent)], random_state=0)
        pool.fit(X, y, sample_weight=weight)
        asked = pool.estimators_["asking"].steps[-1][1].class_prior_
        np.testing.assert_allclose(asked, [0.081081, 0.459459, 0.459459], atol=1e-6)
        np.testing.assert_allclose(pool.estimators_["silent"].class_prior_, np.full(3, 1 / 3))
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            LogLinearPool([("unset", GaussianNB())]).fit(X, y, sample_weight=weight)


def test_threads_set_after_a_fit_reach_the_members() -> None:
    X, y = load_iris(return_X_y=True)
    log: list[int] = []
    pool = LogLinearPool([("m", LearnsThreads(log)), ("five", LearnsThreads(log, n_jobs=5))])
    pool.set_params(n_jobs=3).fit(X, y)
    assert set(log) == {3, 5}
    log.clear()
    pool.set_params(n_jobs=2).predict_proba(X)
    assert log == [2, 2]
    log.clear()
    pool.set_params(n_jobs=None).predict_proba(X)
    assert log == [1, 1]


def test_an_ensemble_in_a_hurry_has_fewer_estimators() -> None:
    from sklearn.ensemble import ExtraTreesClassifier

    X, y = load_iris(return_X_y=True)
    members = [("trees", ExtraTreesClassifier(n_estimators=500)), ("line", LogisticRegression())]
    model = PriorwiseClassifier(estimators=members, max_seconds=1e-6, random_state=0).fit(X, y)
    assert list(model.estimators_) == ["trees"]
    assert model.estimators_["trees"].n_estimators == 5


def test_a_member_that_takes_numbers_only_says_what_to_do_about_labels() -> None:
    X = pd.DataFrame({"colour": ["red", "blue"] * 20, "size": np.arange(40.0)})
    with pytest.raises(ValueError, match="could not convert string to float") as raised:
        LogLinearPool([("line", LogisticRegression())]).fit(X, np.arange(40) % 3 > 0)
    (note,) = raised.value.__notes__
    assert "Member 'line' (LogisticRegression) is given the rows as they are" in note
    encoded = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    LogLinearPool([("line", encoded)]).fit(X, np.arange(40) % 3 > 0)
