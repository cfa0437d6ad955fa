"""Intervals of conditional tables: how wide they are at least, and extreme counts."""

from collections.abc import Hashable
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta

from priorwise import ConditionalTable
from priorwise.smoothing import MLE, Smoother

EQUAL = [("yes", "a", "p"), ("no", "a", "p"), ("yes", "a", "q"), ("no", "b", "q")] * 5
NEAR = [(y, "a", "p") for y in ["yes"] * 18 + ["no"] * 2] + [
    (y, "b", "p") for y in ["yes"] * 19 + ["no"]
]
PURE = [("yes", "a", "p")] * 3 + [("yes", "b", "p")] * 5
ROWS = {"equal": EQUAL, "near": NEAR, "pure": PURE}


@pytest.mark.parametrize("weight", [1.0, 1.25])
@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize("name", [name for name in Smoother.by_name if name != "best"])
def test_an_interval_is_not_narrower_than_that_of_independent_rows(
    name: str, kind: str, weight: float
) -> None:
    rows = ROWS[kind] + ([("no", "c", "p")] if kind == "pure" else [])
    table = ConditionalTable(name, random_state=0)
    table.fit(rows, target=0, given=[1, 2], sample_weight=np.full(len(rows), weight))
    tree, smoother = table.count_tree_, table.smoothing_
    contexts, proba = table.describe_contexts(np.arange(tree.n_nodes, dtype=np.int32))
    borrows = smoother.rest == "parent"
    for node, (context, p) in enumerate(zip(contexts, proba[:, 1], strict=True)):
        known: dict[Hashable, Any] = {
            i: value for i, value in enumerate(context, 1) if value is not None
        }
        ends: Any = table.predict_interval(known)
        low, high = ends["yes"]
        # Nothing is known better than all rows could say, and two of a prior.
        n = tree.totals[0 if borrows else node] + 2.0
        least, most = beta.ppf([0.05, 0.95], n * p, n * (1.0 - p)) if 0 < p < 1 else (0.0, 0.0)
        assert high - low > 0.85 * (most - least), known
        if isinstance(smoother, MLE) and p == 1.0:
            assert low < 0.5 ** (1 / tree.totals[node])


@pytest.mark.parametrize("largest", [3e9, 5e9, 1e15])
def test_intervals_take_counts_beyond_32_bits(largest: float) -> None:
    rows = [["yes", "heavy"], ["no", "heavy"], ["yes", "light"], ["no", "light"]]
    table = ConditionalTable("hdp", random_state=0)
    table.fit(rows, target=0, given=[1], sample_weight=[largest, 1.0, 2.0, 5.0])
    lower, upper = table.predict_interval([["yes", "heavy"], ["yes", "light"]])
    np.testing.assert_allclose(lower[0], [0.0, 1.0], atol=1e-8)
    np.testing.assert_allclose(upper[0], [0.0, 1.0], atol=1e-8)
    assert 0.0 < lower[1, 1] < table.predict_proba([["yes", "light"]])[0, 1] < upper[1, 1] < 1.0


@pytest.mark.parametrize("smoothing", ["hdp", "m-estimate"])
def test_variances_of_an_explanation_sum_to_those_of_draws_of_the_log_odds(smoothing: str) -> None:
    kinds = [("yes", "heavy", "tall"), ("no", "heavy", "tall"), ("no", "light", "short")]
    rows = [list(one) for one in [*kinds, ("yes", "light", "short")] for _ in range(12)]
    table = ConditionalTable(smoothing, random_state=0).fit(rows, target=0, given=[1, 2])
    asked = [["", "heavy", "tall"], ["", "light", "short"]]
    explanation = table.explain(asked)
    draws = table.sample_proba(asked, 20_000, random_state=1)
    expected = np.log(draws / (1.0 - draws)).var(axis=0)
    assert explanation.variance is not None
    np.testing.assert_allclose(explanation.variance.sum(axis=1), expected, rtol=0.2)
    lower, upper = explanation.log_odds_interval()
    assert (lower < explanation.log_odds).all()
    assert (explanation.log_odds < upper).all()
    assert list(explanation.to_frame().columns[-3:]) == ["lower", "upper", "support"]
