"""The plan of a pool, and the numbers behind it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from priorwise import LogLinearPool, NaiveBayesClassifier, PriorwiseClassifier
from priorwise.models.memory import TableSize
from priorwise.models.pool.base import BasePool
from priorwise.models.pool.numbers import EFFORTS, NUMBERS, Effort, PoolNumbers
from priorwise.models.pool.plan import plan_members


@pytest.mark.parametrize(
    "pool",
    [
        PriorwiseClassifier("fast", random_state=0),
        PriorwiseClassifier("fast", memory_limit="1 GB", random_state=0),
        LogLinearPool([("bayes", NaiveBayesClassifier()), ("normal", GaussianNB())]),
    ],
    ids=["flagship", "flagship within a limit", "pool"],
)
def test_a_fit_makes_one_plan(
    pool: BasePool, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[TableSize] = []
    make_plan = type(pool).make_plan

    def count(self: Any, size: TableSize) -> Any:
        made.append(size)
        return make_plan(self, size)

    monkeypatch.setattr(type(pool), "make_plan", count)
    X = rng.normal(size=(60, 2))
    pool.fit(X, (X[:, 0] > 0).astype(int))
    assert made == [TableSize(60, 2, (), 2)]


@pytest.mark.parametrize("effort", list(EFFORTS))
def test_larger_tables_have_no_more_trees_or_networks(effort: str) -> None:
    sizes = [TableSize(n, 5, (3, 4), 3) for n in (50, 500, 5_000, 50_000, 500_000)]
    plans = [dict(plan_members(effort, size)) for size in sizes]
    for name in ("forest", "networks"):
        counts = [plan[name].n_estimators for plan in plans]
        assert counts == sorted(counts, reverse=True)
    assert plans[-1]["networks"].n_estimators >= NUMBERS.min_networks


def test_members_change_at_the_numbers_of_the_table() -> None:
    def names(**changes: int) -> set[str]:
        size = {"n_rows": 4_000, "n_numeric": 3, "n_classes": 3} | changes
        table = TableSize(size["n_rows"], size["n_numeric"], (2,), size["n_classes"])
        return {name for name, _ in plan_members("balanced", table)}

    every = {"forest", "linear", "gaussian", "kernel", "booster", "networks"}
    assert names() == every
    assert names(n_numeric=NUMBERS.gaussian_features - 1) == every - {"gaussian"}
    assert names(n_rows=NUMBERS.booster_rows - 1) == every - {"booster"}
    assert names(n_classes=NUMBERS.booster_classes + 1) == every - {"booster"}
    assert names(n_rows=NUMBERS.kernel_scores // 3 + 1) == every - {"kernel"}


@pytest.mark.parametrize("numbers", [NUMBERS, EFFORTS["balanced"]], ids=["numbers", "effort"])
def test_every_number_was_compared_with_another_value(numbers: PoolNumbers | Effort) -> None:
    for one in fields(numbers):
        origin, value = one.metadata["origin"], getattr(numbers, one.name)
        assert origin.meaning
        assert origin.instead != value
        assert type(origin.instead) is type(value) or one.name == "n_folds"
        assert origin.loss is not None
        assert origin.data
        assert origin.date
