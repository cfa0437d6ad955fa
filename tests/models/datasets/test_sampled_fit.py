"""Classifiers that learn from rows in memory learn from sources, all of their rows or a sample."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyClassifier

from priorwise import (
    LogLinearPool,
    NaiveBayesClassifier,
    PriorwiseClassifier,
    ProbabilityForestClassifier,
    ProbabilityTreeClassifier,
    SplineLogisticClassifier,
)
from priorwise.models.datasets.fitting import SamplePass, hash_places

FOREST = ProbabilityForestClassifier(5, random_state=3)


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    """Numbers, labels, missing values and a rare class."""
    rng = np.random.default_rng(0)
    n = 300
    rows = pd.DataFrame({"a": rng.normal(size=n), "b": rng.choice(list("xyz"), n)})
    rows["y"] = np.where(rows.a + (rows.b == "x") > 0.5, "yes", "no")
    rows.loc[rows.index[:6], "y"] = "rare"
    rows.loc[rows.index[::17], "a"] = np.nan
    return rows


def in_parts(rows: pd.DataFrame) -> Any:
    return lambda: iter([rows[:110], rows[110:]])


@pytest.mark.parametrize(
    "model",
    [
        FOREST,
        ProbabilityTreeClassifier(random_state=3),
        SplineLogisticClassifier(random_state=3),
        PriorwiseClassifier("fast", random_state=3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_all_rows_of_a_source_give_the_model_of_fit(model: Any, rows: pd.DataFrame) -> None:
    X = rows[["a", "b"]]
    fitted = clone(model).fit(X, rows.y)
    streamed = clone(model).fit_dataset(in_parts(rows), target="y")
    assert np.array_equal(streamed.predict_proba(X), fitted.predict_proba(X))
    assert streamed.class_count_.tolist() == fitted.class_count_.tolist()
    assert (streamed.n_passes_, streamed.n_sampled_) == (2, len(rows))
    if hasattr(fitted, "oof_proba_"):
        assert np.array_equal(streamed.oof_proba_, fitted.oof_proba_, equal_nan=True)


def test_a_sample_does_not_depend_on_batches(rows: pd.DataFrame) -> None:
    whole = clone(FOREST).fit_dataset(rows, target="y", max_rows=100)
    parts = clone(FOREST).fit_dataset(in_parts(rows), target="y", max_rows=100, batch_rows=7)
    assert whole.n_sampled_ == parts.n_sampled_ < 120
    X = rows[["a", "b"]]
    assert np.array_equal(whole.predict_proba(X), parts.predict_proba(X))
    assert whole.class_count_.tolist() == rows.y.value_counts().sort_index().tolist()


def test_a_sample_has_the_same_share_of_every_class_but_the_rare() -> None:
    work = SamplePass(np.array([10_000.0, 100.0, 4.0]), 2_000, seed=0)
    assert work.quota.tolist() == [1979, 20, 4]
    shares = work.weight_of_class * work.quota
    assert shares == pytest.approx(2_000 * np.array([10_000, 100, 4]) / 10_104, abs=1.0)


def test_places_are_drawn_evenly() -> None:
    numbers = hash_places(np.arange(100_000), seed=5)
    counts = np.histogram(numbers, bins=10, range=(0.0, 1.0))[0]
    assert np.abs(counts - 10_000).max() < 500
    assert abs(np.corrcoef(numbers[:-1], numbers[1:])[0, 1]) < 0.02


def test_a_memory_limit_draws_fewer_rows_and_says_so(rows: pd.DataFrame) -> None:
    with pytest.warns(UserWarning, match=r"memory_limit of .* allows to learn from about \d+ of"):
        model = clone(FOREST).fit_dataset(rows, target="y", memory_limit="60KB")
    assert model.n_sampled_ < len(rows)


BAYES_POOL = PriorwiseClassifier(estimators=[("bayes", NaiveBayesClassifier())], random_state=0)


@pytest.mark.parametrize("model", [FOREST, BAYES_POOL], ids=["forest", "pool"])
def test_interrupted_work_is_resumed(model: Any, rows: pd.DataFrame, tmp_path: Path) -> None:
    n_reads = 0

    def interrupted() -> Iterator[pd.DataFrame]:
        nonlocal n_reads
        n_reads += 1
        yield rows[:110]
        if n_reads == 2:
            raise KeyboardInterrupt
        yield rows[110:]

    options = {"target": "y", "max_rows": 100, "checkpoint": tmp_path / "saved"}
    with pytest.raises(KeyboardInterrupt):
        clone(model).fit_dataset(interrupted, **options)
    resumed = clone(model).fit_dataset(in_parts(rows), **options)
    whole = clone(model).fit_dataset(in_parts(rows), target="y", max_rows=100)
    X = rows[["a", "b"]]
    assert np.array_equal(resumed.predict_proba(X), whole.predict_proba(X))
    assert list((tmp_path / "saved").iterdir()) == []


def test_members_that_need_the_rows_as_given_are_refused(rows: pd.DataFrame) -> None:
    pool = LogLinearPool([("bayes", NaiveBayesClassifier()), ("dummy", DummyClassifier())])
    with pytest.raises(ValueError, match="estimators must be classifiers of priorwise for fit_dat"):
        pool.fit_dataset(rows, target="y")


def test_weights_and_boosting_of_a_pool_learn_from_rows_that_members_have_no_room_for(
    rows: pd.DataFrame,
) -> None:
    many = pd.concat([rows] * 20, ignore_index=True)
    pool = clone(BAYES_POOL)
    with pytest.warns(UserWarning, match=r"weights and boosting of the pool from \d+ more"):
        pool.fit_dataset(many, target="y", memory_limit="1MB")
    n_members = int(pool.estimators_["bayes"].class_count_.sum())
    assert 500 < n_members < pool.n_sampled_ < len(many)
    assert np.isfinite(pool.oof_proba_).all(axis=1).sum() > n_members
    # The rare class is in the first rows whole, and has its share of the answers all the same.
    mean = np.nanmean(pool.oof_proba_, axis=0)
    assert mean == pytest.approx(many.y.value_counts(normalize=True).sort_index(), abs=0.02)
