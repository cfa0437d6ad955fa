"""Contexts without rows where the smoother does not back off."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from priorwise import ConditionalTable
from priorwise.smoothing import Laplace, MEstimate


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
    rows = [["p", "q", "x"], ["p", "r", "y"]] * 5
    table = ConditionalTable(Laplace()).fit(rows, target=2, given=[0, 1])
    assert table.query({0: "p", 1: "new"}) == table.query({0: "p"})
