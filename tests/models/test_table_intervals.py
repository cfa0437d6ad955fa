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
