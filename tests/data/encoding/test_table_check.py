"""`model.check` tells a table that differs from training from other rows of the same table."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from priorwise import NaiveBayesClassifier
from priorwise.data.cuts.names import WholeRange
from priorwise.data.encoding import TableEncoder, chance
from priorwise.data.encoding.table_check import check_table


def draw_table(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Draw rows with long tails, rare labels and rare missing values."""
    rank = np.minimum(rng.zipf(1.5, n), 10**9)
    return pd.DataFrame(
        {
            "tails": rng.standard_cauchy(n),
            "count": rng.poisson(3, n),
            "rare": np.char.add("L", rank.astype(str)),
            "names": np.char.add("U", rng.integers(0, 3 * n, n).astype(str)),
            "often missing": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "seldom missing": np.where(rng.random(n) < 1.5 / n, np.nan, rng.normal(size=n)),
            "labels": pd.Series(rng.choice(list("abc"), n)).mask(rng.random(n) < 0.1),
        }
    )


def fit(X: pd.DataFrame) -> NaiveBayesClassifier:
    y = np.arange(len(X)) % 2
    return NaiveBayesClassifier("laplace", discretizer="equal-width").fit(X, y)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_other_rows_of_one_table_have_no_problem() -> None:
    rng = np.random.default_rng(0)
    n_ok, n_noted = 0, 0
    sizes = list(itertools.product([20, 60, 200], [0.05, 0.25, 1.0]))
    for at in range(200):
        n_train, share = sizes[at % len(sizes)]
        table = draw_table(rng, n_train + max(1, int(share * n_train)))
        encoder = TableEncoder(discretizer=WholeRange()).fit(table[:n_train])
        report = check_table(encoder, table[n_train:], n_train)
        n_ok += report.is_ok
        n_noted += bool(report.notes)
    assert n_ok >= 190
    assert n_noted > 100, "differences by chance are notes"


CHANGES = {
    "numbers beyond the range": ("count", lambda X, some: X["count"] + 20 * some),
    "a new label": ("labels", lambda X, some: X["labels"].mask(some, "new")),
    "labels written in another way": ("rare", lambda X, some: X["rare"].str.lower()),
    "new missing values": ("seldom missing", lambda X, some: X["seldom missing"].mask(some)),
    "more missing values": ("often missing", lambda X, some: X["often missing"].mask(~some)),
    "texts among numbers": (
        "tails", lambda X, some: X["tails"].astype(str).astype(object).mask(some, ">3")
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_change_of_a_twentieth_of_the_rows_is_a_problem(name: str) -> None:
    column, change = CHANGES[name]
    table = draw_table(np.random.default_rng(1), 1_200)
    model, asked = fit(table[:600]), table[600:]
    some = pd.Series(np.arange(600) % 20 == 0, index=asked.index)
    report = model.check(asked.assign(**{column: change(asked, some)}))
    assert [f"column {column!r}"] == sorted({one.partition(":")[0] for one in report.problems})


def test_the_chance_of_new_rows_is_that_of_all_ways_to_choose_them() -> None:
    n_train, n_new = 5, 4
    ways = list(itertools.combinations(range(n_train + n_new), n_new))
    for m in range(1, n_new + 2):
        share = np.mean([set(range(m)) <= set(way) for way in ways])
        assert np.exp(chance.all_new(m, n_train, n_new)) == pytest.approx(share)


def test_bounds_on_chances_are_not_exceeded() -> None:
    rng = np.random.default_rng(2)
    labels = np.repeat(np.arange(8), [1, 1, 1, 2, 2, 3, 5, 15])  # of 30 rows, half of them new
    missing, values = np.arange(30) % 4 == 0, np.arange(30.0)
    n_draws, found = 1_000, []
    for _ in range(n_draws):
        order = rng.permutation(30)
        old, new = order[:15], order[15:]
        counts = np.bincount(labels[old], minlength=8), np.bincount(labels[new], minlength=8)
        unseen, seen = counts[1][counts[0] == 0], (counts[0] + counts[1])[counts[0] > 0]
        outside = values[new] < values[old].min(), values[new] > values[old].max()
        found.append(
            (
                chance.never_seen(unseen, seen.astype(float), 15.0),
                chance.beyond_range(int(outside[0].sum()), int(outside[1].sum()), 15.0, 15.0),
                chance.more_missing(int(missing[new].sum()), 15, float(missing[old].mean()), 15.0),
            )
        )
    for bounds in np.exp(found).T:
        for level in (0.5, 0.2, 0.05):
            assert (bounds <= level).mean() <= level + 3 * np.sqrt(level / n_draws)
