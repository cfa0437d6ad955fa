"""Intervals of conditional tables with extreme counts."""

import numpy as np
import pytest

from priorwise import ConditionalTable


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
