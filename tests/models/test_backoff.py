"""Contexts that are cut short, and contexts without rows."""

from collections.abc import Hashable
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from priorwise import ConditionalTable
from priorwise.counts import CountTree
from priorwise.models.rows_behind import average_below, rows_ending
from priorwise.smoothing import Laplace, MBranch, MEstimate, PitmanYor, Smoother

NAMES = [name for name in Smoother.by_name if name != "best"]


def unequal_rows() -> pd.DataFrame:
    """A context of 1,000 rows with 6 % "yes", beside one of 40 rows with 75 %."""
    rows = pd.DataFrame({"y": ["no"] * 940 + ["yes"] * 60 + ["no"] * 10 + ["yes"] * 30})
    return rows.assign(a="x", b=["p"] * 1000 + ["q"] * 40)


@pytest.mark.parametrize("name", NAMES)
def test_a_context_that_is_cut_short_answers_for_its_rows(name: str) -> None:
    rows = unequal_rows()
    table = ConditionalTable(name, random_state=0).fit(rows, target="y", given=["a", "b"])
    expected = pytest.approx(90 / 1040, abs=0.005)
    asked = pd.DataFrame({"a": ["x", None], "b": [None, "p"]})
    answers = [table.query()["yes"], table.query(a="x")["yes"], table.query(a="x", b=None)["yes"]]
    answers += [*table.predict_proba(asked)[:, 1], *table.to_frame()["p(yes)"][:2]]
    answers.append(table.describe_contexts(np.zeros(1, dtype=np.int32))[1][0, 1])
    assert answers == [expected] * len(answers)
    assert table.predict(asked).tolist() == ["no", "no"]
    # As sure as 1,040 rows are.
    width = 2 * 1.645 * np.sqrt(90 / 1040 * 950 / 1040 / 1040)
    for context in ({}, {"a": "x"}, {"a": "x", "b": None}):
        ends: Any = table.predict_interval(context)
        low, high = ends["yes"]
        assert low < 90 / 1040 < high
        assert high - low == pytest.approx(width, rel=0.15)
    draws = table.sample_proba(asked, 1_000, random_state=0)[:, :, 1]
    np.testing.assert_allclose(draws.mean(axis=0), table.predict_proba(asked)[:, 1], atol=0.003)


@pytest.mark.parametrize("name", NAMES)
def test_steps_of_an_explanation_lead_from_the_shares_of_all_rows(name: str) -> None:
    table = ConditionalTable(name, random_state=0).fit(unequal_rows(), target="y", given=["a", "b"])
    asked = pd.DataFrame({"a": ["x", "x", None, "?"], "b": ["p", None, "p", "p"]})
    explanation = table.explain(asked)
    proba = table.predict_proba(asked)
    np.testing.assert_allclose(explanation.log_odds, np.log(proba / (1.0 - proba)), atol=1e-9)
    assert 1 / (1 + np.exp(-explanation.bias[1])) == pytest.approx(90 / 1040, abs=0.005)
    # Columns that are left open add nothing.
    np.testing.assert_allclose(explanation.contributions[1, 1], 0.0, atol=1e-12)
    np.testing.assert_allclose(explanation.contributions[2], 0.0, atol=1e-12)
    assert explanation.values is not None
    assert explanation.values[:, 1].tolist() == ["p", None, "p", "p"]


@pytest.mark.parametrize("smoothing", ["hdp", PitmanYor(discount=0.4), MBranch()], ids=str)
@pytest.mark.parametrize("n_outcomes", [3, 40])
def test_where_inner_nodes_are_priors_a_prefix_is_the_mean_of_its_contexts(
    smoothing: str | Smoother, n_outcomes: int
) -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.integers(0, 4, (150, 3)) ** 2 // 3, columns=list("abc"))
    rows["y"] = np.minimum(rng.geometric(0.2, 150) + rows.a, n_outcomes).astype(str)
    table = ConditionalTable(smoothing).fit(rows, target="y", given=["a", "b", "c"])
    assert table.count_tree_.is_dense is (n_outcomes < 4)
    for depth in range(3):
        for prefix, part in rows.groupby(list("abc")[:depth]) if depth else [((), rows)]:
            context: dict[Hashable, Any] = dict(zip("abc", prefix, strict=False))
            below = table.predict_proba(part).mean(axis=0)
            answer = list(table.query(context).values())
            np.testing.assert_allclose(answer, below, rtol=1e-10)


@pytest.mark.parametrize("rest", ["parent", "uniform"])
def test_means_below_are_those_of_the_rows_one_by_one(rest: str) -> None:
    rng = np.random.default_rng(1)
    outcome, weight, path = rng.integers(0, 8, 60), rng.random(60), [rng.integers(-1, 3, 60)]
    path.append(np.where(path[0] < 0, -1, rng.integers(-1, 3, 60)))
    tree = CountTree.from_rows(path, outcome, 9, weight=weight)
    smoother = Laplace() if rest == "uniform" else MBranch()
    cells, node = smoother.smooth(tree), tree.find(path)
    nodes = np.arange(tree.n_nodes, dtype=np.int32)
    means = average_below(tree, cells, rows_ending(tree), nodes, rest=rest)
    rows = smoother.rows(tree)
    for place in range(tree.n_nodes):
        below = node.copy()
        while (deeper := below > place).any():
            below[deeper] = tree.parent[below[deeper]]
        own = below == place
        expected = np.average(rows[node[own]], axis=0, weights=weight[own])
        np.testing.assert_allclose(means[place], expected, rtol=1e-9)


def test_a_missing_value_is_one_of_its_own_only_if_training_had_one() -> None:
    rows = unequal_rows()
    rows.loc[1_000:1_019, "b"] = None
    table = ConditionalTable(random_state=0).fit(rows, target="y", given=["a", "b"])
    assert table.query(a="x", b=None)["yes"] == pytest.approx(0.5, abs=0.03)
    assert table.query(a="x")["yes"] == pytest.approx(90 / 1040, abs=0.005)


@pytest.mark.parametrize(
    "smoothing", [Laplace(backoff=False), MEstimate(2.0, backoff=False)], ids=str
)
def test_a_context_without_rows_is_uniform(smoothing) -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.integers(0, 6, (60, 3)), columns=list("abc")).assign(
        t=rng.choice(["x", "y", "z"], 60)
    )
    table = ConditionalTable(smoothing).fit(rows, target="t", given=["a", "b", "c"])
    asked = pd.DataFrame(list(product(range(6), repeat=3)), columns=list("abc"))
    proba = table.predict_proba(asked)
    m = 3.0 if isinstance(smoothing, Laplace) else 2.0
    for row, p in zip(asked.itertuples(index=False), proba, strict=True):
        seen = rows[(rows[["a", "b", "c"]] == list(row)).all(axis=1)]
        counts = np.array([(seen["t"] == label).sum() for label in "xyz"])
        np.testing.assert_allclose(p, (counts + m / 3) / (counts.sum() + m))
        assert list(table.query(a=row.a, b=row.b, c=row.c).values()) == p.tolist()
    prefix = table.query(a=99)
    assert list(prefix.values()) == pytest.approx([1 / 3] * 3)


def test_with_backoff_a_context_without_rows_is_its_prefix() -> None:
    rows = [["p", "q", "x"], ["p", "r", "y"], ["p", "r", "x"]] * 5
    table = ConditionalTable(Laplace()).fit(rows, target=2, given=[0, 1])
    assert table.query({0: "p", 1: "new"}) == table.query({0: "p"})
